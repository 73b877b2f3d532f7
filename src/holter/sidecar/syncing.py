"""Makes what the journals hold survive the death of the machine, twice a second."""

import contextlib
import os
import threading
import time

from holter.journal.rundir import list_segments, sync_directory

EVERY_S = 0.5
# Linux's file times move in steps of up to 10 ms: a write in the same step as our sync leaves no trace in them.
COARSE_NS = 20_000_000


class _File:
    """An open segment and the file time up to which it is on the disk."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.synced_ns = -1

    def sync(self) -> bool:
        """False where the file was deleted: the client lays down another in its place."""
        status = os.fstat(self.fd)
        changed_ns = status.st_mtime_ns
        if changed_ns == self.synced_ns:
            return status.st_nlink > 0
        is_settled = time.time_ns() - changed_ns > COARSE_NS
        os.fdatasync(self.fd)
        self.synced_ns = changed_ns if is_settled else -1
        return status.st_nlink > 0

    def close(self) -> None:
        os.close(self.fd)


class Syncer:
    """Syncs all journals of one run directory. A disk that hangs holds up this thread alone, not the heartbeat.

    A store into a mapped page that was just synced updates the file's time again, so an unchanged time means that
    nothing came since; no row has to be read for it.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._files: dict[str, _File] = {}
        self._done: set[str] = set()
        self._is_listed = True
        """The directory's names of them are on the disk too."""
        self._stopping = threading.Event()
        self._once = threading.Lock()
        self._thread = threading.Thread(target=self._loop, name="sync", daemon=True)
        self._thread.start()

    def sync(self) -> None:
        """Bring everything written so far to the disk. A directory that is gone or a failing disk is no error here."""
        with self._once:
            for step in (self._open_new, self._sync_all, self._drop_old):
                with contextlib.suppress(OSError):  # the client says what it can't keep; we try again
                    step()

    def close(self) -> None:
        """Sync a last time and stop; waits for the disk for a bounded time."""
        self._stopping.set()
        self._thread.join(2.0)
        if self._once.acquire(timeout=0.1):
            self._once.release()
            self.sync()

    def _loop(self) -> None:
        while not self._stopping.wait(EVERY_S):
            self.sync()

    def _open_new(self) -> None:
        born = [
            path
            for paths in list_segments(self._directory).values()
            for path in paths
            if path not in self._files and path not in self._done
        ]
        self._is_listed = self._is_listed and not born
        for path in born:
            self._files[path] = _File(path)
        if not self._is_listed:
            sync_directory(self._directory)
            self._is_listed = True

    def _sync_all(self) -> None:
        for path, file in list(self._files.items()):
            with contextlib.suppress(OSError):  # the others may lie on better blocks
                if not file.sync():
                    self._files.pop(path).close()

    def _drop_old(self) -> None:
        """Close segments that have a successor: they are synced for good."""
        for paths in list_segments(self._directory).values():
            for path in paths[:-1]:
                if path in self._files:
                    os.fdatasync(self._files[path].fd)
                    self._files.pop(path).close()
                    self._done.add(path)
