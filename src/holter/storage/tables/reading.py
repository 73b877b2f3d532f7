"""Reads sealed chunks, and the points in memory behind or between them."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from holter.errors import StorageDamaged
from holter.storage.bucketing import GROUP, Spans, join_spans, spans_of_points
from holter.storage.merging import Writes, concatenate, settle_writes
from holter.storage.series import Axis, Floats, Ints, Line, Points, Window
from holter.storage.tables.codec import EXTENT, PYRAMID, decode_integers, decode_values
from holter.storage.tables.database import Connection, fetch_one, marks

# From this many points for each bucket on, whole groups are as good as points.
ENOUGH_GROUPS = 2
MOST_AT_ONCE = 500


class Sealed(NamedTuple):
    """A sealed chunk without its points; it begins and ends at these places of the axis that is asked for."""

    id: int
    first: int
    last: int
    points: int
    stride: int
    axis: int
    begin: int
    end: int


class Reader:
    """One series at one moment: its sealed chunks in a read transaction, and its unsealed writes."""

    def __init__(self, connection: Connection, line: Line, *, unsealed: Sequence[Writes]) -> None:
        self._connection = connection
        self._line = line
        self.key = line.key
        found = connection.execute("SELECT id FROM series WHERE run = ? AND key = ?", (line.run, line.key)).fetchone()
        self._series = int(found[0]) if found else 0
        self._tail = settle_writes(concatenate(list(unsealed))) if unsealed else None

    def points(self, first: int | None, last: int | None, *, most: int | None = None) -> Points:
        """All points of a range of steps, or the first ones."""
        low, high = _bounds(first, last)
        chunks = self._chunks(low, high)
        if most is not None:
            wanted = _with_the_first(chunks, low, most)
            high = high if len(wanted) == len(chunks) else wanted[-1].last
            chunks = wanted
        inner = self._merged(chunks)
        begin, end = np.searchsorted(inner.steps, low, "left"), np.searchsorted(inner.steps, high, "right")
        kept = slice(int(begin), int(end) if most is None else min(int(end), int(begin) + most))
        return Points(inner.steps[kept], inner.at_ns[kept], inner.values[kept])

    def spans(self, window: Window) -> Spans:
        """What a window shows, as points or groups of points."""
        low, high = _bounds(window.first, window.last)
        if window.axis == "time":
            return self._spans_by_time(low, high, window.buckets)
        chunks = self._chunks(low, high)
        if _is_sparse(chunks, window.buckets):
            return _cut(*self._steps_and_values(chunks), low, high)
        return self._grouped(chunks, "step", low, high)

    def _spans_by_time(self, low: int, high: int, buckets: int, /) -> Spans:
        origin = self._line.origin
        low, high = _saturated(low + origin), _saturated(high + origin)
        chunks, is_in_order = self._timed_chunks()
        if is_in_order and not _is_sparse(chunks, buckets):
            wanted = [chunk for chunk in chunks if chunk.begin <= high and chunk.end >= low]
            return _shifted(self._grouped(wanted, "time", low, high), origin)
        found = self._merged(chunks)
        order = np.argsort(found.at_ns, kind="stable")
        return _shifted(_cut(found.at_ns[order], found.values[order], low, high), origin)

    def _chunks(self, low: int, high: int) -> list[Sealed]:
        found = self._connection.execute(
            "SELECT id, first, last, points, stride, axis, first, last FROM chunk INDEXED BY chunk_place"
            " WHERE series = ? AND first <= ? AND last >= ? ORDER BY first",
            (self._series, high, low),
        )
        return [Sealed(*row) for row in found]

    def _timed_chunks(self) -> tuple[list[Sealed], bool]:
        """All chunks with their times, and whether time never goes back along the steps."""
        rows = self._connection.execute(
            "SELECT c.id, c.first, c.last, c.points, c.stride, c.axis, a.first_ns, a.last_ns, a.is_ordered"
            " FROM chunk c INDEXED BY chunk_place JOIN axis a ON a.id = c.axis WHERE c.series = ? ORDER BY c.first",
            (self._series,),
        ).fetchall()
        chunks = [Sealed(*row[:-1]) for row in rows]
        is_in_order = all(row[-1] for row in rows)
        is_in_order &= all(one.end <= other.begin for one, other in itertools.pairwise(chunks))
        if self._tail is not None and len(self._tail.steps):
            times = self._tail.at_ns
            is_in_order &= bool((times[1:] >= times[:-1]).all())
            is_in_order &= not chunks or bool(self._tail.steps[0] > chunks[-1].last and times[0] >= chunks[-1].end)
        return chunks, is_in_order

    def _grouped(self, chunks: list[Sealed], axis: Axis, low: int, high: int, /) -> Spans:
        """Chunks at the edges of the window and those that the tail overlaps as points, all others as groups."""
        tail = self._tail.steps if self._tail is not None else np.empty(0, np.int64)
        whole: list[Sealed] = []
        loose: list[Sealed] = []
        for chunk in chunks:
            is_mixed = len(tail) > 0 and tail[0] <= chunk.last and tail[-1] >= chunk.first
            is_inside = chunk.begin >= low and chunk.end <= high
            (whole if is_inside and not is_mixed else loose).append(chunk)
        parts = [self._groups(whole, axis)] if whole else []
        if loose or len(tail) or not parts:
            found = self._merged(loose)
            parts.append(_cut(found.steps if axis == "step" else found.at_ns, found.values, low, high))
        spans = join_spans(parts)
        is_in_order = len(parts) == 1 or not len(parts[1].first) or parts[1].first[0] > parts[0].last[-1]
        return spans if is_in_order else _picked(spans, np.argsort(spans.first, kind="stable"))

    def _groups(self, chunks: list[Sealed], axis: Axis) -> Spans:
        rows = self._connection.execute(
            "SELECT c.id, p.groups FROM chunk c INDEXED BY chunk_place JOIN pyramid p ON p.chunk = c.id"
            " WHERE c.series = ? AND c.first >= ? AND c.first <= ? ORDER BY c.first",
            (self._series, chunks[0].first, chunks[-1].first),
        ).fetchall()
        if len(rows) != len(chunks):  # some between them are read as points
            wanted = {chunk.id for chunk in chunks}
            rows = [row for row in rows if row[0] in wanted]
        groups = np.frombuffer(b"".join([row[1] for row in rows]), PYRAMID)
        firsts, lasts = self._extents(chunks, axis)
        return Spans(
            firsts,
            lasts,
            groups["low"],
            groups["high"],
            groups["total"],
            groups["final"],
            groups["count"].astype(np.int64),
            groups["finite"].astype(np.int64),
            groups["marks"],
        )

    def _extents(self, chunks: list[Sealed], axis: Axis) -> tuple[Ints, Ints]:
        if axis == "step" and all(chunk.stride for chunk in chunks):
            return _regular_extents(chunks)
        rows = self._connection.execute(
            "SELECT c.id, a.extents FROM chunk c INDEXED BY chunk_place JOIN axis a ON a.id = c.axis"
            " WHERE c.series = ? AND c.first >= ? AND c.first <= ? ORDER BY c.first",
            (self._series, chunks[0].first, chunks[-1].first),
        ).fetchall()
        wanted = {chunk.id for chunk in chunks}
        extents = np.frombuffer(b"".join([row[1] for row in rows if row[0] in wanted]), EXTENT)
        unit = "step" if axis == "step" else "ns"
        return extents[f"first_{unit}"].astype(np.int64), extents[f"last_{unit}"].astype(np.int64)

    def _steps_and_values(self, chunks: list[Sealed]) -> tuple[Ints, Floats]:
        """Like `_merged` without the times, which cost as much again."""
        tail = self._tail
        if tail is not None and len(tail.steps) and chunks and tail.steps[0] <= chunks[-1].last:
            found = self._merged(chunks)
            return found.steps, found.values
        steps, values = [self._steps(chunk) for chunk in chunks], self._values(chunks)
        if tail is not None:
            steps.append(tail.steps)
            values.append(tail.values[0])
        if not steps:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        return (steps[0], values[0]) if len(steps) == 1 else (np.concatenate(steps), np.concatenate(values))

    def _merged(self, chunks: list[Sealed]) -> Points:
        """The points of sealed chunks and of the tail."""
        parts = [self._writes(chunk, values) for chunk, values in zip(chunks, self._values(chunks), strict=True)]
        if self._tail is not None:
            parts.append(self._tail)
        if not parts:
            return Points(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))
        found = settle_writes(concatenate(parts))
        return Points(found.steps, found.at_ns, found.values[0])

    def _values(self, chunks: list[Sealed]) -> list[Floats]:
        found: dict[int, bytes] = {}
        for start in range(0, len(chunks), MOST_AT_ONCE):
            ids = [chunk.id for chunk in chunks[start : start + MOST_AT_ONCE]]
            found.update(self._connection.execute(f"SELECT id, vals FROM chunk WHERE id IN ({marks(len(ids))})", ids))
        if len(found) < len(chunks):
            raise StorageDamaged("the values of a sealed chunk are gone")
        return [decode_values(found[chunk.id], chunk.points) for chunk in chunks]

    def _steps(self, chunk: Sealed) -> Ints:
        if chunk.stride:
            return np.arange(chunk.points, dtype=np.int64) * chunk.stride + chunk.first
        [data] = fetch_one(self._connection.execute("SELECT steps FROM axis WHERE id = ?", (chunk.axis,)))
        return decode_integers(data, chunk.points)

    def _writes(self, chunk: Sealed, values: Floats) -> Writes:
        found = self._connection.execute("SELECT at_ns, offsets, journals FROM axis WHERE id = ?", (chunk.axis,))
        row = fetch_one(found)
        at_ns, offsets, journals = (decode_integers(data, chunk.points) for data in row)
        numbers, places = np.unique(journals, return_inverse=True)
        names = tuple(self._journal(int(number)) for number in numbers)
        return Writes(self._steps(chunk), at_ns, offsets, places.reshape(-1), values[np.newaxis], names)

    def _journal(self, number: int) -> str:
        [name] = fetch_one(self._connection.execute("SELECT journal FROM journal WHERE id = ?", (number,)))
        return str(name)


def _bounds(first: int | None, last: int | None) -> tuple[int, int]:
    return -(1 << 63) if first is None else _saturated(first), (1 << 63) - 1 if last is None else _saturated(last)


def _with_the_first(chunks: list[Sealed], low: int, most: int, /) -> list[Sealed]:
    """Those that hold so many points from a step on."""
    count = 0
    for place, chunk in enumerate(chunks):
        count += chunk.points if chunk.first >= low else 0
        if count >= most:
            return chunks[: place + 1]
    return chunks


def _is_sparse(chunks: list[Sealed], buckets: int) -> bool:
    return sum(chunk.points for chunk in chunks) < ENOUGH_GROUPS * GROUP * buckets


def _saturated(place: int) -> int:
    return max(-(1 << 63), min(place, (1 << 63) - 1))


def _cut(places: Ints, values: Floats, low: int, high: int, /) -> Spans:
    first, last = np.searchsorted(places, low, "left"), np.searchsorted(places, high, "right")
    return spans_of_points(places[first:last], values[first:last])


def _picked(spans: Spans, places: Ints) -> Spans:
    columns: dict[str, Any] = {name: getattr(spans, name) for name in Spans.__struct_fields__}
    return Spans(**{name: column[places] for name, column in columns.items() if column is not None})


def _shifted(spans: Spans, origin: int) -> Spans:
    if not origin:
        return spans
    columns = {name: getattr(spans, name) for name in Spans.__struct_fields__}
    return Spans(**(columns | {"first": spans.first - origin, "last": spans.last - origin}))


def _regular_extents(chunks: list[Sealed]) -> tuple[Ints, Ints]:
    table = np.array([(chunk.first, chunk.points, chunk.stride) for chunk in chunks], np.int64)
    first, points, stride = table.T
    groups = -(-points // GROUP)
    within = np.arange(groups.sum()) - np.repeat(np.cumsum(groups) - groups, groups)
    starts = within * GROUP
    ends = np.minimum(starts + GROUP, np.repeat(points, groups)) - 1
    stride, first = np.repeat(stride, groups), np.repeat(first, groups)
    return first + starts * stride, first + ends * stride
