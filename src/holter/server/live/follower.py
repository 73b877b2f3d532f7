"""The one thread that takes in what is written, and says what has changed."""

import contextlib
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TypeVar

import msgspec

from holter.catalog.change.command_journal import newest_word_ns
from holter.errors import StorageDamaged, StorageError, StorageFailing, StorageFull
from holter.journal.rundir import run_directory
from holter.model.clock import Clock
from holter.model.run_row import RunRow
from holter.model.state import RUNNING
from holter.server.ingest.followed_run import Change
from holter.server.ingest.ingest import Ingest
from holter.server.live.changes import Changes
from holter.server.live.verdicts import Verdicts
from holter.server.query.briefs import RunBrief, brief_of
from holter.storage.filters import Compare
from holter.storage.opening import Storage
from holter.storage.runs import RunQuery

T = TypeVar("T")
TICK_S = 0.4
# What was just received is taken in sooner, but many messages at once.
SOON_S = 0.1
TROUBLE_S = 2.0
LOOK_EVERY_S = 1.0
# New evidence about a death may come for so long.
REMEMBERED_S = 600.0
MOST_OPEN = 10_000
TAKEN_IN_WITHIN_S, LOOK_AGAIN_S = 5.0, 0.1


class Follower(threading.Thread):
    """Owns the ingest. Whatever else must not run beside it is done by `call`."""

    def __init__(
        self,
        ingest: Ingest,
        storage: Storage,
        *,
        changes: Changes,
        verdicts: Verdicts,
        complain: Callable[[str], None],
    ) -> None:
        super().__init__(name="holter-follower", daemon=True)
        self.trouble: StorageError | None = None
        """What keeps it from taking anything in; None where all is well."""
        self._ingest = ingest
        self._storage = storage
        self._changes = changes
        self._verdicts = verdicts
        self._clock = Clock()
        self._open: dict[str, RunRow] = {}
        self._shown: dict[str, RunBrief] = {}
        self._died: dict[str, float] = {}
        self._early: dict[str, Change] = {}
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._is_nudged = self._is_calling = False
        self._deleted: set[str] = set()
        """While something is told: of these there is nothing more to tell."""
        self._is_leaving = threading.Event()
        self._looked_at = 0.0
        self._complain = complain
        self.look: Callable[[RunRow], None] = lambda row: None
        """Called for a run that has said something lasting."""
        self.call_others: Callable[[], None] = lambda: None
        """Called where other servers may have to take something in."""
        ingest.begin = self._begin

    def run(self) -> None:
        """Until `close`."""
        self._attempt(self._find_open)
        ticked_at = -TICK_S
        while not self._is_leaving.is_set():
            begun = time.monotonic()
            self._is_nudged = False
            self._do_waiting()
            if begun - ticked_at < TICK_S and not self._ingest.is_behind:
                self._attempt(self._take_in_arrived)
            else:
                ticked_at = begun
                self._attempt(self._tick)
            # Never more than half of the time: others want to be answered.
            soon_at = max(begun + SOON_S, 2 * time.monotonic() - begun)
            while (left_s := self._next_at(soon_at, ticked_at) - time.monotonic()) > 0:
                self._do_next(left_s)
                if self._is_leaving.is_set():
                    break
        self._do_waiting()

    def call(self, work: Callable[[], T]) -> "Future[T]":
        """Have something done soon: between two ticks, or in the middle of telling what one has brought."""
        future: Future[T] = Future()

        def do() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001  whoever waits gets it
                future.set_exception(error)

        self._calls.put(do)
        return future

    def nudge(self) -> None:
        """Something was received: take it in soon. Cheap, for any thread."""
        if not self._is_nudged:
            self._is_nudged = True
            self._calls.put(lambda: None)

    def take_in(self, run: str) -> None:
        """Have what was just written to a run's directory read now. Waits for it, a few seconds at most."""
        self._ingest.announce(run)
        with contextlib.suppress(StorageError, OSError):  # the next one takes it along
            self._ingest.send(run)
        if self._ingest.leases.is_elsewhere(run):
            self.call_others()
            said_ns, deadline = self._said_ns(run), time.monotonic() + TAKEN_IN_WITHIN_S
            while not self._knows(run, said_ns) and time.monotonic() < deadline:
                time.sleep(LOOK_AGAIN_S)
            return
        with contextlib.suppress(TimeoutError):  # then it comes with a later tick
            self.call(lambda: self._attempt(lambda: self._tell(self._ingest.take_in(run)))).result(TAKEN_IN_WITHIN_S)

    def forget(self, run: str) -> None:
        """Take a run that was deleted out of the index, and say so. Only within `call`. Raises StorageError."""
        self._ingest.forget(run)
        self._deleted.add(run)
        self._tell_removed()

    def close(self) -> None:
        """End the thread and wait for it."""
        self._is_leaving.set()
        self._calls.put(lambda: None)
        if self.is_alive():
            self.join()

    def _said_ns(self, run: str) -> int:
        with contextlib.suppress(OSError):  # removed meanwhile
            return newest_word_ns(run_directory(self._ingest.data, run))
        return 0

    def _knows(self, run: str, said_ns: int) -> bool:
        """Whether its row has what people had said until then: the run itself may say more all the time."""
        with contextlib.suppress(StorageError):
            row = self._storage.runs.get(run)
            return row is not None and row.said_ns >= said_ns
        return False

    def _next_at(self, soon_at: float, ticked_at: float) -> float:
        """When to look again: at the latest with the next tick."""
        if self.trouble:
            return soon_at + TROUBLE_S
        is_soon = self._is_nudged or self._ingest.is_behind
        return min(soon_at, ticked_at + TICK_S) if is_soon else ticked_at + TICK_S

    def _do_next(self, within_s: float) -> None:
        try:
            self._calls.get(timeout=within_s)()
        except Empty:
            return

    def _do_waiting(self) -> None:
        """What people wait for goes ahead of what comes by itself."""
        if self._is_calling:  # one after the other
            return
        self._is_calling = True
        try:
            while not self._calls.empty():
                self._calls.get_nowait()()
        finally:
            self._is_calling = False

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.trouble = None
        except (StorageFull, StorageFailing, StorageDamaged) as error:
            self.trouble = error
        except Exception:  # noqa: BLE001  the boundary: one run that can't be read must not end the live view of all
            self._complain(traceback.format_exc())

    def _take_in_arrived(self) -> None:
        self._tell(self._ingest.take_in_arrived())

    def _tell(self, changes: list[Change]) -> None:
        if not self._is_calling:
            self._deleted.clear()
        for change in changes:
            if change.run not in self._deleted:
                self._announce(change)
            self._do_waiting()

    def _tick(self) -> None:
        self._tell(self._ingest.tick())
        self._forget_lost()
        self._tell_removed()
        now = time.monotonic()
        if now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        lateness, now_ns = self._ingest.lateness, self._clock.now_ns()
        for run in list(self._open):  # who is late becomes so without a word
            row, shown = self._open.get(run), self._shown.get(run)
            if row is not None and (
                shown is None or row.is_late(now_ns, lateness) or row.at(now_ns, lateness).is_stale != shown.is_stale
            ):
                self._show(run, row)
                self._do_waiting()
        for run in [run for run, at in self._died.items() if now - at >= REMEMBERED_S]:
            del self._died[run]
            if run not in self._open:
                self._shown.pop(run, None)

    def _forget_lost(self) -> None:
        """Another server tells of them from now on."""
        while self._ingest.lost:
            run = self._ingest.lost.pop()
            for known in (self._open, self._shown, self._died, self._early):
                known.pop(run, None)

    def _tell_removed(self) -> None:
        while self._ingest.removed:
            run, project = self._ingest.removed.popitem()
            for known in (self._open, self._shown, self._died, self._early):
                known.pop(run, None)
            self._changes.note("removed", run, project=project, data={"run": run})

    def _announce(self, change: Change) -> None:
        run = change.run
        row = self._storage.runs.get(run) if change.has_row or run not in self._open else self._open[run]
        if (early := self._early.pop(run, None)) is not None:
            change.rows += early.rows
            change.lines += early.lines
        if row is None:  # not all of it was read yet: then what is new is said with its row
            self._early[run] = change
            return
        self._show(run, row)
        if change.rows:
            told = {"run": run, "project": row.project, "rows": change.rows}
            self._changes.note("rows", run, project=row.project, data=told)
        if change.lines:
            self._changes.note("console", run, project=row.project, data={"run": run, "lines": change.lines})
        if change.records:
            self.look(row)
        if change.records and run in self._died:
            self._verdicts.look(run, row.project)

    def _show(self, run: str, row: RunRow) -> None:
        """Say how a run is, where that is not what was said before."""
        brief = brief_of(row.at(self._clock.now_ns(), self._ingest.lateness))
        # Time alone changes only the living: one that was late for too long comes back with something new.
        is_open = brief.state == RUNNING
        if is_open:
            self._open[run] = row
        else:
            self._open.pop(run, None)
        before = self._shown.get(run)
        if before is not None and _same(before, brief):
            return
        if before is not None and before.state == RUNNING and brief.state != RUNNING:
            self._died[run] = time.monotonic()
        self._changes.note("run", run, project=row.project, data=brief)
        if run in self._died:
            self._verdicts.look(run, row.project)
        self._shown[run] = brief
        if not is_open and run not in self._died:
            del self._shown[run]

    def _begin(self, run: str) -> None:
        """A run that died with the server that took it in, or just before, has died for those who are told, too."""
        row = self._storage.runs.get(run)
        if row is None:
            return
        if row.state == RUNNING and run not in self._open:
            self._keep_open(row)
        if row.state != RUNNING and self._clock.now_ns() - (row.ended_ns or 0) < REMEMBERED_S * 1e9:
            self._died.setdefault(run, time.monotonic())
            self._verdicts.look(run, row.project)

    def _keep_open(self, row: RunRow) -> None:
        self._open[row.id] = row
        self._shown[row.id] = brief_of(row.at(self._clock.now_ns(), self._ingest.lateness))

    def _find_open(self) -> None:
        # At a moment at which nobody can be late.
        query = RunQuery(now_ns=0, where=Compare("state", "=", RUNNING), count=MOST_OPEN, is_counted=False)
        for row in self._storage.runs.query(query).runs:
            if not self._ingest.leases.is_elsewhere(row.id):
                self._keep_open(row)


def _same(one: RunBrief, other: RunBrief) -> bool:
    """Whether nothing has changed but the time that passed."""
    return one == msgspec.structs.replace(other, duration_s=one.duration_s)
