"""Reads one journal from its segments, piece by piece, as columns: also while it is written, torn or damaged."""

import os
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from holter.errors import JournalError
from holter.journal.columns import Stretch, find_stretches, read_packed
from holter.journal.decoding import LoggedRow, decode_control
from holter.journal.frame import HEAD, HEADER_SIZE, RESIDUE, TAIL, decode_header
from holter.journal.reader import Frame, is_blank, is_whole, read_records, scan
from holter.journal.rows import Schema
from holter.model.records import FIRST_PACKED, NUMBERS, Declared, Record
from holter.storage.series import Rows

# A journal that grows slowly is read in small pieces: most of an open segment is reserved space.
SMALL_CHUNK_BYTES, CHUNK_BYTES = 64 << 10, 1 << 20


class Said(NamedTuple):
    """A record, and where in its journal it stands."""

    offset: int
    record: Record


class Fed(msgspec.Struct, eq=False):
    """What a range of a journal holds. `is_new_segment` where it begins with what the earlier ones add up to."""

    start: int
    stop: int
    is_new_segment: bool
    records: list[Said] = []
    rows: list[Rows] = []
    last_rows: list[LoggedRow] = []
    """The last packed row of each key set and all loose ones, in the order in which they were written."""
    count: int = 0
    """How many rows."""
    is_all: bool = False
    """There was nothing more behind it."""


class JournalFeed:
    """A place in one journal. The paths that its methods take are all segments of it, listed just before."""

    def __init__(self) -> None:
        self.offset = 0
        """Up to where it was read."""
        self.unknown = 0
        """Records that this holter can't read."""
        self._path = ""
        self._base = self._at = 0
        self._stuck_at = -1
        self._chunk_bytes = SMALL_CHUNK_BYTES
        self._schemas: dict[int, Schema] = {}

    def start(self, paths: Sequence[str], offset: int) -> None:
        """Begin with the segment that holds an offset, or with the last one. Raises OSError."""
        self.offset = offset
        for path in reversed(paths):
            self._enter(path)
            if self._base <= offset:
                break

    def read(self, paths: Sequence[str]) -> Fed | None:
        """The next piece; None where nothing whole was added yet. Raises NewerJournal, OSError."""
        if not paths:
            return None
        if not self._path:
            self._enter(paths[0])
        while True:
            later = [path for path in paths if path > self._path]
            fed = self._read_segment(paths, is_closed=bool(later))
            if fed is not None or not later:
                return fed
            self._enter(later[0])

    def read_received(self, offset: int, data: bytes) -> Fed | None:
        """The same from bytes of the journal that are at hand; None where the segments must be read for it."""
        place = self._base + self._at
        if self._at == 0 or place != self.offset or not offset <= place < offset + len(data):
            return None
        data, stretches, end = _whole(data[place - offset :])
        kinds = {stretch.kind for stretch in stretches if stretch.kind >= FIRST_PACKED}
        if not stretches or not kinds <= self._schemas.keys():
            return None
        return self._decode(data, stretches, end=end, paths=(), is_new=False)

    def _enter(self, path: str) -> None:
        self._path, self._at, self._stuck_at = path, 0, -1
        with open(path, "rb") as file:
            data = file.read(HEADER_SIZE)
        try:
            self._base = decode_header(data).base
        except JournalError:
            self._base = self.offset  # born a moment ago, or damaged: then it goes on where the one before ended

    def _read_segment(self, paths: Sequence[str], *, is_closed: bool) -> Fed | None:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # deleted meanwhile
            return None
        try:
            is_new = self._at == 0
            if is_new and not self._pass_header(fd, is_closed=is_closed):
                return None
            data, stretches, end = _read_whole(fd, self._at, self._chunk_bytes)
            is_full = len(data) >= self._chunk_bytes and end > len(data) // 2
            self._chunk_bytes = CHUNK_BYTES if is_full else SMALL_CHUNK_BYTES
            if not stretches:
                data, stretches, end = self._pass_damage(fd, is_closed=is_closed)
            if not stretches:
                if is_new:
                    self._at = 0
                return None
        finally:
            os.close(fd)
        fed = self._decode(data, stretches, end=end, paths=paths, is_new=is_new)
        fed.is_all = not is_closed and not is_full
        return fed

    def _pass_header(self, fd: int, *, is_closed: bool) -> bool:
        data = os.pread(fd, HEADER_SIZE, 0)
        try:
            self._base = decode_header(data).base
        except JournalError as error:
            from holter.errors import NewerJournal

            if isinstance(error, NewerJournal):
                raise
            if not is_closed and not data.strip(b"\0"):
                return False
        self._at = HEADER_SIZE
        return True

    def _pass_damage(self, fd: int, *, is_closed: bool) -> tuple[bytes, list[Stretch], int]:
        """Whole records behind bytes that are none. Of a living writer they may only be on their way: we look twice."""
        size = os.fstat(fd).st_size
        if not is_closed and self._stuck_at != self._at:
            self._stuck_at = self._at
            return b"", [], 0
        data = os.pread(fd, size, 0)
        if is_blank(data, self._at):
            return b"", [], 0
        try:
            frames = [frame for frame in scan(data).frames if frame.at >= self._at]
        except JournalError:
            return b"", [], 0
        if not frames:
            return b"", [], 0
        data = data[self._at :]
        stretches = [_alone(frame, self._at) for frame in frames]
        return data, stretches, frames[-1].stop + TAIL.size - self._at

    def _decode(self, data: bytes, stretches: list[Stretch], *, end: int, paths: Sequence[str], is_new: bool) -> Fed:
        place = self._base + self._at
        stop = place + end
        fed = Fed(min(self.offset, place), stop, is_new)
        loose: list[tuple[int, LoggedRow]] = []
        packed: dict[tuple[int, int], list[Stretch]] = {}
        for stretch in stretches:
            if stretch.kind >= FIRST_PACKED:
                packed.setdefault((stretch.kind, stretch.size), []).append(stretch)
                continue
            for at in range(stretch.at, stretch.at + stretch.repeats * stretch.size, stretch.size):
                self._decode_control(data, Frame(stretch.kind, at, at + stretch.size - TAIL.size), place, fed, loose)
        last = [*loose]
        for (kind, size), found in packed.items():
            self._decode_packed(data, found, place, fed, last, self._schema(kind, size, paths))
        _add_loose(fed, loose)
        fed.count = len(loose) + sum(stretch.repeats for found in packed.values() for stretch in found)
        fed.last_rows = [row for _, row in sorted(last, key=lambda pair: pair[0])]
        self._at += end
        self.offset = stop
        return fed

    def _decode_control(
        self, data: bytes, frame: Frame, place: int, fed: Fed, loose: list[tuple[int, LoggedRow]], /
    ) -> None:
        match decode_control(data, frame):
            case LoggedRow() as row:
                loose.append((place + frame.at, row))
            case Declared() as declared:
                self._schemas[FIRST_PACKED + declared.number] = Schema(declared)
            case None:
                self.unknown += 1
            case record:
                fed.records.append(Said(place + frame.at, record))

    def _schema(self, kind: int, size: int, paths: Sequence[str]) -> Schema | None:
        if kind not in self._schemas:
            self._find_declarations(paths)
        schema = self._schemas.get(kind)
        return schema if schema is not None and schema.layout.size + TAIL.size == size else None

    def _find_declarations(self, paths: Sequence[str]) -> None:
        """A declaration that is damaged stands in other places of the journal again."""
        for path in paths:
            with open(path, "rb") as file:
                data = file.read()
            try:
                frames = scan(data).frames
            except JournalError:
                continue
            for frame in frames:
                if frame.kind == NUMBERS[Declared] and isinstance(found := decode_control(data, frame), Declared):
                    self._schemas.setdefault(FIRST_PACKED + found.number, Schema(found))

    def _decode_packed(
        self,
        data: bytes,
        stretches: list[Stretch],
        place: int,
        fed: Fed,
        last: list[tuple[int, LoggedRow]],
        schema: Schema | None,
        /,
    ) -> None:
        if schema is None:
            self.unknown += sum(stretch.repeats for stretch in stretches)
            return
        places, words = read_packed(data, stretches)
        keys, types = schema.declared.keys, schema.declared.types
        if set(types) <= {"d"}:
            values = words[2:].view(np.float64)
        else:
            columns = [
                line.view(np.float64) if code == "d" else line.view(np.int64).astype(np.float64)
                for code, line in zip(types, words[2:], strict=True)
            ]
            values = np.stack(columns) if columns else np.empty((0, len(places)))
        fed.rows.append(Rows(keys, words[0].view(np.int64), words[1].view(np.int64), places + place, values))
        at = int(places[-1])
        last.append((place + at, LoggedRow(*schema.unpack(data[at : at + schema.layout.size]))))


