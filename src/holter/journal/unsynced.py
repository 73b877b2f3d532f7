"""What of a journal is not on the disk itself yet, also where the disk has failed to take it."""

import errno
import os
import threading

from holter.journal.rundir import sync_directory


class Unsynced:
    """The segments of one journal that are closed and not synced, and those of which the disk failed to take something.

    After a sync that failed, Linux may drop what it could not write and call the next sync of that file good; ext4
    loses also what is written to the same place again. So such a file is not trusted any more: once it is closed,
    another takes its place. The caller holds `lock` over what belongs together.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._closed: list[str] = []
        self._failed: set[str] = set()

    def add(self, path: str) -> None:
        """This segment is closed now. May be called without `lock`."""
        self._closed.append(path)

    def has_failed(self, path: str) -> bool:
        """Whether another file must take its place."""
        return path in self._failed

    def sync(self, path: str, fd: int) -> None:
        """Bring all closed segments to the disk, and the open one, where `fd` is one. Raises OSError."""
        for closed in self._closed.copy():
            self._sync_closed(closed)
            self._closed.remove(closed)
            self._failed.discard(closed)
        if fd >= 0:
            self._sync_file(path, fd)
            sync_directory(os.path.dirname(path))

    def _sync_closed(self, path: str) -> None:
        try:
            if path in self._failed:
                _lay_down_anew(path)
                return
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # somebody deleted it
        try:
            self._sync_file(path, fd)
        finally:
            os.close(fd)

    def _sync_file(self, path: str, fd: int) -> None:
        try:
            if path in self._failed:  # and could not be closed: we are in the middle of an append
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            os.fdatasync(fd)
        except OSError:
            self._failed.add(path)
            raise


def _lay_down_anew(path: str) -> None:
    from holter.journal.frame import HEADER_SIZE  # only a disk that failed costs these
    from holter.journal.kept_files import replace_for_good
    from holter.journal.reader import hop, is_sound

    with open(path, "rb") as file:
        data = file.read()
    if not is_sound(data, hop(data, HEADER_SIZE)[1]):
        raise OSError(errno.EIO, f"{os.strerror(errno.EIO)}; a part of it is lost")
    replace_for_good(path, data)
