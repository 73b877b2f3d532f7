"""Verdicts on runs: read from the index, where the ingest keeps them; made when asked for only of runs that live."""

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from holter.catalog.catalog import PATIENCE_S, POLL_S, Catalog
from holter.catalog.change.command_journal import may_write
from holter.catalog.judge.inquiry import inquire
from holter.catalog.judge.verdict import judge, read_explanation
from holter.catalog.present.explanation import as_json, told
from holter.catalog.read.loaded_run import ASKED_WITHIN_NS, LoadedRun, put_together, read_digests
from holter.catalog.read.machines import Machines
from holter.errors import HolterError, NoRun, StorageError
from holter.journal.digest import Digest
from holter.journal.rundir import is_run_id, run_directory
from holter.model.records import Judged, Marked
from holter.model.run_row import RunRow
from holter.model.state import FINISHED, RUNNING, UNREADABLE, Lateness
from holter.model.verdicts import Explanation
from holter.server.ingest.followed_run import judged_words
from holter.server.ingest.run_rows import by_their_clock
from holter.server.live.changes import Changes
from holter.storage.opening import Storage


class Verdicts:
    """Thread-safe.

    Args:
        storage: has the verdicts, and knows when something was last heard of each run, by our own clock.
        machines: what other runs tell about the machines.
        asks_again: whether those who may know more by now about a death on this machine are asked, once for each run,
            as `holter why` does; what they say comes later as a change.
    """

    def __init__(
        self,
        data: str,
        *,
        storage: Storage,
        lateness: Callable[[], Lateness],
        changes: Changes,
        machines: Machines,
        asks_again: bool = False,
    ) -> None:
        self._data = data
        self._storage = storage
        self._lateness = lateness
        self._changes = changes
        self._machines = machines
        self._lock = threading.Lock()
        self._causes: dict[str, tuple[Any, ...]] = {}
        self._waiting: set[str] = set()
        self._asked: set[str] | None = set() if asks_again else None
        self.tell: Callable[[RunRow, dict[str, Any]], None] = lambda row, said: None
        """Gets a run and what is said of its end, where that is new."""
        self.bring: Callable[[str], None] = lambda run: None
        """Has all of a run lie in its directory, where it may lie elsewhere. Raises StorageError, OSError."""
        self._worker = ThreadPoolExecutor(1, "holter-verdicts")

    def load(self, run: str) -> LoadedRun:
        """All that the journals say about a run, and the cause. Raises NoRun, JournalError, OSError."""
        directory = self.files(run)
        loaded = None
        with contextlib.suppress(FileNotFoundError):
            digests = read_digests(directory)
            now_ns = self._their_now(run, digests)
            loaded = put_together(directory, digests, now_ns=now_ns, lateness=self._lateness())
        if loaded is None:
            raise NoRun(f"there is no run {run!r}: it was deleted, or it has not begun yet")
        return self._judged(loaded)

    def verdict(self, run: str) -> dict[str, Any]:
        """The object of `holter why --json`. Waits up to two seconds where the run died a moment ago.

        Raises NoRun, JournalError, OSError.
        """
        self.directory(run)
        deadline = time.monotonic() + PATIENCE_S
        while (row := self._row(run)) is not None and _has_died(row):
            if (found := self._kept(row)) is not None:
                if found.may_change:
                    self._ask_again(run)
                marks = self._storage.console.events(run, ["Marked"])
                people = [msgspec.convert(each.fields, Marked) for each in marks]
                return told(row, found, marks=people)
            is_recent = abs(time.time_ns() - (row.ended_ns or 0)) < ASKED_WITHIN_NS
            if row.cause is not None or not is_recent or time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        # Of a run that lives, finished, or whose end nobody has seen, none is kept.
        self.bring(run)
        catalog = Catalog(self._data, self._lateness(), now_ns=lambda digests: self._their_now(run, digests))
        return as_json(self._judged(catalog.load(run)))

    def directory(self, run: str) -> str:
        """Where a run's files lie. Raises NoRun for what can't be a run."""
        if not is_run_id(run):
            raise NoRun(f"there is no run {run[:128]!r}")
        return run_directory(self._data, run)

    def files(self, run: str) -> str:
        """The same, with all files that there are. Raises NoRun, StorageError, OSError."""
        directory = self.directory(run)
        self.bring(run)
        return directory

    def look(self, run: str, project: str) -> None:
        """Find out why a run ended, and announce it where that is new. Returns at once."""
        with self._lock:
            if run in self._waiting:
                return
            self._waiting.add(run)
        with contextlib.suppress(RuntimeError):  # we are closing
            self._worker.submit(self._announce, run, project)

    def close(self) -> None:
        """Nothing new is begun."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _row(self, run: str) -> RunRow | None:
        with contextlib.suppress(StorageError):  # the journals can be read all the same
            return self._storage.runs.get(run)
        return None

    def _kept(self, row: RunRow) -> Explanation | None:
        """The last word on this end, and not on that of an earlier attempt."""
        words = judged_words(self._storage, row.id)
        return read_explanation(words[-1]) if words and words[-1].at_ns >= (row.ended_ns or 0) else None

    def _judged(self, loaded: LoadedRun) -> LoadedRun:
        words: Sequence[Judged] = ()
        with contextlib.suppress(StorageError):
            words = judged_words(self._storage, loaded.row.id)
        return judge(loaded, self._machines, words=words)

    def _their_now(self, run: str, digests: Sequence[Digest]) -> int:
        """The time by the clock of a run's machine, where that matters."""
        row = self._row(run)
        return by_their_clock(time.time_ns(), digests, heard_ns=row.heard_ns if row is not None else None)

    def _ask_again(self, run: str) -> None:
        if self._asked is None or run in self._asked:
            return
        self._asked.add(run)

        def ask() -> None:
            # In a directory that is not ours nothing is written down, and so nothing would be seen.
            with contextlib.suppress(HolterError, OSError):
                if may_write(self.directory(run)):
                    inquire(self.load(run))

        with contextlib.suppress(RuntimeError):  # we are closing
            self._worker.submit(ask)

    def _announce(self, run: str, project: str) -> None:
        with self._lock:
            self._waiting.discard(run)
        try:
            said = self.verdict(run)
        except (HolterError, OSError):
            return
        word = (said["state"], said["cause"], said["title"], said["cause_mark"])
        if self._causes.get(run) != word:
            self._causes[run] = word
            data = {name: said[name] for name in ("run", "state", "cause", "confidence", "title")}
            self._changes.note("verdict", run, project=project, data=data)
            if (row := self._row(run)) is not None:
                self.tell(row.at(time.time_ns(), self._lateness()), said)


def _has_died(row: RunRow) -> bool:
    """Whether somebody has seen that, and not only its silence."""
    return row.state not in (RUNNING, FINISHED, UNREADABLE) and row.heard_ns is None
