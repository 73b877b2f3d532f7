"""Reads the log format of LevelDB, in which W&B keeps a run: records in blocks of 32 KiB, each piece with a checksum.

Behind damage the next block begins anew, so every whole record of a damaged file is found.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

BLOCK = 32 << 10
LARGEST_RECORD = 256 << 20
HEADER = 7
_PIECE = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_SEEDS = [zlib.crc32(bytes([kind])) for kind in range(5)]
BLOCKS_AT_ONCE = 32


class LogFile:
    """One file, read once from its beginning. Holds one record and a few blocks at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.at = 0
        """How many bytes are read."""
        self.damaged = 0
        """How often something could not be read."""
        self.is_torn = False
        """The last record is not all there, as in the file of a process that was killed."""
        self._parts: list[bytes] = []
        self._size = 0
        self._is_inside = False

    def read(self) -> Iterator[bytes]:
        """Every whole record. Raises OSError."""
        with open(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            yield from self._read(file)

    def _read(self, file: BinaryIO) -> Iterator[bytes]:
        start = HEADER
        while data := file.read(BLOCK * BLOCKS_AT_ONCE):
            for begin in range(0, len(data), BLOCK):
                end = min(begin + BLOCK, len(data))
                is_last = end - begin < BLOCK
                yield from self._block(data, begin + start, end, is_last)
                start = 0
            self.at += len(data)
        self.is_torn = self.is_torn or self._is_inside

    def _block(self, data: bytes, at: int, end: int, is_last: bool, /) -> Iterator[bytes]:
        while end - at >= HEADER:
            check, size, kind = _PIECE.unpack_from(data, at)
            at += HEADER
            if not (check or size or kind):
                return  # the rest of a file that was made larger than it became
            body = data[at : at + size]
            if at + size > end or not 1 <= kind <= _LAST or zlib.crc32(body, _SEEDS[kind]) != check:
                self._drop(is_torn=is_last and at + size > end)
                return
            at += size
            record = body if kind == _FULL and not self._is_inside else self._join(body, kind)
            if record is not None:
                yield record

    def _join(self, body: bytes, kind: int) -> bytes | None:
        if kind in (_FULL, _FIRST):
            if self._is_inside:
                self._drop()
            if kind == _FULL:
                return body
            self._parts, self._size, self._is_inside = [body], len(body), True
            return None
        if not self._is_inside:
            return None  # the rest of something whose beginning is damaged
        self._parts.append(body)
        self._size += len(body)
        if self._size > LARGEST_RECORD:
            self._drop()
        elif kind == _LAST:
            record = b"".join(self._parts)
            self._parts, self._is_inside = [], False
            return record
        return None

    def _drop(self, *, is_torn: bool = False) -> None:
        self._parts, self._is_inside = [], False
        if is_torn:
            self.is_torn = True
        else:
            self.damaged += 1
