"""One run as its sidecar sees it: the processes that belong to it, and what is written about them."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING

import msgspec

from holter.catalog.change.space import trim_the_dead
from holter.errors import NotKept
from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.evidence import Counters
from holter.model.masking import Masking, masked_in_words
from holter.model.quota import Quota
from holter.model.record import Record
from holter.model.records import Beat, ChildExited, Exited, KernelAsked, Lost, Noted, Opened, Totals
from holter.model.witnesses import witnesses_without
from holter.probes.identity import ProcessIdentity, identify, is_alive, this_process
from holter.probes.live.process import Reading
from holter.probes.postmortem.exit_witnesses import ExitWitnesses
from holter.probes.postmortem.scene import Death
from holter.probes.procfs import read_stat
from holter.recording.workshop import Workshop
from holter.sidecar.autopsy import Autopsy
from holter.sidecar.children import Children
from holter.sidecar.consoles import ConsoleKeeper
from holter.sidecar.counting import Counting
from holter.sidecar.followed_events import FollowedEvents
from holter.sidecar.internal_log import write_down_failure
from holter.sidecar.keeping import Keeper
from holter.sidecar.last_known import LastKnown
from holter.sidecar.spending import Spending
from holter.sidecar.syncing import Syncer
from holter.wire.way_back import Ended, HowItEnded, OnServer, Say, Warn, Watch, WhereAreYou

if TYPE_CHECKING:
    from holter.sidecar.guarding import Guarding
    from holter.sidecar.notifying import Notifier
    from holter.sidecar.uploading import Uploader

BEAT_NS = 5_000_000_000
# How long a dead process may wait to be reaped until we do without its exit status.
STATUS_WITHIN_NS = 2_000_000_000
YOUNG_NS = 10_000_000_000
# By then the start is over, for which nobody should wait.
GUARDED_FROM_TICK = 3
ALL_GUARDS = "*"
# Rows are worth more than samples: ours stop a little before the run's limit.
SHARE_OF_LIMIT = 0.9


class Process(msgspec.Struct):
    """A recorded process. `pidfd` is negative where Linux has none."""

    watch: Watch
    pidfd: int
    added_ns: int = 0
    died_at_ns: int = 0
    counters: Counters | None = None
    """What they stood at when it died."""
    server: ProcessIdentity | None = None
    """Of a notebook's kernel."""


