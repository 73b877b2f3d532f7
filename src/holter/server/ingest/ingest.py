"""The way into the server: ranges of journals are kept, then everything below `runs` goes into the storage ports."""

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec

from holter.catalog.change.deletions import Deletions
from holter.catalog.read.machines import Machines
from holter.catalog.read.unreadable import NAMELESS, reason_of, unreadable_row
from holter.errors import OffsetGap, StorageError
from holter.journal.rundir import run_directory
from holter.model.clock import Clock
from holter.model.run_row import RunRow
from holter.model.state import Lateness
from holter.server.ingest.backlog import Backlog, Lag, patient
from holter.server.ingest.copies import CopiedRuns
from holter.server.ingest.followed_run import Change, FollowedRun, stamp_of
from holter.server.ingest.leases import Leases, OnlyServer
from holter.server.ingest.old_verdicts import OldVerdicts
from holter.server.ingest.quiet_runs import WITHIN_S, QuietRuns
from holter.server.ingest.run_rows import bounded
from holter.storage.journals import Answer, JournalStore, Part, offset_of
from holter.storage.opening import Storage, open_journals

_S = 1_000_000_000
# A row of the table is written this often while a run lives: its summary costs more than its points.
ROW_EVERY_NS = 2 * _S
# A run whose processes nobody here can see is quiet when nothing came for so long.
QUIET_AFTER_NS = 120 * _S
# One that has ended is left alone sooner. What is left alone was looked at so long after its last change.
SETTLED_AFTER_NS = 10 * _S
LOOK_AT_QUIET_EVERY_NS = 5 * _S
# How long one `tick` may read, and how long it may write rows: whoever asks meanwhile should not notice.
READ_S, ROWS_S = 0.15, 0.1
# When it ends: a server that is started again should not be away for long.
CLOSE_S = 1.0
# And, where nothing else is to be read, judge runs again that other rules had judged.
JUDGE_S = 0.05


