"""Charts of rows in ClickHouse: it cuts long series into buckets itself, and hands the points of short ones over."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence, Set

import msgspec
import numpy as np
import numpy.typing as npt

from holter.storage.bucketing import Spans, cut_into_buckets, empty_buckets, spans_of_points
from holter.storage.clickhouse.binary import literal, literals
from holter.storage.clickhouse.database import ClickHouseDatabase
from holter.storage.series import NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, Buckets, Floats, Ints, Line, Window

POINTS_FOR_A_BUCKET = 16
"""With fewer of them it costs less to hand over the points than to cut them there."""
MOST_POINTS = 4_000_000
"""Handed over at once."""
_EXTENT = np.dtype([("line", "<u4"), ("low", "<i8"), ("high", "<i8"), ("count", "<u8")])
_POINT = np.dtype([("line", "<u4"), ("place", "<i8"), ("value", "<f8")])
_SPAN = np.dtype(
    [
        ("line", "<u4"),
        ("bucket", "<u4"),
        ("first", "<i8"),
        ("last", "<i8"),
        ("low", "<f8"),
        ("high", "<f8"),
        ("total", "<f8"),
        ("finite", "<u8"),
        ("final", "<f8"),
        ("count", "<u8"),
        ("marks", "u1"),
    ]
)
_SPAN_COLUMNS = (
    "min(place), max(place), minIf(value, isFinite(value)), maxIf(value, isFinite(value)),"
    " sumIf(value, isFinite(value)), countIf(isFinite(value)), argMax(value, place), count(),"
    f" toUInt8((countIf(isNaN(value)) > 0) * {NAN} + (countIf(value = inf) > 0) * {POSITIVE_INFINITY}"
    f" + (countIf(value = -inf) > 0) * {NEGATIVE_INFINITY})"
)


class Charts:
    """Reads buckets."""

    def __init__(self, database: ClickHouseDatabase) -> None:
        self._database = database

    def buckets(self, lines: Sequence[Line], window: Window) -> list[Buckets]:
        """At most so many buckets for each line."""
        found = [empty_buckets() for _ in lines]
        for key, at in _together(lines):
            asked = _Asked(key, {number: lines[number] for number in at}, window)
            for number, spans in self._spans(asked).items():
                found[number] = cut_into_buckets(spans, window.buckets, first=window.first, last=window.last)
        return found

    def _spans(self, asked: "_Asked") -> dict[int, Spans]:
        extents = self._extents(asked)
        short = {number for number, each in extents.items() if each[2] <= POINTS_FOR_A_BUCKET * asked.window.buckets}
        if sum(extents[number][2] for number in short) > MOST_POINTS:
            short = set()
        found: dict[int, Spans] = {}
        if short:
            found |= self._points(asked.only(short))
        if long := extents.keys() - short:
            found |= self._cut(asked.only(long), extents)
        return found

    def _extents(self, asked: "_Asked") -> dict[int, tuple[int, int, int]]:
        """From where to where each line goes, and how many points it has at most: what was replaced counts, too."""
        places = f"SELECT {asked.line()} AS line, {asked.place()} AS place FROM {self._table} WHERE {asked.where()}"
        data = self._database.query(f"SELECT line, min(place), max(place), count() FROM ({places}) GROUP BY line")
        return {number: (low, high, count) for number, low, high, count in np.frombuffer(data, _EXTENT).tolist()}

    def _points(self, asked: "_Asked") -> dict[int, Spans]:
        """Each point as a span."""
        data = self._database.query(
            f"SELECT {asked.line()}, {asked.place()}, value FROM {self._table} FINAL WHERE {asked.where()}"
            " ORDER BY run, key, step"
        )
        found = np.frombuffer(data, _POINT)
        return {number: _spans_in_order(part["place"], part["value"]) for number, part in _parts(found)}

    def _cut(self, asked: "_Asked", extents: dict[int, tuple[int, int, int]]) -> dict[int, Spans]:
        """As many spans for each line as it shall have buckets."""
        data = self._database.query(
            f"SELECT line, bucket, {_SPAN_COLUMNS} FROM (SELECT {asked.line()} AS line, {asked.place()} AS place,"
            f" {asked.bucket(extents)} AS bucket, value FROM {self._table} FINAL WHERE {asked.where()})"
            " GROUP BY line, bucket ORDER BY line, bucket"
        )
        return {number: _spans_of(part) for number, part in _parts(np.frombuffer(data, _SPAN))}

    @property
    def _table(self) -> str:
        return self._database.table("points")


class _Asked(msgspec.Struct, frozen=True):
    """Lines of one key by their numbers, each of another run, and SQL that says something of a point of them."""

    key: str
    lines: dict[int, Line]
    window: Window

    def only(self, numbers: Set[int]) -> "_Asked":
        """Some of the lines."""
        return _Asked(self.key, {number: self.lines[number] for number in sorted(numbers)}, self.window)

    def line(self) -> str:
        """Which line it is on."""
        return f"toUInt32({self._by_run(list(self.lines))})"

    def place(self) -> str:
        """Where it is on the axis."""
        if self.window.axis == "step":
            return "step"
        origins = self._by_run([line.origin for line in self.lines.values()])
        return f"at_ns - toInt64({origins})"

    def where(self) -> str:
        """Whether it is wanted."""
        parts = [f"run IN ({literals(line.run for line in self.lines.values())})", f"key = {literal(self.key)}"]
        first, last = self.window.first, self.window.last
        parts += [f"{self.place()} >= {in_range(first)}"] if first is not None else []
        parts += [f"{self.place()} <= {in_range(last)}"] if last is not None else []
        return " AND ".join(parts)

    def bucket(self, extents: dict[int, tuple[int, int, int]]) -> str:
        """In which bucket it goes. A quarter of each number: the distance of two huge ones is infinite."""
        lows, scales = [], []
        for number in self.lines:
            known = zip((self.window.first, self.window.last), extents[number][:2], strict=True)
            low, high = (float(end if given is None else given) / 4 for given, end in known)
            lows.append(low)
            scales.append(self.window.buckets / (high - low) if high > low else 0.0)
        scaled = f"(toFloat64({self.place()}) / 4 - {self._by_run(lows)}) * {self._by_run(scales)}"
        return f"toUInt32(least({self.window.buckets - 1}., greatest(0., {scaled})))"

    def _by_run(self, values: Sequence[float]) -> str:
        if len(set(values)) == 1:
            return repr(values[0])
        runs = literals(line.run for line in self.lines.values())
        none = "toInt64(0)" if type(values[0]) is int else "toFloat64(0)"
        return f"transform(run, [{runs}], [{', '.join(map(repr, values))}], {none})"


def _together(lines: Sequence[Line]) -> list[tuple[str, list[int]]]:
    """What can be asked at once: the lines of each key; a run that is there twice is asked for twice."""
    found: dict[tuple[str, int], list[int]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for number, line in enumerate(lines):
        found.setdefault((line.key, seen[line.run, line.key]), []).append(number)
        seen[line.run, line.key] += 1
    return [(key, at) for (key, _), at in found.items()]


def _parts(rows: npt.NDArray[np.void]) -> Iterator[tuple[int, npt.NDArray[np.void]]]:
    """The rows of each line, which lie together."""
    starts = np.append(0, np.flatnonzero(np.diff(rows["line"])) + 1) if len(rows) else np.empty(0, np.int64)
    for start, stop in itertools.pairwise([*starts.tolist(), len(rows)]):
        yield int(rows["line"][start]), rows[start:stop]


def _spans_in_order(places: Ints, values: Floats) -> Spans:
    if (places[1:] < places[:-1]).any():
        order = np.argsort(places, kind="stable")
        places, values = places[order], values[order]
    return spans_of_points(np.ascontiguousarray(places), np.ascontiguousarray(values))


def _spans_of(rows: npt.NDArray[np.void]) -> Spans:
    finite = rows["finite"].astype(np.int64)
    return Spans(
        rows["first"],
        rows["last"],
        np.where(finite == 0, np.inf, rows["low"]),
        np.where(finite == 0, -np.inf, rows["high"]),
        rows["total"],
        rows["final"],
        rows["count"].astype(np.int64),
        finite,
        rows["marks"],
    )


def in_range(place: int) -> int:
    """As ClickHouse can hold it."""
    return max(-(1 << 63), min(place, (1 << 63) - 1))
