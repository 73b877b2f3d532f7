"""Files that only grow: many are brought to the disk at once; one that the disk failed to take is laid down anew."""

import contextlib
import ctypes
import errno
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from holter.journal.filesystem import file_system
from holter.journal.kept_files import replace_for_good
from holter.journal.rundir import make_private, sync_directory

# From so many files on, one sync of their whole file system costs less than one of each.
MANY = 4
# But it waits also for what others wrote there: with more than this on its way, each file is synced by itself.
MOST_DIRTY_BYTES = 64 << 20
SYNCERS = 8
# After a sync of the whole has failed, for so long too.
ALONE_S = 60.0
# Whose sync of the whole brings all files and their names to the disk itself, and says where that failed.
_TOLD = ("ext4", "xfs")
_TOLD_SINCE = (5, 8)


class GrowingFile:
    """One file, open. `durable` bytes of it were on the disk when it was opened, or last synced."""

    def __init__(self, path: str, fd: int, *, is_new: bool = False) -> None:
        self.path = path
        self.fd = fd
        self.is_new = is_new
        status = os.fstat(fd)
        self.device = status.st_dev
        self.size = self.durable = status.st_size
        self.is_doubtful = False
        """Whether somebody may have written to it before us who did not say that it is on the disk."""
        self.error: OSError | None = None
        """Why it could not be brought to the disk."""

    def append(self, data: memoryview | bytes) -> None:
        """All or nothing. Raises OSError."""
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(self.fd, data[done:], self.size + done)
        except OSError:
            os.ftruncate(self.fd, self.size)
            raise
        self.size += len(data)

    def end(self, count: int) -> bytes:
        """Its last bytes, up to so many. Raises OSError."""
        return os.pread(self.fd, count, max(0, self.size - count))

    def cut(self, count: int) -> None:
        """Take so many bytes off its end. Raises OSError."""
        os.ftruncate(self.fd, self.size - count)
        self.size -= count
        self.durable = min(self.durable, self.size)
        self.is_doubtful = True

    def sync(self) -> None:
        """Bring it to the disk; see `error`."""
        try:
            os.fdatasync(self.fd)
        except OSError as error:
            self.error = error
        else:
            self.durable = self.size

    def clear(self) -> None:
        """Begin it anew. Raises OSError."""
        os.ftruncate(self.fd, 0)
        self.size = self.durable = 0
        self.is_new = True

    @property
    def is_unsynced(self) -> bool:
        """Whether something of it may not be on the disk."""
        return self.is_new or self.is_doubtful or self.size != self.durable

    def undo(self) -> None:
        """Forget what the disk did not take; a new file goes as a whole."""
        with contextlib.suppress(OSError):
            os.unlink(self.path) if self.is_new else os.ftruncate(self.fd, self.durable)


class Disk:
    """The files of one directory that are written to at the moment. Used by one thread at a time.

    After a sync that failed, Linux may drop what it could not write and call the next sync of that file good; ext4
    loses also what is written to the same place again. So such a file is cut to what the disk had taken, and before it
    is used again, another takes its place.
    """

    def __init__(self, directory: str) -> None:
        self._open: dict[str, GrowingFile] = {}
        self._failed: dict[str, int] = {}
        self._changed_folders: set[str] = set()
        self._syncers: ThreadPoolExecutor | None = None
        self._sync_all = _whole_sync(directory)
        self._alone_until = 0.0

    def open(self, path: str) -> GrowingFile:
        """A file that is there, until `let_go`. Raises OSError."""
        if path not in self._open:
            if (durable := self._failed.get(path)) is not None:
                _lay_down_anew(path, durable)
                del self._failed[path]
            self._open[path] = GrowingFile(path, os.open(path, os.O_RDWR | os.O_CLOEXEC))
        return self._open[path]

    def create(self, path: str) -> GrowingFile:
        """The same, also where it is not there. Raises OSError."""
        try:
            return self.open(path)
        except FileNotFoundError:
            self._failed.pop(path, None)
            fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            self._open[path] = GrowingFile(path, fd, is_new=True)
            return self._open[path]

    def make_folder(self, path: str) -> None:
        """Make it where it is missing. Raises OSError."""
        if not os.path.isdir(path):
            make_private(path)
            self._changed_folders.add(os.path.dirname(path))

    def keep(self) -> None:
        """Bring all open files to the disk, with their names; one for which that failed has an `error`, and is cut."""
        files = [file for file in self._open.values() if file.is_unsynced]
        if not self._are_synced_together(files):
            self._sync_each(files)
            for folder in self._changed_folders | {os.path.dirname(file.path) for file in files if file.is_new}:
                _sync_names(folder, files)
        self._changed_folders.clear()
        for file in files:
            if file.error is not None:
                self._failed[file.path] = file.durable
                file.undo()

    def let_go(self) -> None:
        """Close all files."""
        for file in self._open.values():
            os.close(file.fd)
        self._open.clear()

    def close(self) -> None:
        """Idempotent."""
        if self._syncers is not None:
            self._syncers.shutdown()
        self._syncers = None

    def _are_synced_together(self, files: Sequence[GrowingFile]) -> bool:
        if self._sync_all is None or len(files) < MANY or time.monotonic() < self._alone_until:
            return False
        if len({file.device for file in files}) > 1 or _dirty_bytes() > MOST_DIRTY_BYTES:
            return False
        failed = self._sync_all(files[0].fd)
        if failed:  # for whichever file; and what it began with the others, a sync of their own may take for done
            self._alone_until = time.monotonic() + ALONE_S
        for file in files:
            if failed:
                file.error = OSError(failed, os.strerror(failed))
            else:
                file.durable = file.size
        return True

    def _sync_each(self, files: Sequence[GrowingFile]) -> None:
        if len(files) < 2:
            for file in files:
                file.sync()
            return
        self._syncers = self._syncers or ThreadPoolExecutor(SYNCERS, "holter-sync")
        list(self._syncers.map(GrowingFile.sync, files))


def _sync_names(folder: str, files: Sequence[GrowingFile]) -> None:
    try:
        sync_directory(folder)
    except OSError as error:
        for file in files:
            if file.is_new and file.path.startswith(folder + os.sep):
                file.error = file.error or error


def _lay_down_anew(path: str, durable: int) -> None:
    with open(path, "rb") as file:
        data = file.read(durable)
    replace_for_good(path, data)
    sync_directory(os.path.dirname(path))


def _whole_sync(directory: str) -> Callable[[int], int] | None:
    """What syncs the file system of a descriptor and returns 0 or the error; None where nobody would say so."""
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2] if part.isdecimal())
    if os.uname().sysname != "Linux" or release < _TOLD_SINCE or file_system(directory) not in _TOLD:
        return None
    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None
    return lambda fd: 0 if syncfs(fd) == 0 else ctypes.get_errno() or errno.EIO


def _dirty_bytes() -> int:
    """What the whole machine has still to write; as much as can be where nobody says."""
    try:
        with open("/proc/meminfo", "rb") as file:
            fields = dict(line.split(b":", 1) for line in file.read().splitlines())
        return sum(int(fields[name].split()[0]) << 10 for name in (b"Dirty", b"Writeback"))
    except (OSError, KeyError, ValueError):
        return 1 << 62
