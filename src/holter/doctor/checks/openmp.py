"""Two OpenMP runtimes that do not bear each other."""

from collections.abc import Iterator

from holter.doctor.machine import Machine

INTEL, LLVM = "libiomp5", "libomp"


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Intel's beside LLVM's; and the variable that only hides it."""
    found = {each.name: each.path for each in machine.environment.openmp}
    source = "https://github.com/joblib/threadpoolctl/blob/master/multiple_openmp.md"
    if INTEL in found and LLVM in found:
        what = f"Intel's OpenMP runtime ({found[INTEL]}) and LLVM's ({found[LLVM]}) come together"
        why = f"«OMP: Error #15», a crash or a hang in the first parallel loop ({source})"
        yield (
            what,
            why,
            "conda install nomkl, or pip uninstall intel-openmp mkl; in one environment use wheels of one origin",
        )
    if machine.environment.variables.get("KMP_DUPLICATE_LIB_OK", "").lower() in ("true", "1"):
        why = (
            "it silences the error about two OpenMP runtimes, which may then crash or give wrong"
            " results, as its own text says"
        )
        yield (
            "KMP_DUPLICATE_LIB_OK is set",
            why,
            "unset KMP_DUPLICATE_LIB_OK, and see which packages bring the second one",
        )
