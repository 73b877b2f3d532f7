"""Libraries start a thread for each core of the machine, and may use a few of them."""

from collections.abc import Iterator

from holter.doctor.machine import Machine

TIMES_MORE = 4


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """A CPU quota far below the number of cores, without a word on threads."""
    allowed, cores = machine.limits.cpus, machine.host.cpus
    if allowed and cores >= TIMES_MORE * allowed and "OMP_NUM_THREADS" not in machine.environment.variables:
        what = f"this container or job may use {allowed:g} of {cores} cores, and OMP_NUM_THREADS is not set"
        why = f"numpy and torch start {cores} threads each, which wait for each other most of the time"
        yield what, why, f"export OMP_NUM_THREADS={max(1, int(allowed))}"
