"""Reads the rows of a journal into numpy columns, and merges them into the rows of a run.

The only module of the package that needs numpy.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from holter.errors import JournalError, NewerJournal
from holter.journal.decoding import Decoder, LoggedRow
from holter.journal.frame import HEAD, OVERHEAD
from holter.journal.place import Piece
from holter.journal.reader import Skipped, Stretch, scan
from holter.model.records import Declared

Ints = npt.NDArray[np.int64]
Times = npt.NDArray[np.uint64]
Column = npt.NDArray[np.float64] | Ints

OURS = ("_step", "_timestamp")
"""The names of a merged row that no key of a user can take."""

_CHUNK = 8192
# Stretches shorter than this are not worth a call of numpy each.
_FEW = 16


class Table(msgspec.Struct, frozen=True, eq=False):
    """All rows of one schema in the order in which they were written; all arrays have the same length."""

    keys: tuple[str, ...]
    steps: Ints
    at_ns: Times
    offsets: Ints
    """Where in the journal each row lies."""
    columns: dict[str, Column]


class LooseRow(NamedTuple):
    """A row that was not packed, and where in the journal it lies."""

    offset: int
    row: LoggedRow


class Tables(msgspec.Struct, eq=False):
    """All rows of one journal. `unknown` counts the records that this holter can't read."""

    journal: str
    tables: list[Table] = []
    loose: list[LooseRow] = []
    skipped: dict[str, list[Skipped]] = {}
    """By path, the bytes that are not whole records."""
    trouble: dict[str, str] = {}
    """By path, why a segment could not be read at all."""
    unknown: int = 0


def read_tables(paths: Sequence[str]) -> Tables:
    """Read one journal, given its segments in order. Raises NewerJournal, OSError.

    Each segment is read once and proved with one checksum; only one that fails is walked record by record. A row may
    use a declaration from any segment: numbers mean the same in all of a journal.
    """
    reading = _Reading(paths)
    for path in paths:
        reading.add(path)
    return reading.finish()


def tables_up_to(tables: Tables, step: int | None) -> Tables:
    """Without the rows behind a step; None leaves all."""
    if step is None:
        return tables
    kept = [_table_up_to(table, step) for table in tables.tables]
    return msgspec.structs.replace(
        tables,
        tables=[table for table in kept if len(table.steps)],
        loose=[each for each in tables.loose if each.row.step <= step],
    )


def _table_up_to(table: Table, step: int) -> Table:
    kept = table.steps <= step
    columns = {key: column[kept] for key, column in table.columns.items()}
    return Table(table.keys, table.steps[kept], table.at_ns[kept], table.offsets[kept], columns)


def merge_rows(journals: Sequence[Tables]) -> Iterator[dict[str, Any]]:
    """The rows of a run: one for each step, in the order of steps, `_step` and `_timestamp` (in seconds) first.

    Of several writes of a key in one step the last one wins, and the last write of any key gives the time. Writes are
    ordered by time, then journal, then place in the journal.
    """
    ordered = sorted(journals, key=lambda tables: tables.journal)
    sources = [source for rank, tables in enumerate(ordered) for source in _sources(tables, rank)]
    current: dict[str, Any] | None = None
    for row in _in_order(sources):
        if current is None:
            current = row
        elif row["_step"] == current["_step"]:
            current.update(row)
        else:
            yield current
            current = row
    if current is not None:
        yield current


class _Reading:
    """Collects the rows of one journal, segment by segment."""

    def __init__(self, paths: Sequence[str]) -> None:
        name = os.path.basename(paths[0]) if paths else ""
        self._tables = Tables(name.partition("-")[0])
        self._left_bytes = sum(os.path.getsize(path) for path in paths)
        self._base = 0
        self._decoder = Decoder(lambda: paths)
        self._blocks: dict[Declared, _Block] = {}

    def add(self, path: str) -> None:
        with open(path, "rb") as file:
            data = file.read()
        try:
            scanned = scan(data)
        except NewerJournal:
            raise
        except JournalError as error:
            # A segment that was born and not yet filled is all zeros; anything else is worth a word.
            if data.strip(b"\0"):
                self._tables.trouble[path] = str(error)
            self._base += len(data)
            return
        if scanned.skipped:
            self._tables.skipped[path] = scanned.skipped
        base = self._base = scanned.header.base if scanned.header else self._base
        told = self._decoder.tell(Piece(data, scanned.stretches, base, base, base + scanned.end))
        self._tables.loose += [LooseRow(base + at, row) for at, row in told.loose]
        self._tables.unknown += told.unknown
        for schema, stretches in told.packed:
            block = self._blocks.setdefault(schema.declared, _Block(schema.declared))
            block.add(data, stretches, base=base, left_bytes=self._left_bytes)
        self._base += len(data)
        self._left_bytes -= len(data)

    def finish(self) -> Tables:
        self._tables.tables = [block.table() for block in self._blocks.values()]
        return self._tables


