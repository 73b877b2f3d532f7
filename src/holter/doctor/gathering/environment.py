"""The interpreter, its variables, and the libraries that would be loaded."""

import glob
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

from holter.doctor.gathering.packages import read_conda, read_packages
from holter.doctor.machine import VARIABLES, Environment, Library
from holter.probes.procfs import PROC, read_file

OVERRIDING = ("libcuda.so", "libcudnn.so", "libnccl.so", "libcublas.so", "libstdc++.so")
OPENMP = ("libiomp5", "libomp")
SHADOWED = frozenset(
    "accelerate calendar code copy csv datasets email enum io jax json keras logging lightning math matplotlib"
    " multiprocessing numbers numpy operator pandas parser pickle platform queue random re scipy secrets select"
    " signal site sklearn socket statistics string struct tensorflow test tokenize tokenizers torch torchvision"
    " transformers types typing wandb".split()
) - {"test", "parser"}
SYSTEM_LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
_CUDA = re.compile(r"^cuda[^=\n]*=\s*'([0-9.]+)'", re.MULTILINE)


def read_environment(
    variables: Mapping[str, str], *, path: Sequence[str], pid: int, script_folder: str, proc: str = PROC
) -> Environment:
    """What a program of this interpreter would meet."""
    packages = tuple(read_packages(path))
    folders = list(dict.fromkeys(each.folder for each in packages))
    torch = next((each for each in packages if each.name == "torch"), None)
    cuda = _CUDA.search(_text(f"{torch.folder}/torch/version.py")) if torch else None
    return Environment(
        executable=sys.executable,
        prefix=sys.prefix,
        python=sys.version.split()[0],
        variables={name: variables[name] for name in VARIABLES if name in variables},
        packages=packages,
        conda=read_conda(sys.prefix),
        user_folder=next((each for each in folders if "/.local/lib/python" in each), ""),
        torch_cuda=cuda[1] if cuda else None,
        has_cpu_torch=torch is not None and cuda is None and _is_built_for_cpu(torch.folder),
        shadows=tuple(_shadows(script_folder)),
        openmp=tuple(_openmp(folders, sys.prefix, pid, proc=proc)),
        overriding=tuple(_overriding(variables.get("LD_LIBRARY_PATH", ""))),
        libstdcxx=_system_libstdcxx(),
        missing_preloads=tuple(
            each
            for each in re.split(r"[\s:]+", variables.get("LD_PRELOAD", ""))
            if each.startswith("/") and not os.path.exists(each)
        ),
    )


def newest_file_s(path: Sequence[str]) -> float:
    """When something was installed last, by the time stamps of the folders on the path; 0 where nobody can look."""
    return max((_changed(each) for each in path if each), default=0.0)


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _is_built_for_cpu(folder: str) -> bool:
    """Neither for CUDA nor for another accelerator."""
    text = _text(f"{folder}/torch/version.py")
    return "cuda" in text and not re.search(r"^(?:hip|rocm|xpu)[^=\n]*=\s*'", text, re.MULTILINE)


def _shadows(folder: str) -> Iterator[str]:
    """Files beside the script that are called like a library."""
    for name in sorted(SHADOWED) if folder else ():
        file = os.path.join(folder, f"{name}.py")
        if os.path.isfile(file):
            yield file


def _openmp(folders: Sequence[str], prefix: str, pid: int, *, proc: str) -> Iterator[Library]:
    """Loaded ones first; then those that packages bring along."""
    loaded = {line.rpartition(" ")[2] for line in _text(f"{proc}/{pid}/maps").splitlines() if ".so" in line}
    brought = [found for folder in folders for found in glob.glob(f"{glob.escape(folder)}/*.libs/lib*omp*.so*")]
    own = [found for kind in OPENMP for found in glob.glob(f"{glob.escape(prefix)}/lib/{kind}.so*")]
    seen = set()
    for each in [*sorted(loaded), *brought, *own]:
        kind = os.path.basename(each).partition(".")[0].partition("-")[0]
        # conda has one as a link to the other: that is one runtime.
        real = os.path.realpath(each)
        if kind in OPENMP and real not in seen:
            seen.add(real)
            yield Library(name=kind, path=each)


def _overriding(path: str) -> Iterator[Library]:
    for folder in filter(None, path.split(":")):
        for name in OVERRIDING:
            for found in sorted(glob.glob(f"{glob.escape(folder)}/{name}*"))[:1]:
                version = os.path.basename(os.path.realpath(found)).partition(".so.")[2]
                yield Library(name=name, path=found, version=version)


def _system_libstdcxx() -> str:
    for folder in SYSTEM_LIBRARIES:
        real = os.path.realpath(f"{folder}/libstdc++.so.6")
        if os.path.exists(real):
            return os.path.basename(real).partition(".so.")[2]
    return ""


def _text(path: str) -> str:
    return (read_file(path) or b"").decode(errors="replace")
