"""Reads TensorFlow's TensorProto: numbers of the usual types, and texts."""

import struct

import msgspec

from holter.formats.protobuf import Malformed, as_bytes, as_double, as_int, fields, signed, varint

MOST_NUMBERS = 1 << 20
_FORMATS = {1: "f", 2: "d", 3: "i", 4: "B", 5: "h", 6: "b", 9: "q", 10: "?", 17: "H", 19: "e", 22: "I", 23: "Q"}
_TEXT = 7


class Tensor(msgspec.Struct, frozen=True):
    """Its values in a row; one of `numbers` and `texts` is empty."""

    numbers: tuple[float, ...] = ()
    texts: tuple[bytes, ...] = ()
    shape: tuple[int, ...] = ()


def read_tensor(data: bytes) -> Tensor:
    """Raises Malformed; a type that is none of the usual ones has no values."""
    kind, content = 0, b""
    shape: tuple[int, ...] = ()
    numbers: list[float] = []
    texts: list[bytes] = []
    for number, value in fields(data):
        if number == 1:
            kind = as_int(value)
        elif number == 2:
            shape = _shape(as_bytes(value))
        elif number == 4:
            content = as_bytes(value)
        elif number in (5, 6):
            numbers += _fixed(value, "f" if number == 5 else "d")
        elif number in (7, 10):
            numbers += _whole(value)
        elif number == 8:
            texts.append(as_bytes(value))
        if len(numbers) > MOST_NUMBERS:
            raise Malformed(f"a tensor of more than {MOST_NUMBERS:,} numbers")
    if content and kind in _FORMATS:
        numbers = list(map(float, _unpacked(content, _FORMATS[kind])))
    return Tensor(tuple(numbers), tuple(texts) if kind == _TEXT else (), shape)


def _shape(data: bytes) -> tuple[int, ...]:
    dims = [dict(fields(as_bytes(value))) for number, value in fields(data) if number == 2]
    return tuple(signed(dim.get(1, 0)) for dim in dims)


def _fixed(value: int | bytes, code: str) -> list[float]:
    data = as_bytes(value)
    return [as_double(data)] if len(data) == struct.calcsize(code) else list(_unpacked(data, code))


def _whole(value: int | bytes) -> list[float]:
    if isinstance(value, int):
        return [float(signed(value))]
    numbers, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(float(signed(number)))
    return numbers


def _unpacked(data: bytes, code: str) -> tuple[float, ...]:
    size = struct.calcsize(code)
    if len(data) % size or len(data) // size > MOST_NUMBERS:
        raise Malformed(f"a tensor of {len(data):,} bytes")
    return struct.unpack(f"<{len(data) // size}{code}", data)
