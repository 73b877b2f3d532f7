"""Deaths, each told once, and what they cost: by cause, project or host, and week by week. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from holter.model.records import KERNEL
from holter.model.run_row import RunRow
from holter.model.state import CRASHED

# Witnesses of one death hardly differ; one that could only be told by its last words does.
SAME_MOMENT_S, NEAR_S = 1.0, 15.0
DAY_S, DAYS = 86400, 7
WEEK_S = DAYS * DAY_S
# The first Monday of 1970 was its fifth day.
MONDAY = 4
FAULTS = frozenset({"gpu-fault", "gpu-overheated", "memory-fault", "storage-fault", "host-lost"})
"""Causes that lie in the machine: where they come again, it is the machine that needs help."""
MOST_MARKS = 100

By = Literal["cause", "project", "host"]


class Share(msgspec.Struct, frozen=True):
    """What the deaths of one cause, project or host cost, in all and in each week."""

    name: str
    deaths: int
    hours_lost: float
    by_week: list[float]


class DeathMark(msgspec.Struct, frozen=True):
    """A death on a host, and whether that was a fault of the machine."""

    at: float
    is_fault: bool


class FaultyHost(msgspec.Struct, frozen=True):
    """A host with faults of its own; `causes` has how often each came, `marks` its newest deaths, the oldest first."""

    host: str
    deaths: int
    faults: int
    hours_lost: float
    causes: dict[str, int]
    marks: list[DeathMark]


def each_once(found: Sequence[RunRow]) -> list[RunRow]:
    """Dead runs in their order, one for each death: rather a training than its kernel, rather the newest."""
    kept: set[str] = set()
    of_process: dict[str, list[RunRow]] = {}
    for row in sorted(found, key=lambda row: (row.kind == KERNEL, -row.started_ns)):
        others = (other for process in row.processes for other in of_process.get(process, ()))
        if not any(_is_same(row, other) for other in others):
            kept.add(row.id)
            for process in row.processes:
                of_process.setdefault(process, []).append(row)
    return [row for row in found if row.id in kept]


def _is_same(one: RunRow, other: RunRow, /) -> bool:
    """Of two runs with a process in common."""
    apart_s = abs((one.ended_at or 0.0) - (other.ended_at or 0.0))
    if KERNEL in (one.kind, other.kind):
        return apart_s <= (NEAR_S if one.cause == other.cause else SAME_MOMENT_S)
    # Runs that fail by themselves in one process fail one after another, however fast.
    return one.state == other.state == CRASHED and apart_s <= SAME_MOMENT_S


def week_starts(now: float, weeks: int, *, east_s: float = 0.0) -> list[float]:
    """When each of the last weeks began, this one last: on Monday, so many seconds east of Greenwich."""
    day = int((now + east_s) // DAY_S)
    monday = (day - MONDAY) // DAYS * DAYS + MONDAY
    return [(monday - DAYS * back) * DAY_S - east_s for back in reversed(range(weeks))]


def hours_lost(rows: Iterable[RunRow]) -> float:
    """All the time that runs ran which died."""
    return sum(row.duration_s for row in rows) / 3600


def shares(deaths: Sequence[RunRow], starts: Sequence[float], *, by: By) -> list[Share]:
    """What died of each cause, in each project or on each host, the most hours first."""
    grouped: dict[str, list[RunRow]] = {}
    for row in deaths:
        name = row.cause or "unknown" if by == "cause" else getattr(row, by)
        grouped.setdefault(name, []).append(row)
    found = [Share(name, len(rows), hours_lost(rows), _by_week(rows, starts)) for name, rows in grouped.items()]
    return sorted(found, key=lambda share: (-share.hours_lost, share.name))


def faulty_hosts(deaths: Sequence[RunRow]) -> list[FaultyHost]:
    """Hosts with faults of their own, the most first."""
    grouped: dict[str, list[RunRow]] = {}
    for row in deaths:
        grouped.setdefault(row.host, []).append(row)
    found = [_faulty(host, rows) for host, rows in grouped.items() if any(row.cause in FAULTS for row in rows)]
    return sorted(found, key=lambda host: (-host.faults, -host.hours_lost, host.host))


def _faulty(host: str, rows: list[RunRow]) -> FaultyHost:
    faults = [row for row in rows if row.cause in FAULTS]
    marks = sorted((row.ended_at or row.started_at, row.cause in FAULTS) for row in rows)
    return FaultyHost(
        host=host,
        deaths=len(rows),
        faults=len(faults),
        hours_lost=hours_lost(faults),
        causes=dict(Counter(row.cause or "" for row in faults).most_common()),
        marks=[DeathMark(at, is_fault) for at, is_fault in marks[-MOST_MARKS:]],
    )


def _by_week(rows: Iterable[RunRow], starts: Sequence[float]) -> list[float]:
    found = [0.0] * len(starts)
    for row in rows:
        week = int(((row.ended_at or row.started_at) - starts[0]) // WEEK_S)
        found[min(max(week, 0), len(starts) - 1)] += row.duration_s / 3600
    return found
