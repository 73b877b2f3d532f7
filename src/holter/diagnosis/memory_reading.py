"""Reads the cgroups of a run: whose limit was reached, and how near the others were; and PyTorch's account of a GPU."""

import re

from holter.model.evidence import Evidence, MemoryLevel

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_TORCH_ASKED = re.compile(r"Tried to allocate ([\d.]+) ([KMGT]iB)")
_TORCH_UNUSED = re.compile(r"([\d.]+) ([KMGT]iB) is reserved by PyTorch but unallocated")
NEAR = 0.95
"""A cgroup whose use touched this share of its limit ran into it: the kernel counts in batches of pages."""


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
    asked, unused = _TORCH_ASKED.search(message), _TORCH_UNUSED.search(message)
    if asked is None or unused is None or _bytes(unused) < _bytes(asked):
        return ""
    return f"{unused[1]} {unused[2]}"


def _bytes(found: re.Match[str]) -> float:
    return float(found[1]) * _UNITS[found[2]]
