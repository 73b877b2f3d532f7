"""Has workers make what lies in the spool of a run, and keeps what they say. The spool's lock says who does."""

import contextlib
import fcntl
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from holter.catalog.change.command_journal import as_command, may_write
from holter.journal.frame import encode_record
from holter.journal.rundir import make_private
from holter.journal.spool import FAILED, PARTIAL, list_entries, spool_of
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.media_records import FOLDER, MediaLost
from holter.model.record import Record
from holter.model.records import KINDS, Noted
from holter.recording.spawning import way_to_package

LOOK_AGAIN_S = 0.05
LINGER_S = 15.0
"""A worker waits so long for more, for its start costs more than the work."""
ENTRY_WITHIN_S = 300.0
MOST_TRIES = 2
FINISH_WITHIN_S = 600.0
MOST_NOTES = 50
TORN_AFTER_S = 600.0
LOCK = ".lock"


class _Told(msgspec.Struct):
    name: str
    records: list[tuple[int, Any]] = []
    warnings: list[str] = []
    failed: str = ""


_decode = msgspec.json.Decoder(_Told).decode


class Worker:
    """One worker process, asked for one entry after the other. Used by one thread; the caller closes it."""

    def __init__(self, directory: str, limit_bytes: int) -> None:
        import subprocess  # ten milliseconds that only runs with media pay

        command = [sys.executable, "-P", "-m", "holter.worker", directory, str(limit_bytes)]
        alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**way_to_package(os.environ), **alone},
            cwd="/",
        )
        self._rest = b""

    def make(self, name: str, *, within_s: float = ENTRY_WITHIN_S) -> _Told | None:
        """What came of an entry; None where the worker died of it, or took too long."""
        import select

        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(name.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        until = time.monotonic() + within_s
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._process.stdout.fileno(), 1 << 20) if ready else b""
            if not data:
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return _decode(line)

    def close(self) -> str:
        """End it; returns how it ended, in words, where that was not by itself."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        with contextlib.suppress(Exception):
            self._process.wait(2.0)
        if self._process.poll() is None:
            self._process.kill()
        status = self._process.wait()
        return f"signal {-status}" if status < 0 else f"exit status {status}" if status else ""


class Workshop:
    """Looks after the spool of one run, in a thread of its own while there is work.

    Args:
        record: keeps a sentence; thread-safe.
        say: takes a cause and a sentence for the user.
    """

    def __init__(
        self,
        directory: str,
        *,
        record: Callable[[Record], None],
        say: Callable[[str, str], None] = lambda cause, text: None,
        limit_bytes: int = -1,
    ) -> None:
        self._directory = directory
        self._record = record
        self._say = say
        self._limit_bytes = limit_bytes
        self._clock = Clock()
        self._tries: dict[str, int] = {}
        self._notes = 0
        self._thread: threading.Thread | None = None
        self._seen = 0
        self._finishing_since = 0.0
        self._bell = threading.Event()

    def look(self) -> None:
        """Begin where there is work. Cheap, never blocks: for each second."""
        try:
            changed = os.stat(spool_of(self._directory)).st_mtime_ns
        except OSError:
            return
        if changed == self._seen and not self._finishing_since:
            return
        self._bell.set()
        if self._thread is None or not self._thread.is_alive():
            self._seen = changed
            if list_entries(self._directory):
                self._thread = threading.Thread(target=self._work, name="media", daemon=True)
                self._thread.start()

    def finish(self) -> bool:
        """Nobody logs any more: make what is left. Never blocks; true when that is done, or takes too long."""
        if not self._finishing_since:
            self._finishing_since = time.monotonic()
            self._seen = 0
            self.look()
        self._bell.set()
        return (
            self._thread is None
            or not self._thread.is_alive()
            or time.monotonic() - self._finishing_since > FINISH_WITHIN_S
        )

    def work(self, *, until: float) -> int:
        """Make what there is, in this thread, until that moment of the monotonic clock; returns how much that was."""
        count = 0
        with _locked(self._directory) as is_ours:
            if not is_ours:
                return 0
            _clear_torn(self._directory)
            worker: Worker | None = None
            try:
                while time.monotonic() < until and (names := list_entries(self._directory)):
                    for name in names:
                        worker = worker or Worker(self._directory, self._limit_bytes)
                        if self._make(worker, name):
                            count += 1
                        else:
                            worker = None
                        if time.monotonic() >= until:
                            break
            finally:
                if worker is not None:
                    worker.close()
        return count

    def _work(self) -> None:
        """Until nothing has come for a while."""
        with _locked(self._directory) as is_ours:
            if not is_ours:
                self._seen = 0
                return
            _clear_torn(self._directory)
            worker: Worker | None = None
            idle_since = time.monotonic()
            try:
                while time.monotonic() - idle_since < LINGER_S:
                    self._bell.clear()
                    names = list_entries(self._directory)
                    for name in names:
                        worker = worker or Worker(self._directory, self._limit_bytes)
                        worker = worker if self._make(worker, name) else None
                        idle_since = time.monotonic()
                    if not names:
                        if self._finishing_since:
                            return
                        self._bell.wait(1.0)
            except Exception as error:  # noqa: BLE001  the boundary: the media wait for whoever looks next
                self._note(f"media wait in the spool: {type(error).__name__}: {error}")
            finally:
                if worker is not None:
                    worker.close()

    def _make(self, worker: Worker, name: str) -> bool:
        """Whether the worker lives."""
        told = worker.make(name)
        if told is None:
            because = worker.close() or "no answer in time"
            self._tries[name] = self._tries.get(name, 0) + 1
            if self._tries[name] >= MOST_TRIES:
                self._put_aside(name, f"the worker that was to make it died of it ({because})")
            return False
        for text in told.warnings:
            self._note(text)
        if told.failed:
            self._put_aside(name, told.failed)
            return True
        for number, fields in told.records:
            self._record(msgspec.convert(fields, KINDS[number]))
        # Last: who dies before it makes the same files again, and says the same of them.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(spool_of(self._directory), name))
        return True

    def _put_aside(self, name: str, because: str) -> None:
        """Keep the copy as it is, where nobody tries again."""
        folder = os.path.join(spool_of(self._directory), FAILED)
        make_private(folder)
        key, step = _named(self._directory, name)
        lost = MediaLost(at_ns=self._clock.now_ns(), key=key, step=step, because=because[:1000], spool=name)
        self._record(lost)
        with contextlib.suppress(FileNotFoundError):
            os.replace(os.path.join(spool_of(self._directory), name), os.path.join(folder, name))
        self._note(f"{because}; the copy of it is kept in spool/{FAILED}/{name}")

    def _note(self, text: str) -> None:
        self._notes += 1
        if self._notes <= MOST_NOTES:
            self._record(Noted(at_ns=self._clock.now_ns(), text=text[:1000]))
            self._say(f"media:{text[:80]}", text[:300])


def settle(directory: str, *, record: Callable[[Record], None], limit_bytes: int = -1, within_s: float) -> int:
    """Make what was left in the spool by processes that are gone, for a bounded time; returns how much that was.

    Nothing where somebody else does it at this moment.
    """
    if not list_entries(directory):
        return 0
    return Workshop(directory, record=record, limit_bytes=limit_bytes).work(until=time.monotonic() + within_s)


def settle_run(directory: str, *, within_s: float) -> int:
    """The same, for a command that looks at a run: what it says goes into a journal of its own."""
    if not list_entries(directory) or not may_write(directory):
        return 0
    opened = as_command(os.path.basename(directory), 1)
    journal = JournalWriter(directory, lambda: iter([encode_record(opened)]), clock=Clock())
    try:
        return settle(directory, record=journal.record, within_s=within_s)
    finally:
        journal.close()


def await_media(directory: str, *, within_s: float) -> None:
    """Have all made that waits now, for a command that reads it: what somebody else makes is waited for."""
    until = time.monotonic() + within_s
    wanted = set(list_entries(directory))
    while wanted and may_write(directory) and (left_s := until - time.monotonic()) > 0:
        settle_run(directory, within_s=left_s)
        if wanted := wanted & set(list_entries(directory)):
            time.sleep(LOOK_AGAIN_S)


def _clear_torn(directory: str) -> None:
    """Take away what those who died in the middle of a file left; whoever holds the spool's lock has no such rival."""
    ago = time.time() - TORN_AFTER_S
    for folder, is_ours in ((os.path.join(directory, FOLDER), True), (spool_of(directory), False)):
        with contextlib.suppress(OSError), os.scandir(folder) as found:
            for each in found:
                # In the spool a program may be writing at this moment.
                if each.name.endswith(PARTIAL) and (is_ours or each.stat(follow_symlinks=False).st_mtime < ago):
                    os.unlink(each.path)


@contextlib.contextmanager
def _locked(directory: str) -> Iterator[bool]:
    try:
        fd = os.open(os.path.join(spool_of(directory), LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        yield False
        return
    try:
        yield True
    finally:
        os.close(fd)


def _named(directory: str, name: str) -> tuple[str, int | None]:
    from holter.journal.spool import OpenEntry

    try:
        opened = OpenEntry(directory, name)
    except Exception:  # noqa: BLE001  what is no entry has no name
        return "", None
    opened.close()
    return opened.entry.key, opened.entry.step
