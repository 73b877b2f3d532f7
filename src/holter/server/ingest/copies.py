"""Journals that lie elsewhere, and copies of them below the data directory: whatever reads runs reads these files."""

import contextlib
import fcntl
import os
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from holter.errors import JournalError, StorageError
from holter.journal.kept_files import replace_file
from holter.journal.reader import scan
from holter.journal.rundir import is_journal_id, is_run_id, list_segments, make_private, run_directory
from holter.server.ingest.followed_run import stamp_of
from holter.server.ingest.leases import Leases, OnlyServer
from holter.storage.journals import Answer, Grown, Held, JournalStore, Part
from holter.storage.opening import open_journals
from holter.storage.places import Places

ADOPTED = ".journals-are-elsewhere"
"""In a data directory whose runs are copies."""
READ = ".copies-are-read"
"""The file that whoever needs the copies of all runs has locked: none is thrown away meanwhile."""
PIECE_BYTES = 4 << 20
CLAIM_AFTER_S = 1.0
"""So long a run of which something new was seen is left to the server that received it."""


class CopiedRuns:
    """The port `JournalStore` for a place that several servers may share. Thread-safe.

    What is sent is durable there before it is acknowledged. The copy of a run is made when somebody needs it, and grows
    with what comes through us; it may be thrown away while no server runs. What commands and people add to a run is
    written into its copy first, and `send` brings it to the others.

    Args:
        is_settled: whether all of a run is in the index, as far as the index knows: then nobody needs its copy yet.
    """

    def __init__(self, data: str, store: JournalStore, *, is_settled: Callable[[str], bool]) -> None:
        self.data = data
        self.began_at = time.monotonic()
        self.used: dict[str, float] = {}
        """When somebody last needed the copy of a run, since we began, both by the monotonic clock."""
        self._store = store
        self._copies = open_journals(data)
        self._is_settled = is_settled
        self._locks = [threading.Lock() for _ in range(64)]
        self._copied: dict[str, dict[str, int]] = {}
        """How much the copies have, by run and name, of runs to which something is added."""
        self._settled: dict[str, int] = {}
        """The size of runs of which nobody needed a copy."""
        self.there: set[str] | None = None
        """All runs that there are, None until the first look."""
        self.were: set[str] = set()
        """All that there were at one of our looks."""
        self.leases: Leases = OnlyServer()
        """Which runs are digested here: of others nobody needs a copy before somebody asks."""
        self._unclaimed: dict[str, float] = {}
        self.complain: Callable[[str], None] = lambda text: None
        """Gets a sentence about each run that can't be copied."""

    def accept_all(self, parts: Sequence[Part]) -> list[Answer]:
        """Keep ranges there, then in the copies. Where those fail nothing is lost: they are mended by the next look."""
        answers = self._store.accept_all(parts)
        kept = [
            part
            for part, answer in zip(parts, answers, strict=True)
            if isinstance(answer, int) and answer and not self.leases.is_elsewhere(part.run)
        ]
        for part, have in zip(kept, self._copies.accept_all(kept), strict=True):
            if isinstance(have, int):
                self._known(part.run)[part.name] = have
        return answers

    def held(self, run: str) -> Held:
        """How much there is of a run."""
        return self._store.held(run)

    def read(self, run: str, name: str, *, start: int, stop: int) -> bytes:
        """Bytes of a journal or text."""
        return self._store.read(run, name, start=start, stop=stop)

    def grown(self, since_s: float = 0.0) -> Grown:
        """The runs to which something was added."""
        return self._store.grown(since_s)

    def seal(self, run: str | None = None) -> int:
        """Move what was received to where it may lie for years."""
        return self._store.seal(run)

    def delete(self, run: str) -> None:
        """Remove all of a run, its copy too."""
        try:
            self._store.delete(run)
        finally:
            self._copies.delete(run)
            self._forget(run)

    def close(self) -> None:
        """Idempotent."""
        self._copies.close()
        self._store.close()

    def bring(self, run: str) -> bool:
        """Make the copy of a run whole; whether something was missing. Raises StorageError, OSError."""
        with self._alone(run):
            self.used[run] = time.monotonic()
            known, is_news = self._known(run), False
            held = self._store.held(run)
            for name, size in (held.journals | held.texts).items():
                while (have := known.get(name, 0)) < size:
                    data = self._store.read(run, name, start=have, stop=min(size, have + PIECE_BYTES))
                    known[name] = self._copy(run, name, have, data)
                    if known[name] <= have:
                        raise StorageError(f"{name} of run {run} can't be copied from {have:,} on: it is tried again")
                    is_news = True
        return is_news

    def send(self, run: str) -> None:
        """Bring what was added to the copy of a run to where all is. Raises StorageError, OSError."""
        with self._alone(run):
            self._copied.pop(run, None)
            held, copied = self._store.held(run), self._copies.held(run)
            for name, have in (copied.journals | copied.texts).items():
                start = held.journals.get(name, held.texts.get(name, 0))
                size = self._end(run, name) if is_journal_id(name) and start < have else have
                while start < size:
                    data = self._copies.read(run, name, start=start, stop=min(size, start + PIECE_BYTES))
                    [answer] = self._store.accept_all([part_of(run, name, start, data)])
                    if isinstance(answer, StorageError | OSError):
                        raise answer
                    if not isinstance(answer, int) or answer <= start:
                        break
                    start = answer

    def look(self, since_s: float, *, begun: Collection[str] = ()) -> tuple[list[str], float]:
        """Bring what was added elsewhere; returns whose copies have grown, and from when on to look next time.

        With those that were just begun to be digested here, but for those that can't be read now. Raises StorageError.
        """
        grown = self._store.grown(since_s)
        self.were |= grown.runs.keys()
        if not since_s:
            self._forget_removed(set(grown.runs))
        elif self.there is not None:
            self.there |= grown.runs.keys()
        needed = {run: size for run, size in grown.runs.items() if self._is_needed(run, size)}
        found, failed = self._bring_some([*begun, *self._claim(needed)])
        return sorted({*found, *begun} - failed), grown.next_s

    def settle(self, stamps: Mapping[str, int]) -> None:
        """All that the copies of runs had when they had last changed is in the index. Raises StorageError, OSError."""
        sizes = {}
        for run, stamp_ns in stamps.items():
            held, copied = self._store.held(run), self._copies.held(run)
            have = copied.journals | copied.texts
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                if stamp_of(run_directory(self.data, run)) != stamp_ns:  # more has come: it is looked at again
                    continue
            # What came elsewhere in this moment is brought, and digested, with the next look.
            if all(have.get(name, 0) >= size for name, size in (held.journals | held.texts).items()):
                sizes[run] = held.size
        self.leases.settle(sizes)

    def drop(self, run: str) -> bool:
        """Throw away the copy of a run, where all of it is elsewhere; whether there was one. What is no copy stays.

        Raises StorageError, OSError.
        """
        with self._alone(run):
            held, copied = self._store.held(run), self._copies.held(run)
            there = held.journals | held.texts
            names = copied.journals | copied.texts
            if not names or any(self._whole(run, name, have) > there.get(name, 0) for name, have in names.items()):
                return False
            directory = run_directory(self.data, run)
            for path in [path for paths in list_segments(directory).values() for path in paths]:
                os.unlink(path)
            for name in copied.texts:
                os.unlink(os.path.join(directory, name))
            with contextlib.suppress(OSError):  # there is more in it
                os.rmdir(directory)
            self._forget(run)
            self._settled[run] = held.size
        return True

    def _claim(self, needed: Mapping[str, int]) -> list[str]:
        """Those of some runs that are ours; what nobody digests may become so, but whoever receives it goes first."""
        now, before = time.monotonic(), self._unclaimed
        numbers = self.leases.numbers()
        known = needed.keys() if numbers is None else needed.keys() & numbers.keys()
        self._unclaimed = {run: before.get(run, now) for run in needed if run not in known}
        waiting = {run: needed[run] for run, at in self._unclaimed.items() if now - at >= CLAIM_AFTER_S}
        taken = self.leases.take(waiting) if waiting else {}
        for run in waiting.keys() - taken.keys():  # another server has it, or has digested all of it
            self._settled[run] = needed[run]
        return [*known, *taken]

    def _bring_some(self, runs: Iterable[str]) -> tuple[list[str], set[str]]:
        """Those that have grown, and those of which something can't be read now: they do not hold up the others."""
        found, failed = [], set()
        for run in dict.fromkeys(runs):
            try:
                if self.bring(run):
                    found.append(run)
            except OSError:  # the disk is full, or the run was removed: the next look is for it
                continue
            except StorageError as error:
                self._store.held(run)  # where nothing answers all of them can wait
                failed.add(run)
                self.complain(f"run {run} can't be copied: {error}")
        return found, failed

    def _is_needed(self, run: str, size: int) -> bool:
        if self.leases.is_elsewhere(run):
            return False
        if self._settled.get(run) == size:
            return False
        if run in self._copied:
            return sum(self._copied[run].values()) != size
        if os.path.isdir(run_directory(self.data, run)):
            return sum(self._known(run).values()) != size
        if run not in self._settled and self._is_settled(run):
            self._settled[run] = size
            return False
        return True

    def _forget_removed(self, there: set[str]) -> None:
        """Another server deleted them."""
        gone = (self.there or set()) - there
        for run in gone:
            self._copies.delete(run)
            self._forget(run)
        self.there = there

    def _copy(self, run: str, name: str, have: int, data: bytes) -> int:
        [answer] = self._copies.accept_all([part_of(run, name, have, data)])
        if not isinstance(answer, int):
            raise answer
        return answer

    def _known(self, run: str) -> dict[str, int]:
        known = self._copied.get(run)
        if known is None:
            held = self._copies.held(run)
            known = self._copied.setdefault(run, held.journals | held.texts)
            self._settled.pop(run, None)
        return known

    def _whole(self, run: str, name: str, have: int) -> int:
        """Where what a copy has of a journal or text ends, without room that is only reserved."""
        return min(have, self._end(run, name)) if is_journal_id(name) else have

    def _end(self, run: str, journal: str) -> int:
        """Where the whole records of a journal end: room that is reserved behind them is nothing to send."""
        last = list_segments(run_directory(self.data, run))[journal][-1]
        with open(last, "rb") as file:
            data = file.read()
        with contextlib.suppress(JournalError):
            found = scan(data)
            if found.header is not None:
                return found.header.base + found.end
        return 0

    def _forget(self, run: str) -> None:
        for known in (self._copied, self._settled, self.used):
            known.pop(run, None)

    def _alone(self, run: str) -> threading.Lock:
        return self._locks[zlib.crc32(run.encode()) % len(self._locks)]


