"""`LD_LIBRARY_PATH` puts other libraries in the place of those that packages were built with."""

from collections.abc import Iterator

from holter.doctor.machine import Environment, Library, Machine
from holter.doctor.versions import compare, parse

PACKAGES = {"libcudnn.so": "nvidia-cudnn", "libnccl.so": "nvidia-nccl", "libcublas.so": "nvidia-cublas"}
FIX = "unset LD_LIBRARY_PATH: the wheels bring their own"


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Another cuDNN, NCCL or cuBLAS, an older C++ library, the stub of a driver; and libraries that are not there."""
    environment = machine.environment
    for each in environment.overriding:
        yield from _overrides(each, environment)
    for path in environment.missing_preloads:
        why = "each program that starts prints an error, and runs without what the library was for"
        yield f"LD_PRELOAD names {path}, which is not there", why, "unset LD_PRELOAD"


def _overrides(library: Library, environment: Environment) -> Iterator[tuple[str, str, str]]:
    if library.name == "libcuda.so" and "/stubs/" in library.path:
        why = "it stands in for the driver where programs are built: «CUDA driver is a stub library», no GPU is found"
        yield f"LD_LIBRARY_PATH leads to {library.path}", why, "take that directory out of LD_LIBRARY_PATH"
    if library.name == "libstdc++.so" and _is_older(library.version, environment.libstdcxx):
        what = f"LD_LIBRARY_PATH leads to {library.path}, older than the system's own ({environment.libstdcxx})"
        yield what, "packages fail when they are imported: «version `GLIBCXX_…' not found»", FIX
    begins = PACKAGES.get(library.name, "none")
    for package in environment.packages:
        if package.name.startswith(begins) and library.version and not _agree(library.version, package.version):
            what = f"LD_LIBRARY_PATH leads to {library.path}, and {package.name} {package.version} is installed"
            why = "the one in the path is loaded: torch fails in the first convolution or collective, or hangs"
            yield what, why, FIX


def _is_older(one: str, other: str) -> bool:
    return bool(parse(one) and parse(other)) and compare(parse(one), parse(other)) < 0


def _agree(one: str, other: str) -> bool:
    shorter = min(len(parse(one)), 2)
    return parse(one)[:shorter] == parse(other)[:shorter]
