"""Turns the frames of a journal back into records and rows."""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple, Never

import msgspec

from holter.journal.frame import HEAD, TAIL
from holter.journal.place import Piece, Place
from holter.journal.reader import Frame, Stretch, scan
from holter.journal.rows import CODES, Schema
from holter.model.bounds import Instant, Whole
from holter.model.record import Record
from holter.model.records import FIRST_PACKED, KINDS, LOOSE_ROW, NUMBERS, Declared


class LoggedRow(NamedTuple):
    """One call of `log()`."""

    step: int
    at_ns: int
    values: dict[str, Any]


def _no_extension(code: int, data: memoryview) -> Never:
    raise ValueError(f"a value of the unknown type {code} in {len(data)} bytes")


_decoders = {number: msgspec.msgpack.Decoder(struct, ext_hook=_no_extension) for number, struct in KINDS.items()}
_loose = msgspec.msgpack.Decoder(tuple[Whole, Instant, dict[str, Any]], ext_hook=_no_extension)
_TREES = {
    number: field.name
    for number, struct in KINDS.items()
    for field in msgspec.structs.fields(struct)
    if field.type == dict[str, Any]
}
"""The field of a record that may hold anything."""
DEEPEST = 100
_BRANCHES = {dict, list}
_LEAVES = {NoneType, bool, int, float, str}
_KNOWN = _LEAVES | _BRANCHES
# What msgspec raises for bytes that are no msgpack, not ours, not text or nested too deeply.
_UNREADABLE = (msgspec.MsgspecError, MemoryError, RecursionError, TypeError, ValueError)


class Told(msgspec.Struct, eq=False):
    """What a piece of a journal says. Places are in its bytes; all of it is in order, but for the key sets."""

    piece: Piece
    records: list[tuple[int, Record]] = []
    loose: list[tuple[int, LoggedRow]] = []
    packed: list[tuple[Schema, list[Stretch]]] = []
    """The rows of each key set."""
    count: int = 0
    """How many rows, also of those that can't be read."""
    unknown: int = 0
    """Records and rows that this holter can't read, or that nobody has declared so far."""

    def rows(self, most: int | None = None) -> Iterator[tuple[int, LoggedRow]]:
        """All rows in the order in which they were written, or the last so many of them."""
        found: list[tuple[int, LoggedRow | Schema]] = [*self.loose]
        for schema, stretches in self.packed:
            found += [(frame.at, schema) for stretch in stretches for frame in stretch.frames()]
        found.sort(key=lambda pair: pair[0])
        start = 0 if most is None else max(0, len(found) - most)
        return ((at, self._row(at, row)) for at, row in found[start:])

    def last_rows(self) -> list[LoggedRow]:
        """The last packed row of each key set and all loose ones, in the order in which they were written."""
        last: list[tuple[int, LoggedRow]] = [*self.loose]
        for schema, stretches in self.packed:
            _, at, size, repeats = stretches[-1]
            at += (repeats - 1) * size
            last.append((at, self._row(at, schema)))
        return [row for _, row in sorted(last, key=lambda pair: pair[0])]

    def highest_step(self) -> int | None:
        """Of all rows that can be read."""
        highest = [row.step for _, row in self.loose]
        for _, stretches in self.packed:
            each = struct.Struct(f"<{HEAD.size}xq{stretches[0].size - HEAD.size - 8}x")
            for _, at, size, repeats in stretches:
                if repeats == 1:
                    highest += each.unpack_from(self.piece.data, at)
                else:
                    rows = memoryview(self.piece.data)[at : at + repeats * size]
                    highest.append(max(each.iter_unpack(rows))[0])
        return max(highest, default=None)

    def _row(self, at: int, row: LoggedRow | Schema) -> LoggedRow:
        if isinstance(row, LoggedRow):
            return row
        return LoggedRow(*row.unpack(self.piece.data[at : at + row.layout.size]))


