"""Reads TensorBoard's events: what a program wrote about a tag at a step."""

import math
import struct
from collections.abc import Callable, Iterator

import msgspec

from holter.formats.protobuf import Malformed, as_bytes, as_double, as_int, as_text, fields, signed
from holter.formats.tensors import read_tensor

MOST_TAGS = 100_000
MOST_PARTS = 512
_WALL = struct.Struct("<d")
_FLOAT = struct.Struct("<f")
_SCALAR = 0x15
"""Field 2 of a value, fixed with four bytes: `simple_value`, which comes last."""
_LARGEST_STEP = 1 << 62


class Picture(msgspec.Struct, frozen=True):
    """An image, encoded as it was written: PNG as a rule, GIF for a film."""

    data: bytes
    width: int = 0
    height: int = 0


class Bars(msgspec.Struct, frozen=True):
    """A histogram: counts between edges, of which there is one more."""

    counts: tuple[float, ...]
    edges: tuple[float, ...]

    def tidied(self) -> "Bars | None":
        """With edges that grow, no empty ends and few enough parts for a run; None where nothing is left of it."""
        counts: list[float] = []
        edges = list(self.edges[:1])
        waiting = 0.0  # of parts without a width
        for count, edge in zip(self.counts, self.edges[1:], strict=True):
            waiting += count
            if math.isfinite(edge) and edge > edges[-1] and (waiting or counts):
                counts.append(waiting)
                edges.append(edge)
                waiting = 0.0
            elif not waiting and not counts and edge > edges[-1]:
                edges[-1] = edge
        while counts and not counts[-1]:
            counts.pop()
            edges.pop()
        if not counts or not math.isfinite(edges[0]) or not all(map(math.isfinite, counts)):
            return None
        counts[-1] += waiting
        wide = -(-len(counts) // MOST_PARTS)
        merged = [sum(counts[at : at + wide]) for at in range(0, len(counts), wide)]
        return Bars(tuple(merged), (*edges[: len(counts) : wide], edges[-1]))


class Unread(msgspec.Struct, frozen=True):
    """Something that has no place in a run."""

    kind: str


Value = float | str | Picture | Bars | Unread


class Event(msgspec.Struct, frozen=True):
    """What a program wrote about one tag at one step."""

    at_ns: int
    step: int
    tag: str
    value: Value


class EventReader:
    """Reads one event after the other; what a tag's later events leave out is known from its first one."""

    def __init__(self) -> None:
        self._scalars: dict[bytes, str] = {}
        self._plugins: dict[str, str] = {}

    def read(self, body: bytes) -> Iterator[Event]:
        """The values of one event. Raises Malformed, or what struct raises."""
        # Nearly every event is one number: those bytes that only say which tag it is are looked up.
        if body[:1] == b"\x09" and body[9:10] == b"\x10":
            step, at = _quick_varint(body)
            tag = self._scalars.get(body[at:-4]) if at and at + 7 < len(body) else None
            if tag is not None:
                number = _FLOAT.unpack_from(body, len(body) - 4)[0]
                yield Event(_ns(_WALL.unpack_from(body, 1)[0]), step, tag, number)
                return
        yield from self._slowly(body)

    def _slowly(self, body: bytes) -> Iterator[Event]:
        wall, step, summary = 0.0, 0, b""
        for number, value in fields(body):
            if number == 1:
                wall = as_double(value)
            elif number == 2:
                step = signed(value)
            elif number == 5:
                summary = as_bytes(value)
        if not -_LARGEST_STEP <= step <= _LARGEST_STEP:
            raise Malformed(f"step {step}")
        values = [as_bytes(value) for number, value in fields(summary) if number == 1]
        for each in values:
            tag, found = self._value(each)
            if found is not None:
                yield Event(_ns(wall), step, tag, found)
        if len(values) == 1 and isinstance(found, float) and len(self._scalars) < MOST_TAGS:
            self._learn(tag, body, summary)

    def _learn(self, tag: str, body: bytes, summary: bytes) -> None:
        """The bytes before the number, where that is the last thing in it, mean this tag from now on."""
        start = len(body) - len(summary) - 2
        if start > 0 and body[-5] == _SCALAR and body[start] == 0x2A and body[start + 1] == len(summary):
            self._scalars[body[start:-4]] = tag

    def _value(self, data: bytes) -> tuple[str, Value | None]:
        parts = dict(fields(data))
        tag = as_text(parts.get(1, b""))
        if 9 in parts and len(self._plugins) < MOST_TAGS:
            self._plugins[tag] = _plugin(as_bytes(parts[9]))  # said with a tag's first value only
        for number, read in _READERS.items():
            if number in parts:
                return tag, read(parts[number])
        if 8 in parts:
            return tag, _of_tensor(as_bytes(parts[8]), self._plugins.get(tag, ""))
        return tag, None


def _quick_varint(body: bytes) -> tuple[int, int]:
    """The step behind the time, and where the next field begins; 0 where it is no short one."""
    value = shift = 0
    for at in range(10, min(15, len(body))):
        byte = body[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
    return 0, 0


def _ns(wall: float) -> int:
    if not math.isfinite(wall) or not 0 <= wall < 9e9:
        raise Malformed(f"the time {wall}")
    return int(wall * 1e9)


def _plugin(metadata: bytes) -> str:
    for number, value in fields(metadata):
        if number == 1:
            return next((as_text(each) for inner, each in fields(as_bytes(value)) if inner == 1), "")
    return ""


def _picture(data: bytes) -> Picture:
    found = dict(fields(data))
    return Picture(as_bytes(found.get(4, b"")), as_int(found.get(2, 0)), as_int(found.get(1, 0)))


def _histogram(data: bytes) -> Bars:
    parts: dict[int, list[float]] = {6: [], 7: []}
    lowest = 0.0
    for number, value in fields(data):
        if number == 1:
            lowest = as_double(value)
        elif number in parts:
            packed = as_bytes(value)
            if len(packed) % 8:
                raise Malformed("half a number in a histogram")
            parts[number] += struct.unpack(f"<{len(packed) // 8}d", packed)
    limits, counts = parts[6], parts[7]
    if len(limits) != len(counts):
        raise Malformed(f"{len(limits)} limits of {len(counts)} counts in a histogram")
    first = min(lowest, limits[0]) if limits else lowest
    return Bars(tuple(counts), (first, *(limit if limit < 1e300 else first for limit in limits)))


def _of_tensor(data: bytes, plugin: str) -> Value:
    tensor = read_tensor(data)
    if plugin == "text" or (not plugin and tensor.texts):
        return "\n".join(each.decode("utf-8", "replace") for each in tensor.texts)
    if plugin == "images" and len(tensor.texts) > 2:
        width, height, *pictures = tensor.texts
        return Picture(pictures[0], int(width or 0), int(height or 0))
    if plugin == "histograms" and len(tensor.numbers) % 3 == 0:
        rows = [tensor.numbers[at : at + 3] for at in range(0, len(tensor.numbers), 3)]
        return Bars(tuple(row[2] for row in rows), (*(row[0] for row in rows), *(row[1] for row in rows[-1:])))
    if plugin in ("scalars", "") and len(tensor.numbers) == 1:
        return tensor.numbers[0]
    return Unread(plugin or "tensor")


_READERS: dict[int, Callable[[int | bytes], Value]] = {
    2: as_double,
    4: lambda value: _picture(as_bytes(value)),
    5: lambda value: _histogram(as_bytes(value)),
    6: lambda _: Unread("audio"),
}