class Ingest:
    """Owns the projection of one data directory. `accept` may be called by any thread, all else by one.

    Nothing is lost when the process dies between any two lines: what was acknowledged is in the journals, and the ports
    say from where on they need them again.
    """

    def __init__(
        self,
        data: str,
        storage: Storage,
        *,
        clock: Clock,
        lateness: Lateness | None = None,
        machines: Machines | None = None,
        received: JournalStore | None = None,
    ) -> None:
        self.trouble: dict[str, str] = {}
        """Runs that are left alone until the next look at all, with the reason."""
        self.unreadable: dict[str, str] = {}
        """Runs that can't be shown, with the reason, which also stands on their rows."""
        self.removed: dict[str, str] = {}
        """The projects of runs that were there and are not any more; whoever has told of one takes it out."""
        self.data = data
        self._storage = storage
        self._clock = clock
        self._lateness = lateness or Lateness()
        self._machines = machines or Machines()
        self.received = received or open_journals(data)
        """Journals and texts as they were sent."""
        self._copies = received if isinstance(received, CopiedRuns) else None
        self.leases: Leases = self._copies.leases if self._copies is not None else OnlyServer()
        """Which runs are taken in here."""
        self.lost: set[str] = set()
        """Runs that another server takes in from now on; whoever has noticed takes them out."""
        self.begin: Callable[[str], None] = lambda run: None
        """Called for a run that another server may have taken in until now, before its row is another."""
        self._settled: dict[str, int] = {}
        """Runs of which all is in the ports, once their rows are, with the time of their last change."""
        self._deletions = Deletions(data)
        self._live: dict[str, FollowedRun] = {}
        self._untold: dict[str, Change] = {}
        """What was taken in, until a call has returned it: where the storage fails in between, the next one does."""
        self._rows_put: dict[str, int] = {}
        self._projected: dict[str, tuple[FollowedRun, RunRow]] = {}
        """Rows that are to be written; one that could not be stays here."""
        seen = storage.runs.seen()
        self._quiet = QuietRuns(data, {run: at_ns for run, (at_ns, _) in seen.items()})
        self._old_verdicts = OldVerdicts(data, storage, seen=seen, machines=self._machines)
        self._is_hurried = False
        self._looked_ns = 0
        self._backlog = Backlog()
        self._waiting: list[str] = []
        self._are_rows_late = False

    def accept(self, journal: str, run: str, *, offset: int, data: bytes) -> int:
        """Keep a range of a journal; see `JournalStore`. It is in the ports after one of the next `tick`s."""
        return offset_of(self.accept_all([Part(run=run, name=journal, offset=offset, data=data)]))

    def accept_transcript(self, run: str, name: str, *, offset: int, data: bytes) -> int:
        """The same for a file of the console."""
        return offset_of(self.accept_all([Part(run=run, kind="text", name=name, offset=offset, data=data)]))

    def accept_all(self, parts: Sequence[Part]) -> list[Answer]:
        """The same for many ranges at once; see `JournalStore.accept_all`."""
        answers = self.received.accept_all(parts)
        now_ns = self._clock.now_ns()
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, int) and not self.leases.is_elsewhere(part.run):
                # What is not on disk is not in the ports either: it comes again.
                kept = part.data[: max(0, answer - part.offset)]
                self._backlog.add(msgspec.structs.replace(part, data=kept) if kept != part.data else part, now_ns)
        return answers

    def bring(self, run: str) -> None:
        """Have all of a run lie in its directory, where it may lie elsewhere. Raises StorageError, OSError."""
        if self._copies is not None and self._copies.bring(run):
            self.announce(run)

    def send(self, run: str) -> None:
        """What was just written to a run's directory is kept where all is. Raises StorageError, OSError."""
        if self._copies is not None:
            self._copies.send(run)

    def announce(self, run: str) -> None:
        """Say that something was added to a run that may be quiet: the next `tick` looks at it."""
        if self.leases.is_elsewhere(run):
            return
        self._backlog.announce(run, self._clock.now_ns())

    @property
    def lag(self) -> Lag:
        """How far the ports are behind what was received. For any thread."""
        return self._backlog.lag(self._clock.now_ns())

    @property
    def behind_s(self) -> float:
        """The seconds of `lag`, in a way that costs nothing. For any thread."""
        return self._backlog.behind_s(self._clock.now_ns())

    @property
    def lateness(self) -> Lateness:
        """When silence means something, now: nobody is judged by how far the ports are behind. For any thread."""
        return patient(self._lateness, self.behind_s)

    def tick(self) -> list[Change]:
        """Bring the ports up to date, for a quarter of a second at most; returns what is new. Call it once a second.

        Raises StorageFull and StorageDamaged; what was not taken in comes with the next call.
        """
        changes = self._untold
        self._let_go_of_lost()
        arrived = self._backlog.take()
        try:
            found = self._find_runs(arrived)
        except BaseException:
            self._backlog.put_back(arrived)
            raise
        self._read_some(found, changes)
        self._update_some_rows(changes)
        if not self.is_behind:
            self._renew_verdicts(changes)
        return self._told()

    def take_in_arrived(self) -> list[Change]:
        """The part of `tick` that cannot wait: read what was received, of runs that are known to be alive."""
        self._let_go_of_lost()
        arrived = self._backlog.take(self._live.keys())
        changes = self._untold
        self._read_some(arrived, changes)
        for run, change in changes.items():
            if self._is_due(run, change):
                self._rows_put.pop(run, None)  # with the next tick
        return self._told()

    def take_in(self, run: str) -> list[Change]:
        """What one run has that is new, with its row: somebody waits for it. Else as `tick`."""
        changes = self._untold
        deadline = time.monotonic() + READ_S
        self._let_go_of_lost()
        self._wake([run])
        while run in self._live and self._advance(run, changes) and time.monotonic() < deadline:
            pass
        if run in self._live:
            self._project(run)
        for kept in self._put_projected():
            changes.setdefault(kept, Change(kept)).has_row = True
        return self._told()

    def _told(self) -> list[Change]:
        changes, self._untold = self._untold, {}
        return [change for change in changes.values() if change]

    @property
    def is_behind(self) -> bool:
        """Whether there is more to read or to write at once: then the next `tick` need not wait."""
        return bool(self._waiting) or self._are_rows_late

    @property
    def live(self) -> int:
        """How many runs are followed: those in which something may happen."""
        return len(self._live)

    def catch_up(self, tell: Callable[[int], None] = lambda waiting: None) -> None:
        """Take in all that is there now, and make it durable; `tell` hears how many runs wait. For tools and tests."""
        for followed in self._live.values():
            followed.hurry()
        self._looked_ns, self._is_hurried = 0, True
        self.tick()
        while self.is_behind:
            tell(len(self._waiting))
            self.tick()
        for run in list(self._live):
            self._project(run)
        self._put_projected()
        self._storage.series.sync()

    def forget(self, run: str) -> None:
        """Remove a run from the ports, its blobs too; its directory is the caller's to remove, before this."""
        self.received.delete(run)
        self._drop(run)
        self._storage.blobs.delete(run)

    def close(self) -> None:
        """Make durable what there is time for: of the rest, the next start repeats the end. Idempotent."""
        self.received.close()
        deadline = time.monotonic() + CLOSE_S
        for run in list(self._live):
            if time.monotonic() > deadline:
                break
            self._storage.series.sync(run)

    def _read_some(self, runs: Iterable[str], changes: dict[str, Change]) -> None:
        """Read of each run in turn, until there is no more or the time is up; who had to wait is first next time."""
        deadline = time.monotonic() + READ_S
        waiting = deque(dict.fromkeys([*self._waiting, *runs]))
        try:
            while waiting:
                run = waiting[0]
                if run in self._live and self._advance(run, changes):
                    waiting.append(run)
                else:
                    self._backlog.done(run)
                waiting.popleft()
                if time.monotonic() > deadline:
                    break
        finally:  # also the one that could not be read now
            self._waiting = list(waiting)
            self._backlog.put_off(self._waiting, self._clock.now_ns())

    def _update_some_rows(self, changes: dict[str, Change]) -> None:
        deadline = time.monotonic() + ROWS_S
        # One that was not read yet looks as if nothing had come for long.
        read = self._live.keys() - set(self._waiting)
        self._backlog.rows_are_late(0)
        self._are_rows_late = False
        has_begun = False  # one at least, however long the machine took to come here
        for run in sorted(read, key=lambda run: self._rows_put.get(run, 0)):
            if has_begun and time.monotonic() > deadline:
                age_ns = self._clock.now_ns() - self._rows_put.get(run, self._clock.now_ns())
                self._backlog.rows_are_late(max(0, age_ns - ROW_EVERY_NS))
                self._are_rows_late = self._is_due(run, changes.get(run, Change(run)))
                break
            if self._is_due(run, changes.setdefault(run, Change(run))):
                self._project(run)
                has_begun = True
        for run in self._put_projected():
            changes.setdefault(run, Change(run)).has_row = True

    def _renew_verdicts(self, changes: dict[str, Change]) -> None:
        for row in self._old_verdicts.renew(self._clock.now_ns(), self.lateness, within_s=JUDGE_S):
            changes.setdefault(row.id, Change(row.id)).has_row = True

    def _find_runs(self, arrived: set[str]) -> list[str]:
        """The runs in which there may be something new."""
        now_ns = self._clock.now_ns()
        if abs(now_ns - self._looked_ns) >= LOOK_AT_QUIET_EVERY_NS:
            self._look_at_all()
            self._looked_ns = now_ns
            self._wake(arrived)
            return list(self._live)
        new = arrived | self._quiet.new_ids()
        self._wake(new)
        if self._waiting:  # each run has its turn before any has another, or there would never be an end
            return [run for run in self._live if run in new]
        # What comes only through us need not be looked at before something has come.
        return [run for run in self._live if run in arrived or not self._backlog.has_arrived(run)]

    def _look_at_all(self) -> None:
        there = self._quiet.ids()
        self.trouble.clear()
        within_s = float("inf") if self._is_hurried else WITHIN_S
        self._wake(self._quiet.changed(there - self._live.keys(), within_s=within_s))
        self._is_hurried = False
        if (known := self._all_runs(there)) is not None:
            gone = (self._quiet.stamps.keys() | self._live.keys()) - known
            deleted = {run for run in gone if self._deletions.find(run) is not None}
            for run in gone:
                # Another server may be about to bring what it had before there were others.
                if run in deleted or self._copies is None or run in self._copies.were:
                    self._drop(run)
            # Where nobody deleted it, it may come back by the way it went; its blobs have no other copy here.
            for run in deleted:
                self.received.delete(run)
                self._storage.blobs.delete(run)

    def _all_runs(self, here: set[str]) -> set[str] | None:
        """Those that there are; None where nobody can say."""
        if self._copies is not None:
            return here | self._copies.there if self._copies.there is not None else None
        # Where the whole folder is gone somebody may have unmounted it: then nothing is forgotten.
        return here if os.path.isdir(os.path.join(self.data, "runs")) else None

    def _drop(self, run: str) -> None:
        """Forget what the journals could give back."""
        if (row := self._storage.runs.get(run)) is not None:
            self.removed[run] = row.project
        for known in (self._live, self._quiet.stamps, self._projected, self._rows_put, self._untold, self.unreadable):
            known.pop(run, None)
        self._backlog.forget(run)
        for port in (self._storage.runs, self._storage.series, self._storage.console, self._storage.media):
            port.delete(run)
        self.leases.forget(run)

    def _wake(self, runs: Iterable[str]) -> None:
        new = {run: self._size(run) for run in runs if run not in self._live and run not in self.trouble}
        if not new:
            return
        numbers = self.leases.take(new)
        for run in new:
            directory = run_directory(self.data, run)
            if run not in numbers:
                self._pass_over(run, directory)
                continue
            self._live[run] = FollowedRun(
                run, directory, storage=self._storage, machines=self._machines, number=numbers[run]
            )
            self._settled.pop(run, None)
            if numbers[run]:
                self.begin(run)
            self._quiet.stamps.setdefault(run, 0)

    def _size(self, run: str) -> int:
        return self._copies.held(run).size if self._copies is not None else 0

    def _pass_over(self, run: str, directory: str) -> None:
        """Another server takes it in, or has taken in all of it."""
        self._backlog.forget(run)
        with contextlib.suppress(OSError):
            self._quiet.stamps[run] = stamp_of(directory)

    def _let_go_of_lost(self) -> None:
        """Of runs that are not ours any more nothing may be written, and nothing is remembered."""
        if (numbers := self.leases.numbers()) is None:
            return
        for run in [run for run, followed in self._live.items() if numbers.get(run) != followed.number]:
            for known in (self._live, self._projected, self._rows_put, self._untold):
                known.pop(run, None)
            self._waiting = [each for each in self._waiting if each != run]
            self._backlog.forget(run)
            self._storage.series.let_go(run)
            self.lost.add(run)

    def _advance(self, run: str, changes: dict[str, Change]) -> bool:
        """Read some of a run; whether there is more."""
        try:
            heard_ns, received = self._backlog.heard(run)
            change = self._live[run].read(self._clock.now_ns(), arrived_ns=heard_ns, received=received)
        except FileNotFoundError:  # removed meanwhile
            return False
        except OSError as error:
            self.trouble[run] = error.strerror or str(error)
            del self._live[run]
            return False
        except OffsetGap:  # with the next tick it begins again from what the storage has
            self.announce(run)
            return False
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001  the boundary: one run that can't be read is one run
            self._give_up(run, error)
            changes.setdefault(run, Change(run)).has_row = True
            return False
        total = changes.setdefault(run, Change(run))
        total.rows += change.rows
        total.lines += change.lines
        total.records += change.records
        total.has_more = change.has_more
        return change.has_more

    def _is_due(self, run: str, change: Change) -> bool:
        """Whether it is time to write a run's row."""
        if change.has_more:
            return False
        now_ns = self._clock.now_ns()
        if abs(now_ns - self._rows_put.get(run, 0)) >= ROW_EVERY_NS or change.records > 0:
            return True
        # A run that counts as dead is alive again with the first row that comes.
        return bool(change) and self._live[run].looks_dead(now_ns, self.lateness)

    def _project(self, run: str) -> None:
        """Make a run's row, to be put with others; let go of a run that is quiet."""
        followed, now_ns = self._live[run], self._clock.now_ns()
        try:
            projected = followed.project(now_ns, self.lateness)
            is_quiet = now_ns - followed.touched_ns > QUIET_AFTER_NS
            is_over = followed.is_settled or (is_quiet and not (projected and projected.is_open))
            stamp_ns = followed.stamp_ns() if is_over else now_ns
        except OSError:  # removed meanwhile
            return
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001  the boundary, as above
            self._give_up(run, error)
            return
        self._rows_put[run] = now_ns
        # What was written after the last look at it must not count as seen.
        if is_over and abs(followed.read_ns - stamp_ns) > SETTLED_AFTER_NS:
            self._settle(run, stamp_ns)
        if projected is None:
            if followed.is_nameless and run not in self.unreadable:
                self._say_unreadable(run, NAMELESS)
            return
        row = msgspec.structs.replace(bounded(projected.row), seen_ns=0 if run in self._live else stamp_ns)
        if followed.is_news(row):
            self._projected[run] = (followed, row)

    def _put_projected(self) -> list[str]:
        """Write all rows that are new in one go; returns whose they were. One that can't be kept stops no other."""
        done = list(self._projected)
        well = [run for run in done if run not in self.unreadable]
        try:
            self._put(well)
        except StorageError:
            raise
        except Exception:  # noqa: BLE001  the boundary: some row has no place in the table; which one shows below
            well = []
        for run in [run for run in done if run not in well]:
            try:
                self._put([run])
            except StorageError:
                raise
            except Exception as error:  # noqa: BLE001  the boundary, as above
                followed, row = self._projected.pop(run)
                followed.has_kept(row)  # it is tried again when it is another
                self._say_unreadable(run, reason_of(error))
        if self._settled and self._copies is not None:
            self._copies.settle(self._settled)
        self._settled.clear()
        return done

    def _put(self, runs: list[str]) -> None:
        if not runs:
            return
        self._storage.runs.put([self._projected[run][1] for run in runs])
        for run in runs:
            followed, row = self._projected.pop(run)
            followed.has_kept(row)
            self._old_verdicts.add(row)
            self.unreadable.pop(run, None)

    def _give_up(self, run: str, error: Exception) -> None:
        """Leave a run alone that can't be read, until its directory changes."""
        followed = self._live.pop(run)
        for known in (self._projected, self._rows_put):
            known.pop(run, None)
        try:
            self._quiet.stamps[run] = followed.stamp_ns()
        except OSError:  # removed meanwhile
            return
        self._say_unreadable(run, reason_of(error))
        self.trouble[run] = self.unreadable[run]

    def _say_unreadable(self, run: str, because: str) -> None:
        self.unreadable[run] = because
        at_ns = self._quiet.stamps.get(run) or self._clock.now_ns()
        before = self._storage.runs.get(run) or RunRow(id=run, name=run, started_ns=at_ns)
        self._storage.runs.put([unreadable_row(before, because=because)])

    def _settle(self, run: str, stamp_ns: int) -> None:
        self._storage.series.sync(run)
        self._quiet.stamps[run] = stamp_ns
        del self._live[run]
        self._rows_put.pop(run, None)
        self._settled[run] = stamp_ns  # once its row is there
