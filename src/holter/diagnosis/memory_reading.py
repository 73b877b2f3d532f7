"""Reads the cgroups of a run: whose limit was reached, and how near the others were; and PyTorch's account of a GPU."""

from holter.diagnosis.phrases.tags import tags_in
from holter.model.evidence import Evidence, MemoryLevel
from holter.model.warning_records import GpuRefused

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
REFUSED_WITHIN_NS = 30 * 10**9
"""Whoever unwinds a stack after a refusal, saves and reports is through by then."""
NEAR = 0.95
"""A cgroup whose use touched this share of its limit ran into it: Linux counts in batches of pages."""


def own_level(evidence: Evidence) -> MemoryLevel | None:
    """The cgroup of the program itself, where somebody looked."""
    return next((level for level in evidence.memory.levels if level.level == 0), None)


def tight_level(evidence: Evidence) -> MemoryLevel | None:
    """The cgroup whose limit bounds the run: the one that was reached, else the lowest limit; None without any."""
    limited = [level for level in evidence.memory.levels if level.limit_bytes]
    reached = [level for level in limited if is_reached(level)]
    return min(reached or limited, key=lambda level: (level.limit_bytes or 0, level.level), default=None)


def held_bytes(evidence: Evidence) -> float | None:
    """What the run held shortly before its end; a sample from after it finds nothing any more."""
    memory = evidence.memory
    return memory.own_bytes or memory.own_peak_bytes or None


def is_reached(level: MemoryLevel) -> bool:
    """Whether it was at its limit."""
    if not level.limit_bytes:
        return False
    most = max(level.usage_bytes or 0, level.peak_bytes or 0)
    return most >= NEAR * level.limit_bytes or bool(level.limit_hits)


def unused_in_pieces(message: str) -> str:
    """What PyTorch had reserved and not used, where that would have held what was asked for; else empty."""
    asked, unused = tags_in(message).get("torch-asked"), tags_in(message).get("torch-unused")
    if asked is None or unused is None or told_bytes(*unused.groups()) < told_bytes(*asked.groups()):
        return ""
    return f"{unused[1]} {unused[2]}"


def last_refusal(evidence: Evidence) -> GpuRefused | None:
    """What torch's allocator looked like when it raised what ended the program; None where it did not tell."""
    raised, refusals = evidence.subject.raised, evidence.gpu_refusals
    is_near = raised is not None and refusals and 0 <= raised.at_ns - refusals[-1].at_ns < REFUSED_WITHIN_NS
    return refusals[-1] if is_near else None


def told_bytes(number: str, unit: str) -> float:
    """A size as PyTorch writes it."""
    return float(number) * _UNITS[unit]
