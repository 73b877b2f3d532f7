"""One file of a journal, open for writing: mapped where that is safe, written otherwise."""

import mmap
import os
from typing import Protocol

from holter.journal.filesystem import keeps_reservations


class Segment(Protocol):
    """A file that takes bytes at growing positions; what `put` returned for survives the death of the process."""

    fd: int
    size: int

    def put(self, at: int, data: bytes) -> None:
        """Keep `data` at that position. Raises OSError where the disk does not take it."""

    def close(self, end: int) -> None:
        """Give back the space behind `end` and close. Idempotent."""


class MappedSegment:
    """A reserved file, written by copying into its mapping."""

    def __init__(self, path: str, size: int) -> None:
        self.size = size
        self.fd = _create(path)
        try:
            # Blocks first, mapping second: a store into a hole of a full disk would end the process with SIGBUS.
            os.posix_fallocate(self.fd, 0, size)
            self._mapped = mmap.mmap(self.fd, size)
        except OSError:
            os.close(self.fd)
            os.unlink(path)
            raise

    def put(self, at: int, data: bytes) -> None:
        self._mapped[at : at + len(data)] = data

    def close(self, end: int) -> None:
        if self.fd < 0:
            return
        # Unmap, then cut: nobody truncates a mapped file.
        self._mapped.close()
        _close(self.fd, end)
        self.fd = -1


class WrittenSegment:
    """A plain file; `size` is only where the next one begins."""

    def __init__(self, path: str, size: int) -> None:
        self.size = size
        self.fd = _create(path)

    def put(self, at: int, data: bytes) -> None:
        if os.pwrite(self.fd, data, at) != len(data):
            # The rest is written again: it either fits now or says why not (full disk, quota, file size limit).
            written = os.pwrite(self.fd, data, at)
            if written != len(data):
                raise OSError(28, f"only {written} of {len(data)} bytes fitted")

    def close(self, end: int) -> None:
        if self.fd < 0:
            return
        _close(self.fd, end)
        self.fd = -1


def create_segment(path: str, size: int) -> Segment:
    """Make a new file of the kind that is safe on its file system. Raises OSError where that is impossible."""
    if keeps_reservations(os.path.dirname(path)):
        return MappedSegment(path, size)
    return WrittenSegment(path, size)


def _create(path: str) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _close(fd: int, end: int) -> None:
    try:
        os.ftruncate(fd, end)
    finally:
        os.close(fd)
