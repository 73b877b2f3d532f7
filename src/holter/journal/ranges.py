"""Reads a journal as one stream of bytes, by offset: as far as it can't change any more, also while it is written."""

import os
import zlib

from holter.errors import JournalError, NewerJournal
from holter.journal.frame import HEAD, HEADER_SIZE, OVERHEAD, RESIDUE, decode_header
from holter.journal.reader import hop, is_whole, next_whole, read_records, scan

CHUNK_BYTES = 256 << 10


class JournalStream:
    """The segments of one journal, one behind the other. Used by one thread.

    A segment that has a successor is given as it lies on the disk, what is missing of it as zeros. Of the last one only
    whole records are given: what is behind them may still be in the making.
    """

    def __init__(self) -> None:
        self._bases: dict[str, int] = {}
        self._last = ""
        self._checked = 0

    def read(self, paths: list[str], offset: int, *, most: int, is_final: bool = False) -> bytes:
        """Up to `most` bytes from an offset on, given all segments in order; none where there is no more yet.

        With `is_final` nobody writes any more: then whole records count also behind space in which nothing was ever
        written. Raises OSError.
        """
        spans = self._spans(paths)
        for place, (base, path) in enumerate(spans):
            is_last = place + 1 == len(spans)
            stop = base + self._end_of(path, is_final=is_final) if is_last else spans[place + 1][0]
            if offset < stop:
                data = _pread(path, max(0, offset - base), min(most, stop - max(offset, base)))
                if offset < base:  # what was before is lost
                    return bytes(min(most, base - offset))
                return data if is_last else data.ljust(min(most, stop - offset), b"\0")
        return b""

    def _spans(self, paths: list[str]) -> list[tuple[int, str]]:
        """Where each segment begins; one that is only being made has no place yet."""
        found: list[tuple[int, str]] = []
        for path in paths:
            if path not in self._bases:
                base = _read_base(path)
                if base is None and path != paths[-1] and found:  # its header is damaged, its records may not be
                    base = found[-1][0] + _size(found[-1][1])
                if base is None:
                    continue
                self._bases[path] = base
            found.append((self._bases[path], path))
        return found

    def _end_of(self, path: str, *, is_final: bool) -> int:
        if path != self._last:
            self._last, self._checked = path, HEADER_SIZE
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # deleted meanwhile; whoever writes it lays down another
            return self._checked
        try:
            if is_final:
                data = os.pread(fd, os.fstat(fd).st_size, 0)
                self._checked = max(self._checked, scan(data).end)
            else:
                self._checked = _whole_end(fd, self._checked)
        except JournalError:
            return self._checked
        finally:
            os.close(fd)
        return self._checked


def _whole_end(fd: int, at: int) -> int:
    """Where the whole records end that lie behind a place; damage is passed where a whole record lies behind it."""
    while True:
        data = read_records(fd, at, CHUNK_BYTES)
        if len(data) < OVERHEAD or data[: HEAD.size] == bytes(HEAD.size):
            return at
        _, end = hop(data, 0)
        if zlib.crc32(memoryview(data)[:end], RESIDUE) != RESIDUE:
            end = 0
            while following := is_whole(data, end):
                end = following
        if not end:
            rest = os.pread(fd, os.fstat(fd).st_size - at, at)
            end = next_whole(rest, 1)
            if end < 0:
                return at
        at += end


def _read_base(path: str) -> int | None:
    try:
        return decode_header(_pread(path, 0, HEADER_SIZE)).base
    except NewerJournal:
        raise
    except JournalError:
        return None


def _pread(path: str, at: int, count: int, /) -> bytes:
    try:
        with open(path, "rb") as file:
            return os.pread(file.fileno(), count, at)
    except FileNotFoundError:
        return b""


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
