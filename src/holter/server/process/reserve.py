"""Room on the disk that nobody else has: with it an index can be opened, and read, also when the disk is full."""

import contextlib
import os

from holter.journal.rundir import make_private

NAME = "reserve"
# Four databases each share an index of 32 KiB between their connections, and write a little when they are opened.
SIZES = (512 << 10, 256 << 10, 192 << 10)
"""The first that the disk has."""


class Reserve:
    """A file of nothing beside the index."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, NAME)

    def keep(self) -> None:
        """Set the room aside where it is not yet and there is any. Idempotent, and cheap where it is."""
        if os.path.exists(self._path):
            return
        with contextlib.suppress(OSError):
            make_private(self._directory)
            fd = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                self._fill(fd)
            finally:
                os.close(fd)

    def release(self) -> bool:
        """Make the room free for whoever is quick enough; whether there was any."""
        try:
            os.unlink(self._path)
        except OSError:
            return False
        return True

    def _fill(self, fd: int) -> None:
        for size in SIZES:
            try:
                os.posix_fallocate(fd, 0, size)
            except OSError:
                os.ftruncate(fd, 0)
            else:
                return
        os.unlink(self._path)
