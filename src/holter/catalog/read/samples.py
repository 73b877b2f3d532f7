"""What the sidecar's samples say about the time before the end: memory, pressure, growth."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

import msgspec

from holter.catalog.read.loaded_run import newest_clients
from holter.journal.decoding import LoggedRow
from holter.journal.digest import Digest
from holter.journal.tail import first_row, last_rows
from holter.model.evidence import Counters, Memory, MemoryLevel

WINDOW_S = 600.0
RECENT_S = 10.0
# A sample is some 600 bytes, and there is one each second.
WINDOW_BYTES = 512 << 10
GROWTH_WINDOWS_S = (600.0, 300.0, 120.0, 60.0, 30.0, 10.0)
STEADY = 0.8
"""The share of a curve that a straight line must explain to be called growth."""
MOST_LEVELS = 32
LARGEST_SAMPLE = 1e100
"""What a host can measure, and whose square is still a number."""
OWN = "system/process/anon_bytes"

Values = Mapping[str, float]


class Samples(msgspec.Struct, frozen=True):
    """The first sample of an attempt and those of its last minutes, in order."""

    first: LoggedRow | None = None
    last: tuple[LoggedRow, ...] = ()


def read_samples(digests: Sequence[Digest], segments: Mapping[str, Sequence[str]], *, host: str) -> Samples:
    """The samples that were taken on a host in the newest attempt. Raises OSError."""
    attempt = max((each.opened.attempt for each in newest_clients(list(digests))), default=0)
    sidecars = [
        each
        for each in digests
        if each.opened.writer == "sidecar" and (each.opened.attempt, each.opened.host) == (attempt, host) and each.rows
    ]
    journals = [segments[each.journal] for each in sidecars if each.journal in segments]
    if not journals:
        return Samples()
    rows = [row for paths in journals[-2:] for row in last_rows(paths, most_bytes=WINDOW_BYTES)]
    begin_ns = max((row.at_ns for row in rows), default=0) - int(WINDOW_S * 1e9)
    return Samples(first_row(journals[0]), tuple(row for row in rows if row.at_ns >= begin_ns))


def memory_of(samples: Samples, *, ended_ns: int) -> Memory:
    """The host's memory as the samples have it. Pure.

    A count of kills that was read before the end proves nothing unless it moved: then it is None.
    """
    if not samples.last:
        return Memory()
    # A sample that was taken after the end has its counters, and nothing of the memory that the program held.
    lived = [each for each in samples.last if not ended_ns or each.at_ns <= ended_ns] or list(samples.last)
    row, newest = lived[-1], samples.last[-1]
    first: Values = samples.first.values if samples.first else {}
    growth, growth_s = growth_of([(each.at_ns, each.values.get(OWN)) for each in lived])
    own = [value for each in lived if (value := _known(each.values, OWN)) is not None]
    is_after = bool(ended_ns) and newest.at_ns > ended_ns
    host = "system/host"
    return Memory(
        sampled_ns=row.at_ns,
        levels=tuple(_levels(row.values, newest.values, first=first, is_after=is_after)),
        total_bytes=_known(row.values, f"{host}/memory_total_bytes"),
        available_bytes=_known(row.values, f"{host}/memory_available_bytes"),
        swap_total_bytes=_known(row.values, f"{host}/swap_total_bytes"),
        swap_free_bytes=_known(row.values, f"{host}/swap_free_bytes"),
        host_kills=_counted(newest.values, first, f"{host}/oom_kill", is_after=is_after),
        own_bytes=own[-1] if own else None,
        own_peak_bytes=max(own, default=None),
        growth_bytes_per_s=growth,
        growth_s=growth_s,
        full_pressure_percent=_known(row.values, "system/psi/memory_full_avg10"),
        major_faults_per_s=_rate(lived, "system/process/major_faults"),
        swap_out_bytes_per_s=_opposite(_rate(lived, f"{host}/swap_free_bytes")),
    )


def with_counters(memory: Memory, counters: Counters) -> Memory:
    """The same with what Linux's own counters said, for instance when the process had just died. Pure."""
    known = {level.level: level for level in memory.levels}
    for level in counters.levels:
        said = {name: value for name, value in msgspec.structs.asdict(level).items() if value not in (None, "")}
        known[level.level] = msgspec.structs.replace(known.get(level.level, level), **said)
    return msgspec.structs.replace(
        memory,
        levels=tuple(level for _, level in sorted(known.items())),
        host_kills=memory.host_kills if counters.host_kills is None else counters.host_kills,
    )


def growth_of(curve: Sequence[tuple[int, float | None]]) -> tuple[float | None, float]:
    """Units per second and for how long it went on like that: the longest window that is nearly a straight line."""
    known = [(at_ns / 1e9, value) for at_ns, value in curve if is_number(value)]
    if len(known) < 3:
        return None, 0.0
    end = known[-1][0]
    for window_s in GROWTH_WINDOWS_S:
        points = [point for point in known if end - point[0] <= window_s]
        slope, explained = _fit(points)
        if explained >= STEADY:
            return slope, end - points[0][0]
    return slope, end - points[0][0]


def _fit(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The slope of the straight line through the points, and which share of them it explains."""
    if len(points) < 3:
        return 0.0, 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    across = sum((x - mean_x) ** 2 for x, _ in points)
    along = sum((y - mean_y) ** 2 for _, y in points)
    both = sum((x - mean_x) * (y - mean_y) for x, y in points)
    if not across or not along:
        return 0.0, 1.0 if across else 0.0
    return both / across, both * both / (across * along)


def _levels(values: Values, newest: Values, *, first: Values, is_after: bool) -> Iterator[MemoryLevel]:
    for level in range(MOST_LEVELS):
        name = f"system/cgroup/{level}"
        if f"{name}/oom_kill" not in values:
            continue
        usage, inactive = _known(values, f"{name}/usage_bytes"), _known(values, f"{name}/inactive_file_bytes")
        hits = _counted(newest, first, f"{name}/limit_hits", is_after=True)
        yield MemoryLevel(
            level=level,
            limit_bytes=_known(values, f"{name}/limit_bytes"),
            usage_bytes=None if usage is None else usage - (inactive or 0.0),
            peak_bytes=_known(values, f"{name}/peak_bytes"),
            kills=_counted(newest, first, f"{name}/oom_kill", is_after=is_after),
            limit_hits=hits,
        )


def _counted(values: Values, first: Values, key: str, *, is_after: bool) -> int | None:
    """How far a counter moved since the first sample; None where that says nothing."""
    now, before = _known(values, key), _known(first, key)
    if now is None or before is None:
        return None
    moved = int(now - before)
    return moved if moved or is_after else None


def _rate(rows: Sequence[LoggedRow], key: str) -> float | None:
    end_ns = rows[-1].at_ns
    points = [
        (row.at_ns / 1e9, value)
        for row in rows
        if end_ns - row.at_ns <= RECENT_S * 1e9 and (value := _known(row.values, key)) is not None
    ]
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    return (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])


def _opposite(rate: float | None) -> float | None:
    return None if rate is None else max(0.0, -rate)


def _known(values: Values, key: str) -> float | None:
    value = values.get(key)
    return float(value) if is_number(value) else None


def is_number(value: object) -> TypeGuard[float]:
    """Whether a sample is one that can be reckoned with."""
    return isinstance(value, int | float) and abs(value) <= LARGEST_SAMPLE
