"""Linux promises no more memory than it has, and most of it is promised."""

from collections.abc import Iterator

from holter.doctor.amounts import GIB, size
from holter.doctor.machine import Machine

NEVER = 2
LITTLE = 8 * GIB


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Strict accounting with little left."""
    host = machine.host
    if host.overcommit != NEVER or host.commit_limit_bytes is None or host.committed_bytes is None:
        return
    left = host.commit_limit_bytes - host.committed_bytes
    if left < LITTLE:
        what = f"Linux promises no more memory than it has (vm.overcommit_memory=2), and {size(max(0, left))} are left"
        why = "fork and large allocations are refused with memory to spare: «Cannot allocate memory»"
        yield what, why, "sudo sysctl vm.overcommit_memory=0"
