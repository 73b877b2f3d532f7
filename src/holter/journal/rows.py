"""Turns rows into frames: packed columns for a key set that repeats, msgpack for the rest."""

import struct
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from holter.errors import NotKept
from holter.journal.frame import ROW, SYNC, encode_body, encode_record
from holter.model.bounds import LAST_NS
from holter.model.records import FIRST_PACKED, LOOSE_ROW, Declared

# Booleans stay loose: struct packs any value as one, so a number that follows would be lost without a word.
CODES: dict[type, str] = {float: "d", int: "q"}
MOST_SCHEMAS = 256
MOST_SCHEMA_BYTES = 1 << 20
MOST_REMEMBERED = 1024
# Of the keys that never come packed, the last values of the newest are carried on: about so many bytes of them.
MOST_LAST_BYTES = 8 << 20
# Every 1,024 rows the schema is said again, so that damage to one declaration does not cost all rows behind it.
REDECLARE_MASK = 1023

_encode = msgspec.msgpack.Encoder().encode


class Schema:
    """A key set with its value types: how to pack such a row, and the last one that was."""

    __slots__ = ("declared", "kind", "last", "layout", "length", "pack", "rows")

    def __init__(self, declared: Declared) -> None:
        self.declared = declared
        self.layout = struct.Struct(ROW.format + declared.types)
        self.pack = self.layout.pack
        self.kind = FIRST_PACKED + declared.number
        self.length = self.layout.size - 8
        self.last = b""
        self.rows = 0

    def unpack(self, body: bytes) -> tuple[int, int, dict[str, Any]]:
        """Step, time and values of a packed body."""
        _, _, _, step, at_ns, *values = self.layout.unpack_from(body)
        return step, min(at_ns, LAST_NS), dict(zip(self.declared.keys, values, strict=True))


class RowEncoder:
    """Knows the key sets of one journal and keeps its running totals; the caller holds the journal's lock.

    A column that was declared as float takes any number that comes later; one declared as integer is declared
    anew when a float comes.
    """

    def __init__(self, append: Callable[[bytes], None]) -> None:
        self._append = append
        self._schemas: dict[tuple[str, ...], Schema] = {}
        self._all: list[Schema] = []
        # Taken in one step, so that a row from inside `append` (signal handler, `__del__`) can't get the same number.
        self._free_numbers = deque(range(MOST_SCHEMAS))
        # Hashes: a thousand key sets of a hundred thousand keys each would be dear to remember.
        self._met: set[int] = set()
        self._schema_bytes = 0
        self._loose_rows = 0
        self._loose_last: dict[str, tuple[int, Any]] = {}
        self._loose_bytes = 0
        self._loose_at = (0, 0)

    def append_packed(self, data: Mapping[str, Any], step: int, at_ns: int, /) -> bool:
        """Append a row whose key set is known, else return False. The whole of the fast path.

        Takes whatever struct packs as a number: numpy's scalars and zero-dimensional tensors too. Raises struct.error,
        or what a user's `__float__` raises, where a value is not a number; nothing is written then.
        """
        schema = self._schemas.get((*data,))
        if schema is None:
            return False
        body = schema.pack(SYNC, schema.kind, schema.length, step, at_ns, *data.values())
        self._append(body)
        schema.last = body
        schema.rows += 1
        if not schema.rows & REDECLARE_MASK:
            self._append(encode_record(schema.declared))
        return True

    def append(self, row: dict[str, Any], step: int, at_ns: int, /) -> None:
        """Append a row of plain values (what msgpack knows)."""
        if not (self._declare(row) and self.append_packed(row, step, at_ns)):
            body = encode_body(LOOSE_ROW, _encode((step, at_ns, row)))
            self._append(body)
            self._loose_rows += 1
            self._loose_at = (at_ns, step)
            self._loose_last.update((key, (at_ns, value)) for key, value in row.items())
            self._loose_bytes += len(body)
            if self._loose_bytes > MOST_LAST_BYTES:
                self._forget_oldest()

    def declarations(self) -> Iterator[bytes]:
        """The bodies that a new segment needs before it can hold packed rows."""
        return (encode_record(schema.declared) for schema in self._all)

    @property
    def rows(self) -> int:
        """How many rows were appended."""
        return self._loose_rows + sum(schema.rows for schema in self._all)

    @property
    def last_row(self) -> tuple[int, int] | None:
        """Time and step of the newest row."""
        packed = [schema.unpack(schema.last)[:2] for schema in self._all if schema.last]
        newest = max([(at_ns, step) for step, at_ns in packed], default=(0, 0))
        newest = max(newest, self._loose_at)
        return newest if newest[0] else None

    def last_values(self) -> dict[str, Any]:
        """The last value of every key; of very many that came loose, the newest ones."""
        last = dict(self._loose_last)
        for schema in self._all:
            if schema.last:
                _, at_ns, values = schema.unpack(schema.last)
                for key, value in values.items():
                    if key not in last or last[key][0] <= at_ns:
                        last[key] = (at_ns, value)
        return {key: value for key, (_, value) in last.items()}

    def start_from(self, last: dict[str, Any]) -> None:
        """Continue from what an earlier attempt left."""
        self._loose_last = {key: (0, value) for key, value in last.items()}

    def start_at(self, at_ns: int, step: int) -> None:
        """The newest row is one of an earlier attempt, until there is one here."""
        self._loose_at = (at_ns, step)

    def _declare(self, row: dict[str, Any]) -> bool:
        """Declare the row's key set if it was met before; False where the row is to stay loose."""
        keys = (*row,)
        types = self._types(keys, row)
        if not types:
            return False
        known = self._schemas.get(keys)
        if known is not None and known.declared.types == types:
            return _fits(row)
        if known is None and hash(keys) not in self._met:
            if len(self._met) >= MOST_REMEMBERED:
                self._met.clear()
            self._met.add(hash(keys))
            return False
        return _fits(row) and self._add(keys, types)

    def _types(self, keys: tuple[str, ...], row: dict[str, Any]) -> str:
        """A code for each column, empty where a value can't be packed."""
        codes = [CODES.get(type(value), "") for value in row.values()]
        if not all(codes) or not codes:
            return ""
        if (known := self._schemas.get(keys)) is not None:
            codes = ["d" if "d" in pair else "q" for pair in zip(codes, known.declared.types, strict=True)]
        return "".join(codes)

    def _add(self, keys: tuple[str, ...], types: str) -> bool:
        """Declare a schema; False where there are too many already."""
        size = len(_encode(keys))
        if not self._free_numbers or self._schema_bytes + size > MOST_SCHEMA_BYTES:
            return False
        schema = Schema(Declared(at_ns=0, number=self._free_numbers.popleft(), keys=keys, types=types))
        try:
            self._append(encode_record(schema.declared))
        except NotKept:
            self._free_numbers.appendleft(schema.declared.number)
            raise
        # Only what is in the file is known. A segment that the next append opens declares it again.
        self._schema_bytes += size
        self._all.append(schema)
        self._schemas[keys] = schema
        return True

    def _forget_oldest(self) -> None:
        """Keep the newest half of the loose values that we may keep."""
        newest = sorted(self._loose_last.items(), key=lambda item: item[1][0], reverse=True)
        self._loose_last, self._loose_bytes = {}, 0
        for key, (at_ns, value) in newest:
            self._loose_bytes += len(_encode((key, value)))
            if self._loose_bytes > MOST_LAST_BYTES // 2:
                break
            self._loose_last[key] = (at_ns, value)


def _fits(row: dict[str, Any]) -> bool:
    return all(-(1 << 63) <= value < 1 << 63 for value in row.values() if type(value) is int)
