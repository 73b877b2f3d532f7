"""RowBinary, ClickHouse's plainest format: rows one after the other, numbers as they lie in memory. Pure."""

import re
import struct
from collections.abc import Iterable, Sequence
from typing import Any

_IS_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*").fullmatch
_NUMBERS = {"q": struct.Struct("<q"), "Q": struct.Struct("<Q"), "B": struct.Struct("<B")}


def literal(text: str) -> str:
    """A text as SQL has it, whatever is in it."""
    if _IS_PLAIN(text):
        return f"'{text}'"
    return "'" + "".join(f"\\x{byte:02x}" for byte in to_bytes(text)) + "'"


def literals(texts: Iterable[str]) -> str:
    """Several, with commas between them."""
    return ", ".join(map(literal, texts))


def to_bytes(text: str) -> bytes:
    """Columns of text hold any bytes."""
    return text.encode("utf-8", "surrogatepass")


def pack_text(data: bytes) -> bytes:
    """Bytes with their length before them."""
    size, head = len(data), bytearray()
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    head.append(size)
    return bytes(head) + data


def pack_rows(kinds: str, rows: Iterable[Sequence[Any]]) -> bytes:
    """Rows of texts (`s`), bytes (`b`), bytes of a known length (`f`), and numbers as `struct` calls them."""
    return b"".join([_packed(kind, value) for row in rows for kind, value in zip(kinds, row, strict=True)])


def unpack_rows(kinds: str, data: bytes) -> list[tuple[Any, ...]]:
    """The rows again. Bytes of a known length can't be among them."""
    rows, place, size = [], 0, len(data)
    while place < size:
        row: list[Any] = []
        for kind in kinds:
            if number := _NUMBERS.get(kind):
                row.append(number.unpack_from(data, place)[0])
                place += number.size
                continue
            length, place = _length(data, place)
            found = data[place : place + length]
            row.append(found if kind == "b" else found.decode("utf-8", "surrogatepass"))
            place += length
        rows.append(tuple(row))
    return rows


def _packed(kind: str, value: Any) -> bytes:
    match kind:
        case "s":
            return pack_text(to_bytes(value))
        case "b":
            return pack_text(value)
        case "f":
            return bytes(value)
        case _:
            return _NUMBERS[kind].pack(value)


def _length(data: bytes, place: int) -> tuple[int, int]:
    length = shift = 0
    while True:
        byte = data[place]
        place += 1
        length |= (byte & 127) << shift
        if byte < 128:
            return length, place
        shift += 7
