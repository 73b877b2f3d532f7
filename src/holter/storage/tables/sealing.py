"""Seals points into chunks inside one transaction; a chunk that new points overlap is written anew."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from holter.storage.merging import Writes, concatenate, settle_writes
from holter.storage.series import Floats
from holter.storage.tables.codec import (
    build_extents,
    build_pyramid,
    decode_integers,
    decode_values,
    encode_integers,
    encode_values,
    stride_of,
)
from holter.storage.tables.database import Connection, fetch_one

CHUNK = 4096
"""About how many points a sealed chunk has."""
# A chunk that was sealed before it was full grows with the next seal.
_SMALL = CHUNK // 2
_AT_ONCE = 8
_FIRST_STEP = -(1 << 63)


class _Place(NamedTuple):
    """A sealed chunk without its points."""

    id: int
    first: int
    last: int
    points: int
    axis: int


class Sealer:
    """Writes the points of one run. Lives as long as the transaction."""

    def __init__(self, connection: Connection, run: str) -> None:
        self._connection = connection
        self._run = run
        self._numbers: dict[str, int] = {}
        self._dropped_axes: set[int] = set()

    def journal_number(self, journal: str) -> int:
        """The number that stands for a journal in this file."""
        if journal not in self._numbers:
            self._connection.execute(
                "INSERT INTO journal (journal, run, replay_from) VALUES (?, ?, 0)"
                " ON CONFLICT (run, journal) DO NOTHING",
                (journal, self._run),
            )
            found = self._connection.execute(
                "SELECT id FROM journal WHERE run = ? AND journal = ?", (self._run, journal)
            )
            [self._numbers[journal]] = found.fetchone()
        return self._numbers[journal]

    def seal(self, keys: tuple[str, ...], writes: Writes) -> None:
        """Seal writes to several series that share their steps."""
        writes = settle_writes(writes)
        if not len(writes.steps):
            return
        first, last = int(writes.steps[0]), int(writes.steps[-1])
        together: dict[tuple[int, ...], list[int]] = {}
        touched: dict[int, tuple[int, list[_Place]]] = {}
        for line, key in enumerate(keys):
            series = self._series(key)
            places = self._touched(series, first, last)
            touched[line] = (series, places)
            together.setdefault(tuple(place.axis for place in places), []).append(line)
        # Keys that were always logged together share their steps and times, also with what was sealed before.
        for lines in together.values():
            self._seal_alike([touched[line] for line in lines], writes, lines)

    def finish(self) -> None:
        """Forget steps and times that no chunk uses any more."""
        for axis in self._dropped_axes:
            self._connection.execute(
                "DELETE FROM axis WHERE id = ? AND NOT EXISTS (SELECT 1 FROM chunk WHERE axis = ?)", (axis, axis)
            )
        self._dropped_axes.clear()

    def _series(self, key: str) -> int:
        found = self._connection.execute("SELECT id FROM series WHERE run = ? AND key = ?", (self._run, key)).fetchone()
        if found:
            return int(found[0])
        added = self._connection.execute("INSERT INTO series (run, key) VALUES (?, ?) RETURNING id", (self._run, key))
        return int(fetch_one(added)[0])

    def _touched(self, series: int, first: int, last: int, /) -> list[_Place]:
        """The chunks that overlap these steps, and one before them that can still grow; in order."""
        found = []
        for place in self._downwards(series, last):
            if place.last < first:
                if place.points < _SMALL:
                    found.append(place)
                break
            found.append(place)
        return found[::-1]

    def _downwards(self, series: int, last: int) -> Iterator[_Place]:
        """The chunks that begin at a step or before it, from the last one on: of thousands, few are looked at."""
        while True:
            rows = self._connection.execute(
                "SELECT id, first, last, points, axis FROM chunk WHERE series = ? AND first <= ?"
                f" ORDER BY first DESC LIMIT {_AT_ONCE}",
                (series, last),
            ).fetchall()
            yield from map(_Place._make, rows)
            if len(rows) < _AT_ONCE or rows[-1][1] == _FIRST_STEP:
                return
            last = rows[-1][1] - 1

    def _seal_alike(self, found: list[tuple[int, list[_Place]]], writes: Writes, lines: list[int], /) -> None:
        part = writes if len(lines) == len(writes.values) else writes.lines(lines)
        if found[0][1]:
            part = settle_writes(concatenate([self._load([places for _, places in found]), part]))
            self._drop([place for _, places in found for place in places])
        pieces = max(1, round(len(part.steps) / CHUNK))
        for places in np.array_split(np.arange(len(part.steps)), pieces):
            self._insert([series for series, _ in found], part.take(slice(int(places[0]), int(places[-1]) + 1)))

    def _load(self, found: list[list[_Place]]) -> Writes:
        """The sealed writes of several series that share their steps."""
        parts = []
        for alike in zip(*found, strict=True):
            values = [self._values(place) for place in alike]
            parts.append(self._with_axis(alike[0].axis, alike[0].points, np.stack(values)))
        return concatenate(parts)

    def _values(self, place: _Place) -> Floats:
        [data] = fetch_one(self._connection.execute("SELECT vals FROM chunk WHERE id = ?", (place.id,)))
        return decode_values(data, place.points)

    def _with_axis(self, axis: int, points: int, values: Floats) -> Writes:
        found = self._connection.execute("SELECT steps, at_ns, offsets, journals FROM axis WHERE id = ?", (axis,))
        row = fetch_one(found)
        steps, at_ns, offsets, journals = (decode_integers(data, points) for data in row)
        numbers, places = np.unique(journals, return_inverse=True)
        names = tuple(self._journal_name(int(number)) for number in numbers)
        return Writes(steps, at_ns, offsets, places.reshape(-1), values, names)

    def _journal_name(self, number: int) -> str:
        [name] = fetch_one(self._connection.execute("SELECT journal FROM journal WHERE id = ?", (number,)))
        return str(name)

    def _drop(self, places: list[_Place]) -> None:
        ids = [(place.id,) for place in places]
        self._connection.executemany("DELETE FROM chunk WHERE id = ?", ids)
        self._connection.executemany("DELETE FROM pyramid WHERE chunk = ?", ids)
        self._dropped_axes.update(place.axis for place in places)

    def _insert(self, series: list[int], writes: Writes) -> None:
        axis = self._axis(writes)
        first, last, stride = int(writes.steps[0]), int(writes.steps[-1]), stride_of(writes.steps)
        for number, values in zip(series, np.ascontiguousarray(writes.values), strict=True):
            added = self._connection.execute(
                "INSERT INTO chunk (series, first, last, points, stride, axis, vals) VALUES (?, ?, ?, ?, ?, ?, ?)"
                " RETURNING id",
                (number, first, last, len(values), stride, axis, encode_values(values)),
            )
            self._connection.execute(
                "INSERT INTO pyramid (chunk, groups) VALUES (?, ?)", (fetch_one(added)[0], build_pyramid(values))
            )

    def _axis(self, writes: Writes) -> int:
        numbers = np.array([self.journal_number(name) for name in writes.names], np.int64)
        columns = (writes.steps, writes.at_ns, writes.offsets, numbers[writes.journals])
        encoded = [encode_integers(column) for column in columns]
        digest = hashlib.blake2b(b"".join(encoded), digest_size=16).digest()
        found = self._connection.execute("SELECT id FROM axis WHERE digest = ?", (digest,)).fetchone()
        if found:
            self._dropped_axes.discard(found[0])
            return int(found[0])
        times = writes.at_ns
        is_ordered = int((times[1:] >= times[:-1]).all())
        added = self._connection.execute(
            "INSERT INTO axis (digest, first_ns, last_ns, is_ordered, steps, at_ns, offsets, journals, extents)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (digest, int(times[0]), int(times[-1]), is_ordered, *encoded, build_extents(writes.steps, times)),
        )
        return int(fetch_one(added)[0])
