"""Reads exit statuses out of /proc in the short time between a process's end and its parent's look at it."""

import os
import time
from collections.abc import Collection

import msgspec

from holter.probes.postmortem.exit_status import ExitStatus, read_zombie
from holter.probes.procfs import CHUNK_BYTES, PROC, Stat, parse_stat

MOST_OPEN = 256
# With so few, all are looked at whenever anything happens: the way back from a process closes before it is a zombie.
FEW = 16
# A process that is seen on its way out is dead some microseconds later.
AWAITED_S = 0.002


class Followed(msgspec.Struct):
    """A living process; the descriptor is that of its `/proc/PID/stat`."""

    pidfd: int
    stat_fd: int
    started: int
    caught: ExitStatus | None = None


class Zombies:
    """Owns an open `/proc/PID/stat` of each process: a read of it is the fastest look there is. Closed by its owner.

    Its parent may wait for it at the same moment, and then it is gone: some are caught, some are not.
    """

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc
        self._followed: dict[int, Followed] = {}

    def follow(self, pid: int, pidfd: int) -> None:
        """Be ready for the end of this process; idempotent."""
        if pid in self._followed or len(self._followed) >= MOST_OPEN:
            return
        try:
            stat_fd = os.open(f"{self._proc}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        stat = _read(stat_fd)
        self._followed[pid] = Followed(pidfd, stat_fd, stat.started if stat else 0)

    def catch(self, ready: Collection[int]) -> None:
        """Something has happened: if it was the end of a process, read how it ended. At once, before all else.

        Args:
            ready: the descriptors that became readable.
        """
        if not ready:
            return
        for pid, each in self._followed.items():
            if each.caught is None and (each.pidfd in ready or len(self._followed) <= FEW):
                each.caught = self._catch(pid, each)

    def status(self, pid: int) -> ExitStatus | None:
        """What was caught of a process that is known to be dead."""
        followed = self._followed.get(pid)
        return followed.caught if followed is not None else None

    def forget(self, pid: int) -> None:
        """Idempotent."""
        followed = self._followed.pop(pid, None)
        if followed is not None:
            os.close(followed.stat_fd)

    def close(self) -> None:
        """Idempotent."""
        for pid in list(self._followed):
            self.forget(pid)

    def _catch(self, pid: int, followed: Followed) -> ExitStatus | None:
        stat = _read(followed.stat_fd)
        until = time.monotonic() + AWAITED_S
        while stat is not None and stat.is_exiting and not _is_told(stat) and time.monotonic() < until:
            stat = _read(followed.stat_fd)
        if stat is None or not stat.is_exiting or not _is_told(stat):
            return None
        if stat.exit_code:
            return ExitStatus(status=stat.exit_code, source="zombie-stat")
        return read_zombie(pid, followed.started, proc=self._proc)  # a 0 may be Linux's way to refuse it


def _is_told(stat: Stat) -> bool:
    """Whether the exit code is that of its end: other than 0 it is there before the process is a zombie."""
    return stat.is_dead or stat.exit_code != 0


def _read(fd: int) -> Stat | None:
    try:
        text = os.pread(fd, CHUNK_BYTES, 0)
    except OSError:  # somebody has waited for it
        return None
    return parse_stat(text) if text else None
