"""How near a run that ended well came to running out of memory. Pure."""

from typing import NamedTuple

from holter.model.evidence import Memory


class ClosestCall(NamedTuple):
    """The most memory that a run used in its last minutes, and the least that anything allowed it."""

    used_bytes: float
    limit_bytes: float
    whose: str
    at_ns: int


def closest_call(memory: Memory) -> ClosestCall | None:
    """None where nobody sampled. A cgroup's own peak is no measure: it counts the files that the kernel has cached."""
    limits = [(level.limit_bytes, "its memory limit") for level in memory.levels if level.limit_bytes]
    if memory.total_bytes:
        limits.append((memory.total_bytes, "the machine's memory"))
    if not memory.own_peak_bytes or not limits or memory.sampled_ns is None:
        return None
    limit_bytes, whose = min(limits)
    return ClosestCall(memory.own_peak_bytes, limit_bytes, whose, memory.sampled_ns)
