"""Packages were built for a newer C library than this machine has."""

from collections.abc import Iterator

from holter.doctor.machine import Machine
from holter.doctor.versions import compare, parse


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """As with an environment on a shared disk that was installed on a newer machine."""
    here = parse(machine.host.glibc)
    newer = [
        each for each in machine.environment.packages if here and each.glibc and compare(parse(each.glibc), here) > 0
    ]
    if newer:
        names = ", ".join(f"{each.name} ({each.glibc})" for each in newer[:5])
        what = f"{len(newer)} packages need a newer C library than the {machine.host.glibc} here: {names}"
        why = "they fail when they are imported: «version `GLIBC_…' not found»"
        yield what, why, "install the environment anew on this machine, or use a container with a newer system"