def _add_loose(fed: Fed, loose: list[tuple[int, LoggedRow]]) -> None:
    """Numbers in rows that were not packed, key by key: such rows may all have different keys."""
    by_key: dict[str, list[tuple[int, int, int, float]]] = {}
    for offset, row in loose:
        for key, value in row.values.items():
            if (number := _as_number(value)) is not None:
                by_key.setdefault(key, []).append((row.step, row.at_ns, offset, number))
    packed = {rows.keys: place for place, rows in enumerate(fed.rows)}
    for key, found in by_key.items():
        steps, times, offsets, values = zip(*found, strict=True)
        rows = Rows(
            (key,),
            np.array(steps, np.int64),
            np.array(times, np.uint64).view(np.int64),
            np.array(offsets, np.int64),
            np.array([values], np.float64),
        )
        if (place := packed.get((key,))) is None:
            fed.rows.append(rows)
        else:
            fed.rows[place] = _joined(fed.rows[place], rows)


def _joined(one: Rows, other: Rows) -> Rows:
    offsets = np.concatenate([one.offsets, other.offsets])
    order = np.argsort(offsets)
    return Rows(
        one.keys,
        np.concatenate([one.steps, other.steps])[order],
        np.concatenate([one.at_ns, other.at_ns])[order],
        offsets[order],
        np.concatenate([one.values, other.values], axis=1)[:, order],
    )


def _as_number(value: object) -> float | None:
    if not isinstance(value, bool | int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None


def _alone(frame: Frame, start: int) -> Stretch:
    return Stretch(frame.kind, frame.at - start, frame.stop + TAIL.size - frame.at, 1)


def _read_whole(fd: int, at: int, count: int, /) -> tuple[bytes, list[Stretch], int]:
    """The next whole records from a place on, not all of them at once, and where they end."""
    return _whole(read_records(fd, at, count))


def _whole(data: bytes) -> tuple[bytes, list[Stretch], int]:
    """The whole records with which bytes begin, and where they end."""
    stretches, end = find_stretches(data, 0)
    if zlib.crc32(memoryview(data)[:end], RESIDUE) == RESIDUE:
        return data, stretches, end
    return _walk(data)


def _walk(data: bytes) -> tuple[bytes, list[Stretch], int]:
    """The whole records up to the first that is not."""
    stretches = []
    at = 0
    while following := is_whole(data, at):
        stretches.append(Stretch(HEAD.unpack_from(data, at)[1], at, following - at, 1))
        at = following
    return data, stretches, at
