"""Reads protobuf messages field by field, without their descriptions."""

import struct
from collections.abc import Iterator

Field = tuple[int, int | bytes]
"""Number and value: a whole number, the eight or four bytes of a fixed one, or the bytes of anything longer."""


class Malformed(ValueError):
    """The bytes are no protobuf message."""


def fields(data: bytes) -> Iterator[Field]:
    """Each field in the order in which it stands. Raises Malformed; costs no more than the bytes that are there."""
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise Malformed(f"a field of kind {kind} at byte {at}")
        if at + size > end:
            raise Malformed(f"a field of {size:,} bytes at byte {at} goes beyond the end")
        yield tag >> 3, data[at : at + size]
        at += size


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A whole number of at most 64 bits, and where the next field begins. Raises Malformed."""
    try:
        byte = data[at]
        if byte < 0x80:
            return byte, at + 1
        value = shift = 0
        while byte >= 0x80 and shift < 63:
            value |= (byte & 0x7F) << shift
            shift, at = shift + 7, at + 1
            byte = data[at]
    except IndexError:
        raise Malformed("a number goes beyond the end") from None
    return (value | byte << shift) & (1 << 64) - 1, at + 1


def signed(value: int | bytes) -> int:
    """A varint as int64 has it."""
    number = as_int(value)
    return number - (1 << 64) if number >> 63 else number


def as_int(value: int | bytes) -> int:
    """A whole number. Raises Malformed where something else stands."""
    if not isinstance(value, int):
        raise Malformed("bytes where a number should be")
    return value


def as_bytes(value: int | bytes) -> bytes:
    """Bytes or a message. Raises Malformed where a number stands."""
    if isinstance(value, int):
        raise Malformed("a number where bytes should be")
    return value


def as_text(value: int | bytes) -> str:
    """Text; what is no UTF-8 is replaced."""
    return as_bytes(value).decode("utf-8", "replace")


def as_double(value: int | bytes) -> float:
    """A fixed number of eight or four bytes. Raises Malformed."""
    data = as_bytes(value)
    if len(data) == 8:
        return float(struct.unpack("<d", data)[0])
    if len(data) == 4:
        return float(struct.unpack("<f", data)[0])
    raise Malformed(f"{len(data)} bytes where a number should be")
