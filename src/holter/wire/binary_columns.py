"""Columns as bytes: what browsers and numpy read without looking at each number.

A message is a little-endian u32, the length of a JSON head; the head; then the columns, each at a multiple of 8 bytes
from the beginning of the message. The head has an entry for each table with the name, type, place and length of its
columns.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

MEDIA_TYPE = "application/x-holter-columns"
_LENGTH = struct.Struct("<I")
_TYPES = {"f8": "<f8", "i8": "<i8", "u4": "<u4", "u1": "|u1"}


class Column(msgspec.Struct, frozen=True):
    """Where a column lies."""

    name: str
    type: str
    at: int
    count: int


class Table(msgspec.Struct, frozen=True):
    """Columns that belong together, and what they are about."""

    about: dict[str, Any]
    columns: list[Column]


class Head(msgspec.Struct, frozen=True):
    """The first part of a message; places count from the first byte behind it."""

    tables: list[Table]


def encode_tables(tables: Sequence[tuple[Mapping[str, Any], Mapping[str, npt.NDArray[np.generic]]]]) -> bytes:
    """A message with these tables: what each is about, and its columns by name."""
    parts: list[bytes] = []
    described = []
    place = 0
    for about, columns in tables:
        found = []
        for name, column in columns.items():
            kind = column.dtype.kind + str(column.dtype.itemsize)
            data = np.ascontiguousarray(column, _TYPES[kind]).tobytes()
            found.append(Column(name, kind, place, len(column)))
            parts += [data, bytes(-len(data) % 8)]
            place += len(data) + -len(data) % 8
        described.append(Table(dict(about), found))
    head = msgspec.json.encode(Head(described))
    head += b" " * (-(_LENGTH.size + len(head)) % 8)
    return b"".join([_LENGTH.pack(len(head)), head, *parts])


def decode_tables(data: bytes) -> list[tuple[dict[str, Any], dict[str, npt.NDArray[np.generic]]]]:
    """The tables of a message, without a copy of the columns."""
    [length] = _LENGTH.unpack_from(data)
    start = _LENGTH.size + length
    head = msgspec.json.decode(data[_LENGTH.size : start], type=Head)
    return [
        (
            table.about,
            {
                column.name: np.frombuffer(data, _TYPES[column.type], column.count, start + column.at)
                for column in table.columns
            },
        )
        for table in head.tables
    ]