class WatchedRun:
    """Owns the sidecar's journal of one run. Used by the loop's thread only; closed by the loop."""

    def __init__(self, watch: Watch, clock: Clock, *, exits: ExitWitnesses) -> None:
        self.directory = watch.directory
        self.processes: list[Process] = []
        self.children = Children(clock, exits)
        self._exits = exits
        self.run = watch.run
        self._attempt = watch.attempt
        self._clock = clock
        self._ticks = 0
        self._is_closed = self._has_told_masked = False
        self._beat_at_ns = 0
        self.masking = Masking(watch.not_secret)
        limit = int(watch.limit_bytes * SHARE_OF_LIMIT) if watch.limit_bytes >= 0 else -1
        self._journal = JournalWriter(
            watch.directory, self._prologue, clock=clock, limit_bytes=limit, masking=self.masking
        )
        self._rows = RowEncoder(self._journal.append_held)
        self._syncer = Syncer(watch.directory)
        self._console = ConsoleKeeper(
            watch.directory,
            clock,
            found=lambda kind, secret: self.masking.found(kind, secret, place="console"),
            done=self._say_masked,
        )
        self.files = Keeper(watch, self.record, clock=clock)
        self._says: SimpleQueue[Say] = SimpleQueue()
        self.media = Workshop(
            watch.directory,
            record=self.record,
            say=lambda cause, text: self._says.put(Say(cause=cause, text=text)),
            limit_bytes=watch.limit_bytes,
        )
        self.autopsy = Autopsy(
            watch.directory, self.record, clock=clock, without=witnesses_without(), hears_exits=exits.hears_exits
        )
        self._counting = Counting(self.record, clock)
        self._spending = Spending(self.record, clock=clock)
        self._known = LastKnown(self.record, clock)
        self.uploader: Uploader | None = None
        self.notifier: Notifier | None = None
        self.guarding: Guarding | None = None
        """None until the start is over, or where nobody wants guards."""
        self.events = FollowedEvents(
            watch, lambda: self._opened("worker"), clock=clock, masking=self.masking, say=self._remark
        )
        """What the program writes for TensorBoard where only its files tell."""
        self._watch = watch
        self._gone: list[ChildExited] = []
        self._warnings: list[Warn | WhereAreYou] = []
        self._quotas: Mapping[str, tuple[Quota, ...]] = {}

    def add(self, watch: Watch, pidfd: int) -> None:
        """Watch one more process of this run."""
        self._attempt = max(self._attempt, watch.attempt)
        if self.files.finishing_since:  # the run goes on while its end is being written
            self.files = Keeper(watch, self.record, clock=self._clock)
        server = identify(watch.server_pid) if watch.server_pid else None
        self.processes.append(Process(watch, pidfd, server=server, added_ns=self._clock.now_ns()))
        self._exits.follow(watch.pid, pidfd)
        self.children.add_root(watch.pid)
        if watch.by_launcher and _has_waited(watch):
            self.autopsy.has_missed(watch.pid)
        self._counting.follow(watch.pid)
        self._console.add(watch, pidfd)
        self.beat()
        if self.notifier is None and watch.alerts:
            from holter.sidecar.notifying import Notifier  # HTTP and mail: only for those who want to be told

            self.notifier = Notifier(watch, self.add_late, clock=self._clock)
        if self.uploader is None and watch.upload is not None:
            from holter.sidecar.uploading import Uploader  # HTTP: only those pay for it who send

            self.uploader = Uploader(watch, watch.upload, record=self.record)
        elif self.uploader is not None:
            self.uploader.journals.append(watch.journal)

    def ring(self) -> None:
        """A process has something in its journal that should not wait."""
        self.files.ring()
        if self.notifier is not None:
            self.notifier.ring()

    def ended(self, message: Ended) -> None:
        """The program ended the run by itself; the process may live on without it."""
        if message.lost:
            now_ns = self._clock.now_ns()
            self.record(Lost(at_ns=now_ns, records=message.lost, since_ns=now_ns, because=message.because))
        if not message.is_leaving:
            for each in [each for each in self.processes if each.watch.journal == message.journal]:
                self._forget(each)

    def tick(
        self,
        values: dict[str, float | int],
        tree: Sequence[int],
        *,
        readings: Mapping[int, Reading],
        quotas: Mapping[str, tuple[Quota, ...]],
    ) -> None:
        """Keep one tick of system values; `readings` has each process of the tree, `quotas` those of each place."""
        self._ticks += 1
        self._quotas = quotas
        roots = [each.watch.pid for each in self.processes if not each.died_at_ns]
        for pid in [*roots, *self.children.meet([pid for pid in tree if pid not in roots])]:
            self._counting.follow(pid)
        self._counting.tick()
        if roots:
            self._known.bounded = self._counting.bounded
            self._known.tick(values, readings, roots=roots)
        self.events.look()
        self.autopsy.gpu = self._known.gpu
        self._guard(values, readings, roots)
        self._spending.tick(values, self.guarding.progress if self.guarding is not None else None)
        try:
            with self._journal.lock:
                self._rows.append(dict(values), self._ticks, self._clock.now_ns())
            self._journal.look_after()
        except (NotKept, OSError):
            return  # samples are the first thing to do without

    def _guard(
        self, values: Mapping[str, float | int], readings: Mapping[int, Reading], roots: Sequence[int], /
    ) -> None:
        if ALL_GUARDS in self._watch.silenced:
            self._gone.clear()
            return
        if self._ticks < GUARDED_FROM_TICK or not roots:
            return
        from holter.sidecar.guarding import Guarding, Tick

        if self.guarding is None:
            self.guarding = Guarding(self._watch, self.record, clock=self._clock)
        for each in self.processes:
            if not each.watch.by_launcher:
                self.guarding.follow(each.watch.journal)
        self.guarding.silence(self.files.silenced)
        gone, self._gone = self._gone, []
        tick = Tick(
            row=values,
            readings=readings,
            roots=roots,
            ranks={each.watch.pid: each.watch.rank for each in self.processes},
            names=self._known.names,
            gone=gone,
            limits=self._known.limits,
            others=self._known.others,
            gpu=self._known.gpu,
            quotas=self._quotas,
        )
        try:
            self._warnings += self.guarding.tick(tick)
        except Exception:  # noqa: BLE001  the boundary: who can't be warned is recorded all the same
            write_down_failure(self.directory, "guards: ")

    def look_at_the_young(self) -> bool:
        """Commands set their handlers for signals in their first seconds; true while one is so young. Cheap."""
        now_ns = self._clock.now_ns()
        young = [
            each.watch.pid
            for each in self.processes
            if each.watch.by_launcher and not each.died_at_ns and now_ns - each.added_ns < YOUNG_NS
        ]
        for pid in young:
            self._known.look_at(pid)
        return bool(young)

    def beat(self) -> None:
        """Every five seconds: we are here, and so are they. And media are made."""
        self.media.look()
        now_ns = self._clock.now_ns()
        if now_ns >= self._beat_at_ns:
            self._beat_at_ns = now_ns + BEAT_NS
            pids = tuple(each.watch.pid for each in self.processes if not each.died_at_ns)
            self.record(Beat(at_ns=now_ns, monotonic_ns=self._clock.monotonic_ns(), pids=pids))

    def words(self) -> Iterator[Say | Warn | WhereAreYou | OnServer | HowItEnded]:
        """What the user should know, each once."""
        warnings, self._warnings = self._warnings, []
        yield from warnings
        if self.masking.counts and not self._has_told_masked:
            self._has_told_masked = True
            text = f"masked {masked_in_words(self.masking.counts)}"
            yield Say(cause=f"masked {self.run}", text=text, is_by_the_way=True)
        while not self._says.empty():
            yield self._says.get()
        while self.uploader is not None and not self.uploader.words.empty():
            yield self.uploader.words.get()
        if (word := self.autopsy.word) is not None:
            self.autopsy.word = None
            yield word

    def look_for_deaths(self) -> bool:
        """Record who died and how; true while a process of the run is dead whose status is still awaited."""
        self._look_for_dead_children()
        waiting = False
        for each in self.processes.copy():
            if not each.died_at_ns and _is_dead(each):
                each.died_at_ns = self._clock.now_ns()
                each.counters = self._counting.look(each.watch.pid)
                if each.server is not None and is_alive(each.server) is False:
                    self.record(KernelAsked(at_ns=each.died_at_ns, kind="server-gone"))
            if each.died_at_ns:
                waiting = not self._record_death(each) or waiting
        return waiting

    def record(self, record: Record) -> None:
        """Keep a sentence, if the disk takes it."""
        try:
            self._journal.record(record)
        except NotKept:
            return  # the client counts and says what a full disk costs

    def add_late(self, record: Record) -> None:
        """Keep a sentence, also after the end, in a segment of its own."""
        with contextlib.suppress(NotKept), self._journal.lock:
            if self._is_closed:
                self._journal.reopen()
            self._journal.record(record)
            if self._is_closed:
                self._journal.close()

    def _remark(self, cause: str, text: str) -> None:
        """Say something in the terminal, if somebody is there to say it to, and in the run."""
        self.record(Noted(at_ns=self._clock.now_ns(), text=text[:1000]))
        self._says.put(Say(cause=cause, text=text))

    def _say_masked(self) -> None:
        """The console has ended, perhaps after our journal: what was hidden in the last of it is said too."""
        if not self.masking.has_news:
            return
        with contextlib.suppress(NotKept), self._journal.lock:
            self._journal.reopen()
            self._journal.say_masked()
            if self._is_closed:
                self._journal.close()

    def finish(self) -> bool:
        """All processes are gone: write everything a last time. Never blocks; true when that is done."""
        self.events.finish()
        return self.files.finish() and self.autopsy.finish() and self.media.finish()

    def close(self) -> None:
        """The run has ended on this host: give back what the dead had reserved, and leave all of it on the disk."""
        self._look_for_dead_children()
        self.children.close()
        self.autopsy.close()
        self._counting.close()
        self._spending.write()
        self._known.close()
        self._console.close()
        with self._journal.lock:
            self._is_closed = True
            self._journal.close()
        trim_the_dead(self.directory)
        self._syncer.close()
        if self.notifier is not None:
            self.notifier.finish()
        if self.uploader is not None:
            self.uploader.finish(lambda: self._console.is_over)

    def _record_death(self, process: Process) -> bool:
        watch = process.watch
        found = self._exits.read(process.pidfd, watch.pid, started=watch.process_started)
        if found is None and _is_there(watch) and self._clock.now_ns() - process.died_at_ns < STATUS_WITHIN_NS:
            return False
        # It may have been waited for between our two looks.
        found = found or self._exits.read(process.pidfd, watch.pid, started=watch.process_started)
        status, source = (found.status, found.source) if found else (None, "gone")
        self.record(
            Exited(at_ns=process.died_at_ns, journal=watch.journal, pid=watch.pid, source=source, status=status)
        )
        self._forget(process)
        self.autopsy.begin(
            self._describe(watch.pid, process.died_at_ns, status, counters=process.counters, cwd=watch.cwd)
        )
        return True

    def _forget(self, process: Process) -> None:
        self.processes.remove(process)
        self._exits.forget(process.watch.pid)
        if process.pidfd >= 0:
            os.close(process.pidfd)

    def _look_for_dead_children(self) -> None:
        for exited in self.children.look_for_deaths():
            self.record(exited)
            self._gone.append(exited)
            counters = self._counting.look(exited.pid)
            death = self._describe(exited.pid, exited.at_ns, exited.status, counters=counters)
            self.autopsy.begin(msgspec.structs.replace(death, is_child=True))
            self._counting.forget(exited.pid)

    def _describe(
        self, pid: int, at_ns: int, status: int | None, /, *, counters: Counters | None, cwd: str = ""
    ) -> Death:
        known = self._known
        reading = known.readings.get(pid)
        process = (
            {
                "open_files": reading.open_files,
                "address_space_bytes": reading.address_space_bytes,
                "cpu_s": reading.stat.cpu_ticks / os.sysconf("SC_CLK_TCK"),
            }
            if reading
            else {}
        )
        return Death(
            pid=pid,
            at_ns=at_ns,
            status=status,
            counters=counters,
            cgroups=self._counting.paths,
            bounded=self._counting.bounded,
            row=known.row,
            holders=known.holders,
            process=process,
            limits=known.limits.get(pid, b""),
            heeded=known.heeded.get(pid),
            stack_start=known.stack_starts.get(pid, 0),
            outputs=frozenset(path for paths in known.outputs.values() for path in paths),
            cwd=cwd,
            threads=self._exits.threads_of(pid),
        )

    def _opened(self, writer: str) -> Opened:
        return this_process().opens(self.run, writer, at_ns=self._clock.now_ns(), attempt=self._attempt)

    def _prologue(self) -> Iterator[bytes]:
        now_ns = self._clock.now_ns()
        yield encode_record(self._opened("sidecar"))
        yield encode_record(
            Totals(at_ns=now_ns, rows=self._rows.rows, last=self._rows.last_values(), last_at_ns=now_ns)
        )
        yield from self._rows.declarations()


def _has_waited(watch: Watch) -> bool:
    """Whether a command that was started just now is gone already, or one of its children is: nobody heard of that."""
    stat = read_stat(watch.pid)
    return stat is None or stat.started != watch.process_started or bool(stat.reaped_faults)


def _is_there(watch: Watch) -> bool:
    stat = read_stat(watch.pid)
    return stat is not None and stat.started == watch.process_started


def _is_dead(process: Process) -> bool:
    watch = process.watch
    if process.pidfd >= 0:
        import select

        poll = select.poll()
        poll.register(process.pidfd, select.POLLIN)
        return bool(poll.poll(0))
    return identify(watch.pid) is None
