"""Keeps what a program printed: every byte in order, bounded to the beginning and the end."""

import contextlib
import os
import threading
from collections.abc import Callable

from holter.console.files import MARK, Piece, lines_before, list_transcripts, piece_of, write_lines_before
from holter.model.clock import Clock

Chunk = bytes | bytearray | memoryview

MARK_EVERY_NS = 10_000_000
# The beginning is one piece of half the limit; the end is eight pieces, of which the oldest makes room for a new one.
PIECES_OF_END = 8
# An index never takes more than a quarter of its piece's room, however often the streams alternate.
BYTES_PER_MARK = 4 * MARK.size
# A line is not divided between two pieces, unless it is longer than this.
MOST_LINE = 4 << 10
COUNTED_BYTES = 256 << 10


class TranscriptWriter:
    """Appends to one transcript with plain writes, so that what is kept outlives this process. Thread-safe.

    Never raises: what the disk does not take is counted, and the next mark in the index says so. One process writes a
    transcript at a time; another that takes it over calls `reopen` first. Not fork-safe: a child makes its own.
    """

    def __init__(self, directory: str, name: str, *, limit_bytes: int, clock: Clock) -> None:
        self.name = name
        self.missed = 0
        """Bytes that the disk did not take since the last mark."""
        self._directory = directory
        self._head_bytes = max(limit_bytes // 2, 1)
        self._piece_bytes = max(limit_bytes // 2 // PIECES_OF_END, 1)
        self._clock = clock
        self._lock = threading.RLock()  # a signal handler may print while this thread appends
        self._fd = self._index_fd = -1
        self._base = self._size = self._marks = 0
        self._stream = self._marked_ns = 0

    @property
    def end(self) -> int:
        """How many bytes it has had; what comes next begins here."""
        return self._base + self._size

    @property
    def _room(self) -> int:
        return self._piece_bytes if self._base else self._head_bytes

    def append(self, data: Chunk, stream: int, *, may_write: Callable[[], bool] | None = None) -> None:
        """Keep these bytes, unless `may_write` says at the last moment that another process has done so."""
        with self._lock:
            rest = memoryview(data)
            try:
                while rest:
                    if self._fd < 0:
                        self.reopen()
                    if self._size >= self._room:
                        self._begin_piece()
                    now_ns = self._clock.now_ns()
                    if stream != self._stream or now_ns - self._marked_ns >= MARK_EVERY_NS:
                        self._mark(now_ns, stream)
                    if may_write is not None and not may_write():
                        return
                    written = os.write(self._fd, rest[: self._fitting(rest)])
                    self._size += written
                    rest = rest[written:]  # a full disk takes a part of it, and refuses what is left
            except OSError:
                self._miss(len(rest))

    def skip(self, count: int) -> None:
        """Leave out so many bytes: what follows begins another piece."""
        with self._lock:
            try:
                self._size += count
                self._begin_piece()
            except OSError:
                self._miss(count)

    def reopen(self) -> None:
        """Go on where whoever wrote last stopped. Raises OSError."""
        with self._lock:
            pieces = list_transcripts(self._directory).get(self.name)
            self._open(pieces[-1] if pieces else piece_of(self._directory, self.name, base=0))

    def close(self) -> None:
        """Idempotent; another `append` opens it again."""
        with self._lock:
            for fd in (self._fd, self._index_fd):
                if fd >= 0:
                    os.close(fd)
            self._fd = self._index_fd = -1

    def _fitting(self, data: memoryview) -> int:
        """How many of these bytes belong into this piece: a little more than fit, where that makes a line whole."""
        room = self._room - self._size
        if len(data) <= room:
            return len(data)
        return room + max(0, bytes(data[room - 1 : room + MOST_LINE]).find(b"\n"))

    def _miss(self, count: int) -> None:
        self.missed += count
        self._stream = 0  # a mark comes with the next bytes that are kept

    def _mark(self, now_ns: int, stream: int) -> None:
        if self._marks * BYTES_PER_MARK > self._room and not self.missed:
            return
        os.write(self._index_fd, MARK.pack(self._size, now_ns, stream, min(self.missed, 0xFFFFFFFF)))
        self._marks += 1
        self._stream, self._marked_ns, self.missed = stream, now_ns, 0

    def _begin_piece(self) -> None:
        ended = list_transcripts(self._directory)[self.name][-1]
        lines = _lines_after(ended, self.end)
        self._open(piece_of(self._directory, self.name, base=self.end))
        if lines is not None and not self._marks:
            write_lines_before(self._index_fd, lines)
        pieces = list_transcripts(self._directory)[self.name]
        for piece in pieces[1:-PIECES_OF_END]:
            for path in (piece.path, piece.index_path):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)

    def _open(self, piece: Piece) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(piece.path, flags, 0o600)
        try:
            index_fd = os.open(piece.index_path, flags, 0o600)
        except OSError:
            os.close(fd)
            raise
        self.close()
        self._fd, self._index_fd = fd, index_fd
        self._base, self._size = piece.base, os.fstat(fd).st_size
        self._marks = os.fstat(index_fd).st_size // MARK.size
        self._stream = self._marked_ns = 0


def _lines_after(piece: Piece, end: int) -> int | None:
    """How many lines were printed up to the end of a piece; None where nobody can tell. Raises OSError."""
    count = lines_before(piece)
    if count is None:
        return None
    size = 0
    with open(piece.path, "rb") as file:
        while data := file.read(COUNTED_BYTES):
            count += data.count(b"\n")
            size += len(data)
    return count if piece.base + size == end else None
