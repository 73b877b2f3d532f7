"""Writes TensorBoard's event files: numbers and texts, which every TensorBoard reads."""

import struct
from collections.abc import Mapping
from typing import IO

from holter.formats.event_files import masked_crc

VERSION = b"brain.Event:2"
_TEXT_PLUGIN = b"\x0a\x06\x0a\x04text"


def write_start(out: IO[bytes], wall: float) -> None:
    """The event with which a file begins."""
    _write(out, _wall(wall) + _part(3, VERSION))


def write_row(out: IO[bytes], values: Mapping[str, object], step: int, wall: float, /) -> list[str]:
    """One event for all values of a step; returns the names of those that are neither numbers nor texts."""
    parts, left_out = [], []
    for tag, value in values.items():
        name = _part(1, tag.encode("utf-8", "replace"))
        if isinstance(value, bool | int | float):
            parts.append(_part(1, name + b"\x15" + struct.pack("<f", _as_float(value))))
        elif isinstance(value, str):
            tensor = b"\x08\x07\x12\x04\x12\x02\x08\x01" + _part(8, value.encode("utf-8", "replace"))
            parts.append(_part(1, name + _part(9, _TEXT_PLUGIN) + _part(8, tensor)))
        elif value is not None:
            left_out.append(tag)
    if parts:
        _write(out, _wall(wall) + b"\x10" + _varint(step & (1 << 64) - 1) + _part(5, b"".join(parts)))
    return left_out


def _as_float(value: float) -> float:
    """What four bytes hold; a number beyond them is infinite, as numpy has it."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]  # type: ignore[no-any-return]  # a float
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _wall(wall: float) -> bytes:
    return b"\x09" + struct.pack("<d", wall)


def _part(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _write(out: IO[bytes], event: bytes) -> None:
    head = len(event).to_bytes(8, "little")
    out.write(
        head + masked_crc(head).to_bytes(4, "little") + event + masked_crc(event, is_rare=True).to_bytes(4, "little")
    )
