"""`holter doctor` over faults that are really there: files, variables, limits of a living process."""

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from holter.doctor.finding import Finding, examine_machine
from holter.doctor.gather import gather
from holter.doctor.machine import Asked

SITE = "lib/python3.11/site-packages"
DOCTOR = [sys.executable, "-m", "holter", "doctor"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    place = tmp_path / "env" / SITE
    place.mkdir(parents=True)
    return place


def install(site: Path, name: str, version: str, **files: str) -> None:
    place = site / f"{name}-{version}.dist-info"
    place.mkdir()
    for file, text in files.items():
        (place / file).write_text(text)


def look(
    tmp_path: Path, *, path: Sequence[Path] = (), checkpoints: str = "", pid: int = 0, **variables: str
) -> list[Finding]:
    """As for a program in an empty folder, but for the faults; of what this machine itself has nothing."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    asked = Asked(
        pid=pid or os.getpid(),
        path=tuple(map(str, path)) or (str(folder),),
        script_folder=str(folder),
        checkpoints=(checkpoints or str(folder),),
        variables={"LD_LIBRARY_PATH": "", "PYTHONPATH": "", **variables},
    )
    found = examine_machine(gather(asked, {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}))
    return [each for each in found if not is_of_machine(each.id, each.what)]


def is_of_machine(name: str, what: str) -> bool:
    """Whether it may well be true of a small or busy machine that runs the tests."""
    of_machine = {"memory-limit", "cpu-limit", "shared-memory", "swap", "overcommit"}
    return name in of_machine or "left on the disk" in what or "may be started in this container" in what


def ids(found: list[Finding]) -> list[str]:
    return [each.id for each in found]


def test_the_machine_of_the_tests_is_healthy(tmp_path: Path) -> None:
    environ = os.environ | {"HOME": str(tmp_path)}  # what kernels a user has is nobody's business here
    done = subprocess.run([*DOCTOR, "--json"], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    findings = json.loads(done.stdout)["findings"]
    assert [each for each in findings if not is_of_machine(each["id"], each["what"])] == []
    assert done.returncode == bool(findings)
    if not findings:
        done = subprocess.run(DOCTOR, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_what_bites_is_printed_and_is_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "torch.py").touch()
    environ = os.environ | {"HOME": str(tmp_path), "KMP_DUPLICATE_LIB_OK": "TRUE"}
    done = subprocess.run([*DOCTOR, "--json"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    findings = json.loads(done.stdout)["findings"]
    own = [each["id"] for each in findings if not is_of_machine(each["id"], each["what"])]
    assert own == ["openmp", "shadowed-module"]
    assert all(each.keys() == {"id", "what", "why", "fix"} for each in findings)
    assert done.returncode == 1
    done = subprocess.run(DOCTOR, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "torch.py is imported in place of the library torch" in " ".join(done.stdout.split())
    assert "-> unset KMP_DUPLICATE_LIB_OK" in done.stdout


def test_versions_that_do_not_work_together(tmp_path: Path, site: Path) -> None:
    install(site, "torch", "2.1.2")
    install(site, "numpy", "2.0.1")
    [found] = look(tmp_path, path=[site])
    assert (found.id, found.what) == ("known-conflict", "torch 2.1.2, numpy 2.0.1 do not work together")


def test_another_cudnn_than_the_one_torch_asks_for(tmp_path: Path, site: Path) -> None:
    install(site, "torch", "2.8.0", METADATA="Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'")
    install(site, "nvidia_cudnn_cu12", "9.1.0.70")
    assert ids(look(tmp_path, path=[site])) == ["pinned-library"]


def test_a_package_in_two_versions(tmp_path: Path, site: Path) -> None:
    install(site, "scipy", "1.13.0")
    install(site, "scipy", "1.14.1")
    [found] = look(tmp_path, path=[site])
    assert found.id == "mixed-packages"
    assert "1.13.0, 1.14.1" in found.what


def test_pip_over_conda(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    (tmp_path / "env" / "conda-meta").mkdir()
    (tmp_path / "env" / "conda-meta" / "numpy-1.26.4-py311h08b1b3b_0.json").write_text("{}")
    install(site, "numpy", "2.1.0", INSTALLER="pip\n")
    [found] = look(tmp_path, path=[site])
    assert found.what == "conda installed numpy 1.26.4, and pip 2.1.0 over it"


def test_packages_of_the_user_before_the_environment_s(tmp_path: Path, site: Path) -> None:
    user = tmp_path / ".local" / SITE
    user.mkdir(parents=True)
    install(user, "numpy", "1.24.0")
    install(site, "numpy", "2.1.0")
    [found] = look(tmp_path, path=[user, site])
    assert "is imported, and not the environment's own 2.1.0" in found.what
    assert look(tmp_path, path=[site, user]) == []


def test_packages_that_were_built_for_a_newer_system(tmp_path: Path, site: Path) -> None:
    install(site, "vllm", "0.9.0", WHEEL="Tag: cp311-cp311-manylinux_2_99_x86_64\n")
    install(site, "numpy", "2.1.0", WHEEL="Tag: cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64\n")
    [found] = look(tmp_path, path=[site])
    assert found.id == "glibc"
    assert "vllm (2.99)" in found.what


def test_a_clock_behind_the_files_that_are_there(tmp_path: Path, site: Path) -> None:
    os.utime(site, (4e9, 4e9))
    assert ids(look(tmp_path, path=[site])) == ["clock"]


def test_two_openmp_runtimes(tmp_path: Path, site: Path) -> None:
    for folder, name in [("one.libs", "libiomp5-7f2c.so"), ("two.libs", "libomp-64cb.so.5")]:
        (site / folder).mkdir()
        (site / folder / name).touch()
    install(site, "one", "1")
    assert ids(look(tmp_path, path=[site])) == ["openmp"]


def kernel(folder: Path, name: str, executable: str) -> None:
    place = folder / "jupyter" / "kernels" / name
    place.mkdir(parents=True)
    spec = {"language": "python", "argv": [executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]}
    (place / "kernel.json").write_text(json.dumps(spec))


def environment(place: Path, *packages: str) -> str:
    (place / SITE).mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "pyvenv.cfg").touch()
    for each in packages:
        (place / SITE / each).mkdir()
    shutil.copy("/bin/true", place / "bin" / "python")
    return str(place / "bin" / "python")


def test_a_kernel_whose_interpreter_is_gone(tmp_path: Path) -> None:
    kernel(tmp_path, "old", str(tmp_path / "removed" / "bin" / "python"))
    [found] = look(tmp_path, JUPYTER_PATH=str(tmp_path / "jupyter"))
    assert found.id == "notebook-kernel"
    assert "is not there" in found.what


def test_a_kernel_without_ipykernel(tmp_path: Path) -> None:
    kernel(tmp_path, "other", environment(tmp_path / "other"))
    [found] = look(tmp_path, JUPYTER_PATH=str(tmp_path / "jupyter"))
    assert "has no ipykernel" in found.what


def test_a_default_kernel_of_another_environment(tmp_path: Path, site: Path) -> None:
    kernel(tmp_path, "python3", environment(tmp_path / "other", "ipykernel"))
    assert look(tmp_path, JUPYTER_PATH=str(tmp_path / "jupyter")) == []  # nobody expects another
    install(site, "ipykernel", "6.29.5")
    [found] = look(tmp_path, path=[site], JUPYTER_PATH=str(tmp_path / "jupyter"))
    assert "and not this environment" in found.what


def test_a_file_that_is_called_like_a_library(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "random.py").touch()
    assert ids(look(tmp_path)) == ["shadowed-module"]


def test_packages_of_another_python(tmp_path: Path) -> None:
    [found] = look(tmp_path, PYTHONPATH="/opt/lib/python3.8/site-packages")
    assert (found.id, found.fix) == ("foreign-packages", "unset PYTHONPATH")


def test_a_library_to_preload_that_is_gone(tmp_path: Path) -> None:
    assert ids(look(tmp_path, LD_PRELOAD="/opt/libjemalloc.so")) == ["library-path"]


def test_the_stub_of_a_driver(tmp_path: Path) -> None:
    stubs = tmp_path / "cuda" / "stubs"
    stubs.mkdir(parents=True)
    (stubs / "libcuda.so").touch()
    [found] = look(tmp_path, LD_LIBRARY_PATH=str(stubs))
    assert found.id == "library-path"


def test_another_nccl_in_the_library_path(tmp_path: Path, site: Path) -> None:
    (tmp_path / "nccl").mkdir()
    (tmp_path / "nccl" / "libnccl.so.2.18.3").touch()
    (tmp_path / "nccl" / "libnccl.so.2").symlink_to("libnccl.so.2.18.3")
    install(site, "nvidia_nccl_cu12", "2.27.3")
    [found] = look(tmp_path, path=[site], LD_LIBRARY_PATH=str(tmp_path / "nccl"))
    assert "nvidia-nccl-cu12 2.27.3 is installed" in found.what


def test_a_workaround_for_two_openmp_runtimes(tmp_path: Path) -> None:
    assert ids(look(tmp_path, KMP_DUPLICATE_LIB_OK="1")) == ["openmp"]


def test_checkpoints_in_memory(tmp_path: Path) -> None:
    [found] = look(tmp_path, checkpoints="/dev/shm/checkpoints")
    assert (found.id, "is memory and no disk (tmpfs)" in found.what) == ("disk", True)


def test_checkpoints_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    [found] = look(tmp_path, checkpoints=str(tmp_path / "file" / "checkpoints"))
    assert "is no directory" in found.what


def test_temporary_files_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    [found] = look(tmp_path, TMPDIR=str(tmp_path / "gone"))
    assert found.id == "disk"
    assert "(temporary files) can't be written to" in found.what


@contextlib.contextmanager
def sleeping(limit: int, value: int) -> Iterator[int]:
    """A process that waits for its end, with one limit lowered."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(b"begun\n")
            process.stdout.readline()  # the end of exec() sets the stack's limit once more
            resource.prlimit(process.pid, limit, (value, resource.prlimit(process.pid, limit)[1]))
            yield process.pid
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        (resource.RLIMIT_NOFILE, 128, "may open 128 files"),
        (resource.RLIMIT_AS, 1 << 30, "1.1 GB of address space"),
        (resource.RLIMIT_FSIZE, 1 << 30, "a file may have 1.1 GB"),
        (resource.RLIMIT_CPU, 3600, "3600 s of CPU time"),
        (resource.RLIMIT_STACK, 1 << 18, "the stack may have 262 kB"),
        (resource.RLIMIT_NPROC, 100, "may have 100 processes"),
    ],
)
def test_a_limit_of_the_shell(tmp_path: Path, limit: int, value: int, said: str) -> None:
    with sleeping(limit, value) as pid:
        [found] = look(tmp_path, pid=pid)
    assert found.id == "ulimits"
    assert said in found.what


ASKS = """
import json, multiprocessing, sys
import holter, torch.utils.data
run = holter.init(mode="offline")
class Numbers(torch.utils.data.Dataset):
    def __init__(self): self.scale = lambda x: 2 * x
    def __len__(self): return 4
    def __getitem__(self, index): return self.scale(index)
def train(method):
    loader = torch.utils.data.DataLoader(Numbers(), num_workers=2, multiprocessing_context=method)
    return [each.id + ": " + each.what for each in run.doctor() if each.id == "workers"]
print(json.dumps([train("fork"), train("spawn")]))
"""


def test_a_program_asks_for_itself_and_its_loaders(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(ASKS)
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    forked, spawned = json.loads(done.stdout)
    assert forked == []
    assert len(spawned) == 1
    assert spawned[0].startswith("workers: dataset of loader can't be pickled: ")
    assert "holter: dataset of loader can't be pickled" in done.stderr
