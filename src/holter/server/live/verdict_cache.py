"""Verdicts on runs: made in a thread of their own, kept until there is something new."""

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from holter.catalog.catalog import Catalog
from holter.catalog.change.command_journal import may_write
from holter.catalog.judge.gathering import gather
from holter.catalog.judge.inquiry import inquire
from holter.catalog.judge.verdict import judge
from holter.catalog.present.explanation import as_json
from holter.catalog.read.run_view import LoadedRun, load_run
from holter.catalog.read.sightings import Sightings
from holter.errors import HolterError, NoRun, StorageError
from holter.journal.rundir import is_run_id, run_directory
from holter.model.state import RUNNING, Lateness
from holter.server.ingest.followed_run import stamp_of
from holter.server.ingest.run_rows import by_their_clock
from holter.server.live.changes import Changes
from holter.storage.runs import RunStore

MOST_KEPT = 500
# What is said of a living run, or one that others may still add to, holds for so long.
FRESH_S = 2.0
# What is written in the same moment as a directory's time was read would not move that time.
SETTLED_NS = 2_000_000_000
# Clocks that differ by less are the same: it takes about so long until something is heard. Looked at so often.
SAME_CLOCK_NS, SAME_CLOCK_S = 2_000_000_000, 10.0


class _Case(msgspec.Struct, frozen=True):
    stamp_ns: int
    until: float
    said: dict[str, Any]


class VerdictCache:
    """Thread-safe.

    Args:
        runs: knows when something was last heard of each run, by our own clock.
        sightings: what other runs tell about the machines.
        asks_again: whether those who may know more by now about a death on this machine are asked, once for each run,
            as `holter why` does; what they say comes later as a change.
    """

    def __init__(
        self,
        data: str,
        *,
        runs: RunStore,
        lateness: Callable[[], Lateness],
        changes: Changes,
        sightings: Sightings,
        asks_again: bool = False,
    ) -> None:
        self._data = data
        self._runs = runs
        self._lateness = lateness
        self._changes = changes
        self._sightings = sightings
        self._lock = threading.Lock()
        self._cases: OrderedDict[str, _Case] = OrderedDict()
        self._causes: dict[str, tuple[Any, ...]] = {}
        self._waiting: set[str] = set()
        self._ahead: dict[str, tuple[float, int]] = {}
        self._asked: set[str] | None = set() if asks_again else None
        self._worker = ThreadPoolExecutor(1, "holter-verdicts")

    def load(self, run: str) -> LoadedRun:
        """All that the journals say about a run, and the cause. Raises NoRun, JournalError, OSError."""
        loaded = None
        if is_run_id(run):
            try:
                now_ns = time.time_ns() + self._ahead_ns(run)
                loaded = load_run(run_directory(self._data, run), now_ns=now_ns, lateness=self._lateness())
            except FileNotFoundError:
                loaded = None
        if loaded is None:
            raise NoRun(f"there is no run {run[:128]!r}: it was deleted, or it has not begun yet")
        return judge(loaded, self._sightings)

    def _ahead_ns(self, run: str) -> int:
        """By how much the clock of a run's machine is ahead of ours; 0 where that does not matter."""
        with self._lock:
            known = self._ahead.get(run)
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        try:
            row = self._runs.get(run)
        except StorageError:  # the journals can be read all the same
            return 0
        if row is None or row.heard_ns is None:
            return 0
        loaded = load_run(run_directory(self._data, run), now_ns=time.time_ns(), lateness=self._lateness())
        ahead_ns = by_their_clock(0, loaded.digests, heard_ns=row.heard_ns) if loaded is not None else 0
        ahead_ns = ahead_ns if abs(ahead_ns) > SAME_CLOCK_NS else 0
        with self._lock:
            if len(self._ahead) > MOST_KEPT:
                self._ahead.clear()
            self._ahead[run] = (time.monotonic() + SAME_CLOCK_S, ahead_ns)
        return ahead_ns

    def verdict(self, run: str) -> dict[str, Any]:
        """The object of `holter why --json`. Waits up to two seconds where the run died a moment ago.

        Raises NoRun, JournalError, OSError.
        """
        directory = self.directory(run)
        try:
            stamp_ns = stamp_of(directory)
        except FileNotFoundError:
            raise NoRun(f"there is no run {run!r}: it was deleted, or it has not begun yet") from None
        with self._lock:
            case = self._cases.get(run)
        if case is not None and case.stamp_ns == stamp_ns and time.monotonic() < case.until:
            return case.said
        # The stamp is from before: what comes meanwhile, also what we write down ourselves, is looked at next time.
        ahead_ns = self._ahead_ns(run)
        loaded = Catalog(self._data, self._lateness(), now_ns=lambda: time.time_ns() + ahead_ns).load(run)
        if not loaded.by_itself.is_final:
            loaded = judge(loaded, self._sightings)
        said = as_json(loaded, gather(loaded))
        is_over = loaded.is_settled and loaded.view.state != RUNNING
        if is_over:
            self._ask_again(loaded)
        is_quiet = time.time_ns() - stamp_ns > SETTLED_NS
        until = float("inf") if is_over and is_quiet else time.monotonic() + FRESH_S
        with self._lock:
            self._cases.pop(run, None)
            self._cases[run] = _Case(stamp_ns, until, said)
            if len(self._cases) > MOST_KEPT:
                self._cases.popitem(last=False)
        return said

    def directory(self, run: str) -> str:
        """Where a run's files lie. Raises NoRun for what can't be a run."""
        if not is_run_id(run):
            raise NoRun(f"there is no run {run[:128]!r}")
        return run_directory(self._data, run)

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

    def _ask_again(self, loaded: LoadedRun) -> None:
        run = loaded.view.id
        if self._asked is None or run in self._asked:
            return
        self._asked.add(run)

        def ask() -> None:
            # In a directory that is not ours nothing is written down, and so nothing would be seen.
            if may_write(loaded.view.directory) and inquire(loaded) is not loaded:
                self._announce(run, loaded.view.project)

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