def part_of(run: str, name: str, offset: int, data: bytes, /) -> Part:
    """A range of a journal or text, by its name."""
    return Part(run=run, kind="journal" if is_journal_id(name) else "text", name=name, offset=offset, data=data)


def open_received(
    data: str, place: Places | str, *, is_settled: Callable[[str], bool] = lambda run: False
) -> JournalStore:
    """What was received, in files of this machine or elsewhere; the caller closes it. Raises as `open_storage`."""
    if isinstance(place, str) or not place.journals:
        return open_journals(data)
    return CopiedRuns(data, open_journals(data, place), is_settled=is_settled)


def bring_copies(received: CopiedRuns) -> None:
    """Make the copies of all runs whole. Raises StorageError, OSError."""
    for run in received.grown().runs:
        received.bring(run)


def bring_all(data: str, place: Places | str) -> None:
    """Have all that was received lie in files of this machine. Raises StorageError, OSError."""
    received = open_received(data, place)
    try:
        if isinstance(received, CopiedRuns):
            bring_copies(received)
    finally:
        received.close()


@contextlib.contextmanager
def all_copies(data: str, place: Places | str) -> Iterator[None]:
    """Within this all that was received lies in files of this machine, also while a server throws copies away.

    Raises StorageError, OSError.
    """
    if isinstance(place, str) or not place.journals:
        yield
        return
    with _opened(data) as fd:
        fcntl.flock(fd, fcntl.LOCK_SH)
        bring_all(data, place)
        yield


@contextlib.contextmanager
def unread_copies(data: str) -> Iterator[bool]:
    """Whether nobody needs the copies of all runs; then nobody does within this. Raises OSError."""
    with _opened(data) as fd:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextlib.contextmanager
def _opened(data: str) -> Iterator[int]:
    make_private(data)
    fd = os.open(os.path.join(data, READ), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def adopt(received: CopiedRuns) -> None:
    """Bring the runs of a directory that was no place of copies before to where all is; what was begun goes on.

    Raises StorageError, OSError.
    """
    mark = os.path.join(received.data, ADOPTED)
    if os.path.exists(mark):
        return
    with contextlib.suppress(FileNotFoundError):
        for run in sorted(filter(is_run_id, os.listdir(os.path.join(received.data, "runs")))):
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                received.send(run)
    make_private(received.data)
    replace_file(mark, b"")
