"""The sidecar's part in a run's console: reads along in files, and overwrites secrets. In a thread of its own."""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable

from holter.console.copying import FileCopier
from holter.console.files import claim_name
from holter.console.scrubbing import Scrubber
from holter.console.transcript import TranscriptWriter
from holter.model.clock import Clock
from holter.wire.way_back import Followed, Watch

EVERY_S = 1.0
# Looked through for secrets at a time; what a program prints beyond that is looked through when it has ended.
SCRUB_BYTES = 4 << 20
# How long a program that ended its run may take to leave, and to write what it still had in its buffers.
LEAVES_WITHIN_S = 2.0


class ConsoleKeeper:
    """Keeps the console of one run. `close` returns at once; the thread ends when the programs have.

    Args:
        found: called with the kind of each secret that was overwritten, and the secret itself.
        done: called at the end of the thread.
    """

    def __init__(
        self, directory: str, clock: Clock, *, found: Callable[[str, str], object], done: Callable[[], object]
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._scrubber = Scrubber(directory, found)
        self._done = done
        self._copiers: dict[tuple[int, int], FileCopier] = {}
        self._pidfds: list[int] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, watch: Watch, pidfd: int) -> None:
        """A process joined the run; `pidfd` stays the caller's."""
        if not watch.console_bytes:
            return
        with self._lock:
            if watch.followed and pidfd >= 0:
                self._pidfds.append(os.dup(pidfd))
            for followed in watch.followed:
                with contextlib.suppress(OSError):  # gone before we came: then it is not kept
                    self._follow(followed, watch)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="console")
            self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether nothing is added any more."""
        return self._thread is None or not self._thread.is_alive()

    def close(self) -> None:
        """The run has ended. Idempotent."""
        self._closing.set()

    def _follow(self, followed: Followed, watch: Watch) -> None:
        key = followed.device, followed.inode
        if key in self._copiers:
            return
        fd = _open(followed, watch.pid)
        self._copiers[key] = FileCopier(
            fd,
            followed.offset,
            stream=followed.stream,
            begin=lambda: self._begin(watch.console_bytes),
            limit_bytes=watch.console_bytes,
        )

    def _begin(self, limit_bytes: int) -> TranscriptWriter:
        name = claim_name(self._directory)
        return TranscriptWriter(self._directory, name, limit_bytes=limit_bytes, clock=self._clock)

    def _work(self) -> None:
        while not self._closing.wait(EVERY_S):
            self._turn()
        sizes = {key: _size(copier) for key, copier in self._copiers.items()}
        have_left = self._await_programs()
        for key, copier in self._copiers.items():
            # A program that lives on without the run prints into the file of another run, or of none.
            _copy(copier, None if have_left else sizes[key])
            copier.close()
        while not self._scrub(is_final=True):
            continue
        self._done()
        for pidfd in self._pidfds:
            os.close(pidfd)

    def _turn(self) -> None:
        with self._lock:
            copiers = list(self._copiers.values())
        for copier in copiers:
            _copy(copier)
        self._scrub()

    def _scrub(self, *, is_final: bool = False) -> bool:
        """False where there is more to look through."""
        try:
            return self._scrubber.scrub(SCRUB_BYTES, is_final=is_final)
        except OSError:
            return True  # a later reader hides what we can't

    def _await_programs(self) -> bool:
        """True when all of them have left."""
        poll = select.poll()
        waiting = set(self._pidfds)
        for pidfd in waiting:
            poll.register(pidfd, select.POLLIN)
        deadline = time.monotonic() + LEAVES_WITHIN_S
        while waiting and time.monotonic() < deadline:
            for pidfd, _ in poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                poll.unregister(pidfd)
                waiting.discard(pidfd)
        return not waiting


def _copy(copier: FileCopier, until: int | None = None) -> None:
    with contextlib.suppress(OSError):  # the file's disk is gone; what was copied stays
        copier.copy(until)


def _size(copier: FileCopier) -> int:
    try:
        return copier.size
    except OSError:
        return 0


def _open(followed: Followed, pid: int) -> int:
    """The file, by its name or by the process that has it open. Raises OSError."""
    number = 2 if followed.stream == 2 else 1
    for path in (followed.path, f"/proc/{pid}/fd/{number}"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            status = os.fstat(fd)
            if (status.st_dev, status.st_ino) == (followed.device, followed.inode):
                return fd
            os.close(fd)
    raise FileNotFoundError(followed.path)
