"""Reads TensorBoard's event files as they are written: one event at a time, from where the last look ended."""

import functools
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from holter.formats.events import Event, EventReader
from holter.formats.protobuf import Malformed

LARGEST_EVENT = 64 << 20
AT_ONCE = 1 << 20
LARGEST_CHECKED = 4096
"""Bytes of an event whose content is compared with its checksum: numbers and short texts. Pictures have their own."""
_HEAD = struct.Struct("<QI")
CRC_POLYNOMIAL = 0x82F63B78


Frame = tuple[int, int]
"""Where an event's content begins, and its size."""
Check = Callable[[bytes, Sequence[Frame]], set[int]]


class EventFile:
    """One file, read on from where it was left. An event that is not all there yet is read the next time.

    `check` finds the damaged ones among several events, as `damaged_of` does.
    """

    def __init__(self, path: str, at: int = 0, *, check: Check | None = None) -> None:
        self.path = path
        self._check = check or damaged_of
        self.trouble = ""
        """Why the rest of the file can't be read: behind damage nobody finds the next event."""
        self.at = at
        self.damaged = 0
        """Events whose content is not what its checksum says; they are left out."""
        self._reader = EventReader()

    def read(self) -> Iterator[Event]:
        """The events that have come since. Raises OSError where the file can't be opened."""
        if self.trouble:
            return
        with open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            file.seek(self.at)
            yield from self._read(file)

    def _read(self, file: BinaryIO) -> Iterator[Event]:
        data = b""
        while True:
            frames, needed = self._frames(data)
            damaged = self._check(data, frames)
            end = 0
            for place, (start, size) in enumerate(frames):
                end = start + size + 4
                self.at += size + 16
                if place in damaged:
                    self.damaged += 1
                    continue
                try:
                    yield from self._reader.read(data[start : start + size])
                except (Malformed, ValueError, OverflowError, struct.error):
                    self.trouble = f"what stands before byte {self.at:,} is no event"
                    return
            if not needed:
                self.trouble = f"it is damaged from byte {self.at:,} on"
                return
            data = data[end:]
            more = file.read(max(AT_ONCE, needed - len(data)))
            if not more:
                return
            data += more

    def _frames(self, data: bytes) -> tuple[list[Frame], int]:
        """The events that are all there, and how many bytes the next one needs; 0 where nobody can tell."""
        frames: list[Frame] = []
        at, end = 0, len(data)
        while end - at >= _HEAD.size:
            size, check = _HEAD.unpack_from(data, at)
            if size > LARGEST_EVENT or check != masked_crc(data[at : at + 8]):
                return frames, 0
            if end - at < size + 16:
                return frames, int(size) + 16
            frames.append((at + 12, int(size)))
            at += size + 16
        return frames, _HEAD.size


def damaged_of(data: bytes, frames: Sequence[Frame]) -> set[int]:
    """The places of those events whose content is not what their checksum says."""
    return {
        place
        for place, (start, size) in enumerate(frames)
        if size <= LARGEST_CHECKED
        and data[start + size : start + size + 4]
        != masked_crc(data[start : start + size], is_rare=True).to_bytes(4, "little")
    }


@functools.cache
def crc_tables() -> tuple[list[int], list[int]]:
    """What becomes of a byte, and of two at once."""
    one = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (CRC_POLYNOMIAL if number & 1 else 0)  # noqa: PLW2901  the usual loop
        one.append(number)
    first = [one[number & 0xFF] ^ number >> 8 for number in range(1 << 16)]
    return one, [one[crc & 0xFF] ^ crc >> 8 for crc in first]


_known: dict[bytes, int] = {}


def crc32c(data: bytes) -> int:
    """The checksum that these files have; some forty nanoseconds a byte."""
    one, two = crc_tables()
    crc = 0xFFFFFFFF
    for pair in struct.unpack_from(f"<{len(data) // 2}H", data):
        crc = two[(crc ^ pair) & 0xFFFF] ^ crc >> 16
    if len(data) % 2:
        crc = one[(crc ^ data[-1]) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc(data: bytes, *, is_rare: bool = False) -> int:
    """The same as it stands in the file; that of a length, which comes again and again, is remembered."""
    found = None if is_rare else _known.get(data)
    if found is None:
        crc = crc32c(data)
        found = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        if not is_rare and len(_known) < 10_000:
            _known[data] = found
    return found
