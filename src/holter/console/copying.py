"""Copies what a program prints into a regular file on to a transcript."""

import os
from collections.abc import Callable

from holter.console.transcript import TranscriptWriter

CHUNK_BYTES = 256 << 10


class FileCopier:
    """Reads along in one file from a place on. Owns the descriptor; closed by its owner.

    `begin` makes the transcript when there is something to be kept.
    """

    def __init__(
        self, fd: int, offset: int, *, stream: int, begin: Callable[[], TranscriptWriter], limit_bytes: int
    ) -> None:
        self._fd = fd
        self._at = offset
        self._stream = stream
        self._begin = begin
        self._writer: TranscriptWriter | None = None
        self._limit_bytes = limit_bytes

    @property
    def size(self) -> int:
        """How long the file is now. Raises OSError."""
        return os.fstat(self._fd).st_size

    def copy(self, until: int | None = None) -> None:
        """Copy what was added since the last call, or what of it lies before a place. Raises OSError."""
        size = self.size if until is None else until
        if size < self._at:  # somebody emptied it, as logrotate does
            self._at = 0
        if size == self._at:
            return
        writer = self._writer = self._writer or self._begin()
        if size - self._at > 2 * self._limit_bytes and writer.end > self._limit_bytes:
            # The middle would be left out anyway.
            skipped = size - self._limit_bytes - self._at
            writer.skip(skipped)
            self._at += skipped
        while data := os.pread(self._fd, min(CHUNK_BYTES, max(0, size - self._at)), self._at):
            writer.append(data, self._stream)
            self._at += len(data)

    def close(self) -> None:
        """Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            if self._writer is not None:
                self._writer.close()