class _Block:
    """The growing columns of one schema: steps, times, values and offsets, a line of 64-bit words for each."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._words = np.empty((len(declared.types) + 3, 0), np.uint64)
        self.rows = 0

    def add(self, data: bytes, stretches: list[Stretch], *, base: int, left_bytes: int) -> None:
        places = _places(stretches)
        following = self.rows + len(places)
        if following > self._words.shape[1]:
            # As if the journal went on like this segment: memory that is never touched costs nothing.
            self._grow(max(2 * self.rows, following + len(places) * left_bytes // len(data)))
        words = self._words[:, self.rows : following]
        words[-1] = places + base
        if len(stretches) * _FEW > len(places):
            _gather(data, places, words[:-1])
        else:
            _copy(data, stretches, words[:-1])
        self.rows = following

    def table(self) -> Table:
        steps, at_ns, *values, offsets = self._words[:, : self.rows]
        types = [np.float64 if code == "d" else np.int64 for code in self._declared.types]
        columns = {key: line.view(kind) for key, line, kind in zip(self._declared.keys, values, types, strict=True)}
        return Table(self._declared.keys, steps.view(np.int64), at_ns, offsets.view(np.int64), columns)

    def _grow(self, capacity: int) -> None:
        words = np.empty((self._words.shape[0], capacity), np.uint64)
        words[:, : self.rows] = self._words[:, : self.rows]
        self._words = words


def read_packed(data: bytes, stretches: list[Stretch]) -> tuple[Ints, npt.NDArray[np.uint64]]:
    """Where packed rows of one kind and size begin, and their words: steps, times, then a line for each value."""
    places = _places(stretches)
    words = np.empty(((stretches[0].size - OVERHEAD) // 8, len(places)), np.uint64)
    if len(stretches) * _FEW > len(places):
        _gather(data, places, words)
    else:
        _copy(data, stretches, words)
    return places, words


def _places(stretches: list[Stretch]) -> Ints:
    """Where each frame begins; all stretches have the same size of frame."""
    size = stretches[0].size
    starts = np.array([stretch.at for stretch in stretches], np.int64)
    repeats = np.array([stretch.repeats for stretch in stretches], np.int64)
    before = np.cumsum(repeats) - repeats
    places: Ints = np.repeat(starts - before * size, repeats) + np.arange(repeats.sum()) * size
    return places


def _gather(data: bytes, places: Ints, words: npt.NDArray[np.uint64]) -> None:
    everywhere = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))
    for number, line in enumerate(words):
        line[:] = everywhere[places + (HEAD.size + 8 * number)]


def _copy(data: bytes, stretches: list[Stretch], words: npt.NDArray[np.uint64]) -> None:
    start = 0
    for _, at, size, repeats in stretches:
        rows = np.ndarray((len(words), repeats), "<u8", data, at + HEAD.size, (8, size))
        words[:, start : start + repeats] = rows
        start += repeats


class _Source(NamedTuple):
    """Rows of one table, or the loose rows of one journal, with what decides their order."""

    rank: int
    steps: Ints
    at_ns: Times
    offsets: Ints
    rows: Table | list[LooseRow]

    def pick(self, places: Ints) -> list[dict[str, Any]]:
        if isinstance(self.rows, list):
            return [_loose_row(self.rows[place].row) for place in places.tolist()]
        kept = {key: column for key, column in self.rows.columns.items() if key not in OURS}
        columns = [self.steps[places], self.at_ns[places] / 1e9, *(column[places] for column in kept.values())]
        names = (*OURS, *kept)
        return [dict(zip(names, row, strict=True)) for row in zip(*(each.tolist() for each in columns), strict=True)]


def _loose_row(row: LoggedRow) -> dict[str, Any]:
    kept = {key: value for key, value in row.values.items() if key not in OURS}
    return {"_step": row.step, "_timestamp": row.at_ns / 1e9, **kept}


def _sources(tables: Tables, rank: int) -> Iterator[_Source]:
    for table in tables.tables:
        yield _Source(rank, table.steps, table.at_ns, table.offsets, table)
    if tables.loose:
        steps = np.array([each.row.step for each in tables.loose], np.int64)
        at_ns = np.array([each.row.at_ns for each in tables.loose], np.uint64)
        offsets = np.array([each.offset for each in tables.loose], np.int64)
        yield _Source(rank, steps, at_ns, offsets, tables.loose)


def _in_order(sources: list[_Source]) -> Iterator[dict[str, Any]]:
    """Every row as it was written, by step and then by the order of writes; a chunk at a time, to be easy on memory."""
    if not sources:
        return
    lengths = [len(source.steps) for source in sources]
    numbers = np.repeat(np.arange(len(sources)), lengths)
    places = np.concatenate([np.arange(length) for length in lengths])
    order = _order(sources, lengths)
    for start in range(0, len(order), _CHUNK):
        chunk = order[start : start + _CHUNK]
        yield from _pick(sources, numbers[chunk], places[chunk])


def _order(sources: list[_Source], lengths: list[int]) -> Ints:
    steps = np.concatenate([source.steps for source in sources])
    if (steps[1:] > steps[:-1]).all():
        return np.arange(len(steps))
    at_ns = np.concatenate([source.at_ns for source in sources])
    ranks = np.repeat([source.rank for source in sources], lengths)
    offsets = np.concatenate([source.offsets for source in sources])
    return np.lexsort((offsets, ranks, at_ns, steps))


def _pick(sources: list[_Source], numbers: Ints, places: Ints) -> list[dict[str, Any]]:
    """The rows at these places of these sources, in this order."""
    rows: list[dict[str, Any]] = [{}] * len(numbers)
    for number in np.unique(numbers).tolist():
        here = np.flatnonzero(numbers == number)
        for index, row in zip(here.tolist(), sources[number].pick(places[here]), strict=True):
            rows[index] = row
    return rows