class Decoder:
    """Decodes the pieces of one journal; remembers the schemas that were declared.

    Args:
        find_segments: the paths of all segments, for a row whose declaration was damaged: it stands there again.
    """

    def __init__(self, find_segments: Callable[[], Sequence[str]] = lambda: ()) -> None:
        self._schemas: dict[int, Schema] = {}
        self._find_segments = find_segments
        self._sought: set[int] = set()

    def tell(self, piece: Piece) -> Told:
        """All that a piece says. Raises NewerJournal, OSError."""
        told = Told(piece)
        packed: dict[tuple[int, int], list[Stretch]] = {}
        for stretch in piece.stretches:
            if stretch.kind >= FIRST_PACKED:
                packed.setdefault((stretch.kind, stretch.size), []).append(stretch)
            else:
                self._tell_control(stretch, told)
        for (kind, size), stretches in packed.items():
            schema = self._schemas.get(kind) or self._find_schema(kind)
            count = sum(stretch.repeats for stretch in stretches)
            told.count += count
            if schema is not None and schema.layout.size + TAIL.size == size:
                told.packed.append((schema, stretches))
            else:
                told.unknown += count
        return told

    def decode(self, data: bytes, frame: Frame) -> Record | LoggedRow | None:
        """What a frame of msgpack says, None where it can't be read."""
        decoded = decode_control(data, frame)
        if isinstance(decoded, Declared):
            self._schemas[FIRST_PACKED + decoded.number] = Schema(decoded)
        return decoded

    def _tell_control(self, stretch: Stretch, told: Told) -> None:
        told.count += stretch.repeats if stretch.kind == LOOSE_ROW else 0
        for frame in stretch.frames():
            decoded = self.decode(told.piece.data, frame)
            if decoded is None:
                told.unknown += 1
            elif isinstance(decoded, LoggedRow):
                told.loose.append((frame.at, decoded))
            else:
                told.records.append((frame.at, decoded))

    def _find_schema(self, kind: int) -> Schema | None:
        """Look for a declaration once: one that comes later is met."""
        if kind not in self._sought:
            self._sought.add(kind)
            for piece in Place().pieces(self._find_segments(), is_final=True):
                for stretch in piece.stretches:
                    for frame in stretch.frames() if stretch.kind == NUMBERS[Declared] else ():
                        self.decode(piece.data, frame)
                if kind in self._schemas:
                    break
        return self._schemas.get(kind)


def tell_segment(data: bytes, *, find_segments: Callable[[], Sequence[str]] = lambda: ()) -> Told:
    """What the bytes of one segment say, or of its beginning. Raises what `scan` raises."""
    scanned = scan(data)
    base = scanned.header.base if scanned.header else 0
    return Decoder(find_segments).tell(Piece(data, scanned.stretches, base, base, base + scanned.end, True, True))


def decode_control(data: bytes, frame: Frame) -> Record | LoggedRow | None:
    """What a frame of msgpack says, None where it can't be read."""
    payload = memoryview(data)[frame.at + HEAD.size : frame.stop]
    try:
        if frame.kind == LOOSE_ROW:
            row = LoggedRow(*_loose.decode(payload))
            return row if _is_plain(row.values) else None
        record = _decoders[frame.kind].decode(payload) if frame.kind in _decoders else None
    except _UNREADABLE:
        return None
    if isinstance(record, Declared):
        return record if _is_known_layout(record) else None
    tree = getattr(record, _TREES.get(frame.kind, ""), None)
    return record if tree is None or _is_plain(tree) else None


def _is_plain(tree: Mapping[Any, Any]) -> bool:
    """Whether people, and JSON, can be told of it: names are texts, and it is not nested without end."""
    if _LEAVES.issuperset(map(type, tree.values())):  # as nearly all rows; the names of the first level are texts
        return True
    level: list[Any] = [tree]
    for _ in range(DEEPEST):
        inner = []
        for branch in level:
            if type(branch) is dict and not {str}.issuperset(map(type, branch)):
                return False
            values = branch.values() if type(branch) is dict else branch
            kinds = set(map(type, values))
            if not kinds <= _KNOWN:
                return False
            if kinds & _BRANCHES:
                inner += [each for each in values if type(each) in _BRANCHES]
        if not inner:
            return True
        level = inner
    return False


def _is_known_layout(declared: Declared) -> bool:
    return len(declared.keys) == len(declared.types) and set(declared.types) <= set(CODES.values())
