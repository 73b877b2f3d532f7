"""One file of a journal, open for writing: mapped where that is safe, written otherwise."""

import contextlib
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
        """Keep `data`; the reservation has room for it."""
        self._mapped[at : at + len(data)] = data

    def close(self, end: int) -> None:
        """Give back the space behind `end` and close. Idempotent."""
        if self.fd < 0:
            return
        # Unmap, then cut: nobody truncates a mapped file.
        self._mapped.close()
        fd, self.fd = self.fd, -1
        _close(fd, end)


class WrittenSegment:
    """A plain file; `size` is only where the next one begins."""

    def __init__(self, path: str, size: int) -> None:
        self.size = size
        self.fd = _create(path)

    def put(self, at: int, data: bytes) -> None:
        """Keep `data`. Raises OSError where the disk takes only a part of it."""
        written = os.pwrite(self.fd, data, at)
        while written < len(data):
            # The rest either fits now or says why not (full disk, quota, file size limit).
            written += os.pwrite(self.fd, data[written:], at + written)

    def close(self, end: int) -> None:
        """Give back the space behind `end` and close. Idempotent."""
        if self.fd < 0:
            return
        fd, self.fd = self.fd, -1
        _close(fd, end)


def begin_segment(path: str, size: int, *, start: bytes) -> Segment:
    """Make a file that begins with these bytes, in place of any that is there; nothing stays behind where that fails.

    Raises OSError.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    segment = create_segment(path, size)
    try:
        segment.put(0, start)
    except BaseException:  # also somebody's Ctrl-C
        segment.close(0)
        os.unlink(path)
        raise
    return segment


def create_segment(path: str, size: int) -> Segment:
    """Make a new file of the kind that is safe on its file system. Raises OSError where that is impossible."""
    if keeps_reservations(os.path.dirname(path)):
        return MappedSegment(path, size)
    return WrittenSegment(path, size)


def _create(path: str) -> int:
    return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)


def _close(fd: int, end: int) -> None:
    try:
        # Space that the disk does not take back reads as zeros, which is no harm.
        with contextlib.suppress(OSError):
            os.ftruncate(fd, end)
    finally:
        os.close(fd)
