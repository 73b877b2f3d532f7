"""A place in a journal that reads on: whole records, piece by piece over all segments, also while they are written.

Every reader that comes back for more stands on it. Each sees the same, however a journal is torn, damaged or cut:

- A record that is not whole, with nothing behind it, is still to come.
- One with a whole record behind it is damage, and passed: at once in a segment that has a successor, and else at the
  second look at it, or at the sixteenth where nothing but zeros is there. A file that somebody writes to can't be read
  in one moment, so what is passed has been looked at again after what lies behind it.
- A damaged header costs its base only: the segment begins where the file before it ends.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holter.errors import JournalError, NewerJournal
from holter.journal.frame import (
    HEAD,
    HEADER_SIZE,
    LARGEST_RECORD,
    OVERHEAD,
    SYNC,
    SYNC_BYTES,
    decode_header,
)
from holter.journal.reader import Stretch, is_whole, whole

# A journal that grows slowly is read in small pieces: most of an open segment is reserved space.
SMALL_BYTES, LARGE_BYTES = 64 << 10, 256 << 10
WINDOW_BYTES = 256 << 10
# The end of a living journal is as a rule in reserved space, which is long.
LOOKS, LOOKS_AT_ZEROS = 2, 16


class Piece(NamedTuple):
    """Whole records of a journal, side by side. `offset` is where in the journal `data` begins."""

    data: bytes
    stretches: list[Stretch]
    offset: int
    start: int
    """Where the piece before ended, or less: what is between is damaged, lost, or comes again."""
    stop: int
    """Where the last of its records ends."""
    is_new_segment: bool = False
    """Whether it begins with what the earlier segments add up to."""
    is_all: bool = False
    """Whether there was nothing more behind it."""


class Place:
    """Where somebody is in one journal. Used by one thread; holds no file open, and a record in memory at most.

    The paths that its methods take are all segments of that journal, listed just before.
    """

    def __init__(self, *, most_bytes: int = LARGE_BYTES) -> None:
        self.offset = 0
        """Up to where it was read."""
        self._path = ""
        self._base = self._at = 0
        self._is_new = True
        self._looks = (0, 0)
        self._most_bytes = most_bytes
        self._chunk_bytes = SMALL_BYTES

    def start(self, paths: Sequence[str], offset: int | None = None) -> None:
        """Begin with the segment that holds an offset, or with the last one. Raises NewerJournal, OSError."""
        self.offset = offset or 0
        for path in reversed(paths):
            base = read_base(path)
            if base is not None and (offset is None or base <= offset):
                self._path, self._base, self._at = path, base, HEADER_SIZE
                return

    def pieces(self, paths: Sequence[str], *, is_final: bool = False) -> Iterator[Piece]:
        """All that is there now; see `read`."""
        while (piece := self.read(paths, is_final=is_final)) is not None:
            yield piece
            if piece.is_all:
                return

    def read(self, paths: Sequence[str], *, is_final: bool = False) -> Piece | None:
        """The next piece; None where nothing whole was added yet. Raises NewerJournal, OSError.

        With `is_final` nobody writes any more, or whoever asks does not come back: all damage is passed at once.
        """
        while paths:
            following = bisect_right(paths, self._path)
            later = paths[following] if following < len(paths) else ""
            piece = self._read_segment(is_last=not later, is_final=is_final) if self._path else None
            if piece is not None or not later:
                return piece
            self._enter(later)
        return None

    def take(self, offset: int, data: bytes) -> Piece | None:
        """The same from bytes of the journal that are at hand; None where the segments must be read for it."""
        here = self._base + self._at
        if self._at == 0 or here != self.offset or not offset <= here < offset + len(data):
            return None
        data = data[here - offset :]
        stretches, end = whole(data)
        return self._advance(data, stretches, end=end) if stretches else None

    def _enter(self, path: str) -> None:
        if self._path:
            self._base += size_of(self._path)
        self._path, self._at, self._is_new = path, 0, True

    def _read_segment(self, *, is_last: bool, is_final: bool) -> Piece | None:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # deleted meanwhile; whoever writes it lays down another
            return None
        try:
            data, stretches, end = self._read_whole(fd)
            if not stretches:
                data, stretches, end = self._pass_damage(fd, data, is_closed=is_final or not is_last)
        finally:
            os.close(fd)
        if not stretches:
            return None
        is_end = end == len(data) < self._chunk_bytes
        is_before_zeros = not is_final and data.startswith(bytes(HEAD.size), end)
        is_full = len(data) >= self._chunk_bytes and end > len(data) // 2
        self._chunk_bytes = self._most_bytes if is_full else SMALL_BYTES
        return self._advance(data, stretches, end=end, is_all=is_last and (is_end or is_before_zeros))

    def _read_whole(self, fd: int) -> tuple[bytes, list[Stretch], int]:
        if self._at == 0:
            header = os.pread(fd, HEADER_SIZE, 0)
            try:
                self._base = decode_header(header).base
            except NewerJournal:
                raise
            except JournalError:
                return header, [], 0
            self._at = HEADER_SIZE
        data = _read_records(fd, self._at, self._chunk_bytes)
        return data, *whole(data)

    def _pass_damage(self, fd: int, data: bytes, *, is_closed: bool) -> tuple[bytes, list[Stretch], int]:
        """The whole records behind bytes that are none, given these; none where it is not time to call them damaged."""
        at, looks = self._looks
        looks = looks + 1 if at == self._at else 1
        self._looks = (self._at, looks)
        most = LOOKS_AT_ZEROS if data.startswith(bytes(HEAD.size)) else LOOKS
        # Again and again, but ever less often: a search goes through all that is reserved.
        is_time = is_closed or (looks >= most and not looks & (looks - 1))
        found = _find_whole(fd, self._at + 1) if data and is_time else -1
        if found < 0:
            return b"", [], 0
        data, stretches, end = self._read_whole(fd)
        if not stretches:
            self._at = found
            data, stretches, end = self._read_whole(fd)
        return data, stretches, end

    def _advance(self, data: bytes, stretches: list[Stretch], *, end: int, is_all: bool = False) -> Piece:
        here, is_new = self._base + self._at, self._is_new
        piece = Piece(data, stretches, here, min(self.offset, here), here + end, is_new, is_all)
        self._at += end
        self.offset, self._is_new = piece.stop, False
        return piece


def read_base(path: str) -> int | None:
    """The offset at which a segment begins; None where its header is damaged, or only being made.

    Raises NewerJournal, OSError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return decode_header(os.pread(fd, HEADER_SIZE, 0)).base
    except NewerJournal:
        raise
    except JournalError:
        return None
    finally:
        os.close(fd)


def _read_records(fd: int, at: int, count: int, /) -> bytes:
    """So many bytes from a place on, or as many as the record there has."""
    data = os.pread(fd, count, at)
    if len(data) >= HEAD.size:
        sync, _, length = HEAD.unpack_from(data)
        if sync == SYNC and len(data) < OVERHEAD + length <= LARGEST_RECORD:
            return os.pread(fd, OVERHEAD + length, at)
    return data


def _find_whole(fd: int, at: int) -> int:
    """Where the next whole record begins, from a place on; -1 where there is none."""
    while len(data := os.pread(fd, WINDOW_BYTES, at)) >= OVERHEAD:
        mark = -1
        # Reserved space is passed a hundred times faster by looking for one byte.
        while SYNC_BYTES[1:] in data and (mark := data.find(SYNC_BYTES, mark + 1)) >= 0:
            if is_whole(_read_records(fd, at + mark, OVERHEAD), 0):
                return at + mark
        at += len(data) - 1  # a mark may lie across the edge
    return -1


def size_of(path: str) -> int:
    """The bytes of a file; none where it is gone. Raises OSError."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
