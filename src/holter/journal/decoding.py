"""Turns the frames of a segment back into records and rows."""

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Any, NamedTuple, Never

import msgspec

from holter.journal.frame import HEAD
from holter.journal.reader import Frame
from holter.journal.rows import CODES, Schema
from holter.model.bounds import Instant, Whole
from holter.model.records import FIRST_PACKED, KINDS, LOOSE_ROW, NUMBERS, Declared, Record


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


class Decoder:
    """Decodes one segment's frames in order; remembers the schemas declared on the way.

    `unknown` counts the records that a newer holter wrote and this one can't read.
    """

    def __init__(self) -> None:
        self.schemas: dict[int, Schema] = {}
        self.unknown = 0

    def decode(self, data: bytes, frame: Frame) -> Record | LoggedRow | None:
        """The record or row of a frame, None where it can't be read."""
        if frame.kind >= FIRST_PACKED:
            return self.row(data, frame)
        decoded = decode_control(data, frame)
        if decoded is None:
            self.unknown += 1
        if isinstance(decoded, Declared):
            self.schemas[decoded.number] = Schema(decoded)
        return decoded

    def row(self, data: bytes, frame: Frame) -> LoggedRow | None:
        """The values of a packed row, None where nobody declared its schema."""
        schema = self.schemas.get(frame.kind - FIRST_PACKED)
        if schema is None or schema.layout.size != frame.stop - frame.at:
            self.unknown += 1
            return None
        return LoggedRow(*schema.unpack(data[frame.at : frame.stop]))

    def decode_all(self, data: bytes, frames: list[Frame]) -> Iterator[Record | LoggedRow]:
        """Everything in order. Declarations are read first: one that is damaged is made good by a later one."""
        for frame in frames:
            if frame.kind == NUMBERS[Declared]:
                self.decode(data, frame)
        self.unknown = 0
        for frame in frames:
            decoded = self.decode(data, frame)
            if decoded is not None:
                yield decoded


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
