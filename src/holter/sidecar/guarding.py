"""Shows each moment of one run to its guards, and writes down what they warn of."""

import os
import signal as signal_module
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from holter.guards.checks.gpu_use import WHOLE_SHARE
from holter.guards.limits import Limits
from holter.guards.patrol import Patrol, Told, open_patrol
from holter.guards.progress import Bad, Progress
from holter.guards.seen import Death, GpuHolder, Member, Neighbour, Seen, Standing
from holter.model.clock import Clock
from holter.model.evidence import Holder
from holter.model.quota import Quota
from holter.model.record import Record
from holter.model.records import CellEnded, CellStarted, ChildExited
from holter.model.state import signal_name
from holter.model.warning_records import Noticed, Warned
from holter.probes.live.process import Reading
from holter.probes.postmortem.gpu_events import GpuWatch
from holter.probes.procfs import PROC, find_number, read_schedule
from holter.sidecar.children import read_command
from holter.sidecar.internal_log import write_down
from holter.sidecar.journal_ear import JournalEar
from holter.sidecar.standstill import Silent, Standstill
from holter.wire.way_back import Warn, Watch, WhereAreYou

if TYPE_CHECKING:
    from holter.sidecar.gpu_others import GpuOthers

MOST_WRITTEN = 500
# A worker's parent and we may both tell of its end.
TWICE_S = 60.0


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """What the sidecar knows of one moment."""

    row: Mapping[str, float | int]
    readings: Mapping[int, Reading]
    roots: Sequence[int]
    ranks: Mapping[int, int | None] = {}
    names: Mapping[int, str] = {}
    gone: Sequence[ChildExited] = ()
    limits: Mapping[int, bytes] = {}
    """The text of each root's limits."""
    others: Sequence[Holder] = ()
    gpu: GpuWatch | None = None
    quotas: Mapping[str, tuple[Quota, ...]] = {}


class Guarding:
    """The guards of one run. One thread.

    Args:
        record: keeps a sentence in the sidecar's journal.
    """

    def __init__(self, watch: Watch, record: Callable[[Record], None], *, clock: Clock) -> None:
        self.run = watch.run
        self._directory = watch.directory
        self._own_silence = frozenset(watch.silenced)
        self._record = record
        self._clock = clock
        self._ears: dict[str, JournalEar] = {}
        self.progress = Progress()
        self._written = 0
        self._patrol: Patrol = open_patrol(failed=self._complain)
        self._kills = 0.0
        self._lost: list[ChildExited] = []
        """Workers whose end their parent told of since the last look."""
        self._told_lost: dict[int, float] = {}
        self._noticed: list[Noticed] = []
        self._killed: set[int] = set()
        """Children that their parents ended themselves."""
        self._has_lost_worker = False
        self._standstill = Standstill(record, clock=clock, limits=Limits())
        self._gpu_others: GpuOthers | None = None
        self._whole: str | None = None
        self._facts: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1}

    def follow(self, journal: str) -> None:
        """A process that logs writes this journal."""
        self._ears.setdefault(journal, JournalEar(self._directory, journal))

    def silence(self, guards: Iterable[str]) -> None:
        """The guards of which nobody wants to hear now, beside those of the run's settings."""
        self._patrol.silenced = {*self._own_silence, *guards}

    def hear(self, pid: int, stack: str) -> None:
        """A program says where its threads are."""
        self._standstill.hear(pid, stack)

    def tick(self, tick: Tick) -> Iterator[Warn | WhereAreYou]:
        """Once a second; yields what the program, and the people before it, should hear."""
        now_s = self._clock.monotonic_ns() / 1e9
        bad = self._listen(now_s)
        if tick.limits and "files_limit" not in self._facts:
            self._facts["files_limit"] = _files_limit(tick.limits)
        deaths = self._deaths(tick)
        standing = self._stand(tick, now_s)
        if self._standstill.wants_stacks:
            self._standstill.wants_stacks = False
            yield WhereAreYou(run=self.run)
        ran_s, waited_s = read_schedule(tick.roots[0])
        seen = Seen(
            now_s=now_s,
            now_ns=self._clock.now_ns(),
            row=tick.row,
            progress=self.progress,
            members={pid: _member(pid, reading, tick) for pid, reading in tick.readings.items()},
            bad=bad,
            deaths=deaths,
            standing=standing,
            noticed=self._noticed,
            neighbours=[_neighbour(each) for each in sorted(tick.others, key=lambda each: -each.rss_bytes)],
            facts=self._facts,
            quotas=tick.quotas,
            gpu_others=self._look_at_gpus(tick, now_s),
            ran_s=ran_s,
            waited_s=waited_s,
            takes_whole_gpu=self._takes_whole_gpu(tick),
        )
        for told in self._patrol.look(seen):
            yield from self._tell(told)

    def _look_at_gpus(self, tick: Tick, now_s: float) -> Mapping[int, Sequence[GpuHolder]]:
        if tick.gpu is None:
            return {}
        if self._gpu_others is None:
            from holter.sidecar.gpu_others import GpuOthers  # only where there is a GPU

            self._gpu_others = GpuOthers()
        return self._gpu_others.look(tick.gpu, tick.roots[0], own=tick.readings, now_s=now_s)

    def _takes_whole_gpu(self, tick: Tick) -> str:
        """Looked at once: when the program has most of a GPU."""
        if self._whole is None and tick.gpu is not None:
            shares = [
                own / tick.row[name.replace("tree_memory", "memory_total")]
                for name, own in tick.row.items()
                if name.startswith("system/gpu/") and name.endswith("/tree_memory_bytes")
            ]
            if any(share > WHOLE_SHARE for share in shares):
                from holter.sidecar.gpu_others import takes_whole_gpu

                self._whole = takes_whole_gpu(tick.roots[0])
        return self._whole or ""

    def _stand(self, tick: Tick, now_s: float) -> Standing | None:
        """What the program does that has been silent for long."""
        silent = Silent(
            now_s=now_s,
            progress=self.progress,
            roots=tick.roots,
            ranks=tick.ranks,
            readings=tick.readings,
            row=tick.row,
            lost_worker=self._has_lost_worker,
        )
        return self._standstill.look(silent)

    def _deaths(self, tick: Tick) -> list[Death]:
        """Workers that did not leave by themselves, and were not ended by their parent."""
        kills = sum(value for key, value in tick.row.items() if key.endswith("/oom_kill") and value == value)
        before, self._kills = self._kills or kills, kills
        found = []
        lost, self._lost = self._lost, []
        now_s = self._clock.monotonic_ns() / 1e9
        for each in (*tick.gone, *lost):
            signal = (each.status or 0) & 0x7F
            if not each.status or signal == signal_module.SIGTERM or not _is_worker(each, tick):
                continue
            if each.pid in self._killed or now_s - self._told_lost.get(each.pid, -TWICE_S) < TWICE_S:
                continue
            self._told_lost[each.pid] = now_s
            self._has_lost_worker = True
            is_memory = signal == signal_module.SIGKILL and kills > before
            why = (
                "Linux ended it because the memory of its container or of the machine was used up" if is_memory else ""
            )
            how = f"killed by {signal_name(signal)}" if signal else f"with exit code {each.status >> 8}"
            name = each.name or tick.names.get(each.pid, "")
            found.append(Death(pid=each.pid, name=name, how=how, why=why))
        return found

    def _listen(self, now_s: float) -> list[Bad]:
        bad: list[Bad] = []
        self._noticed = []
        ahead_s = now_s - self._clock.now_ns() / 1e9
        for ear in self._ears.values():
            try:
                heard = ear.listen()
            except OSError:
                continue
            at_s = max((row.at_ns / 1e9 + ahead_s for row in heard.last), default=now_s)
            for row in (*heard.odd, *heard.last):
                bad += self.progress.take(row.values, row.step, row.at_ns / 1e9 + ahead_s)
            for record in heard.records:
                if isinstance(record, ChildExited) and record.parent_signal:
                    self._killed.add(record.pid)
                elif isinstance(record, ChildExited):
                    self._lost.append(record)
                elif isinstance(record, Noticed):
                    self._noticed.append(record)
                elif isinstance(record, CellStarted | CellEnded):
                    if isinstance(record, CellStarted):
                        self.progress.cell = record.number or None
                    self.progress.rest(record.at_ns / 1e9 + ahead_s, is_over=isinstance(record, CellStarted))
            self.progress.advance(min(at_s, now_s), rows=heard.rows, step=heard.highest)
        return bad

    def _tell(self, told: Told) -> Iterator[Warn]:
        self._written += 1
        if self._written <= MOST_WRITTEN:
            self._record(told.record)
        record = told.record
        if isinstance(record, Warned) and (told.is_said or told.is_pressing):
            yield Warn(
                run=self.run,
                guard=record.guard,
                text=record.text,
                subject=record.subject,
                advice=(f"try: {'; or '.join(record.advice[:2])}",) if record.advice else (),
                is_said=told.is_said,
                is_pressing=told.is_pressing,
            )

    def _complain(self, guard: str, error: Exception) -> None:
        write_down(self._directory, f"WARN guard {guard} failed: {type(error).__name__}: {error}")


def _member(pid: int, reading: Reading, tick: Tick) -> Member:
    return Member(
        pid=pid,
        name=tick.names.get(pid, ""),
        rss_bytes=reading.rss_bytes,
        own_bytes=max(0, reading.anon_bytes - reading.shared_bytes),
        private_bytes=reading.private_bytes,
        state=reading.stat.state,
        cpu_ticks=reading.stat.cpu_ticks,
        threads=reading.stat.threads,
        open_files=reading.open_files,
        is_root=pid in tick.roots,
    )


def _neighbour(holder: Holder) -> Neighbour:
    try:
        owner = os.stat(f"{PROC}/{holder.pid}").st_uid
    except OSError:
        return Neighbour(pid=holder.pid, name=holder.name, owner="", bytes=0.0)  # gone meanwhile
    return Neighbour(pid=holder.pid, name=holder.name, owner=f"user {owner}", bytes=holder.rss_bytes)


def _is_worker(exited: ChildExited, tick: Tick) -> bool:
    """Whether it is a process of the training: forked or spawned by multiprocessing, or named so by a data loader."""
    is_told = exited.source == "multiprocessing" or "multiprocessing" in exited.command
    if is_told or tick.names.get(exited.pid, "").startswith("pt_"):
        return True
    return bool(exited.command) and any(exited.command == read_command(pid) for pid in tick.roots)


def _files_limit(limits: Mapping[int, bytes]) -> int:
    """The fewest files that one of the programs may have open; 0 where nobody can tell."""
    found = [find_number(text, b"Max open files ") for text in limits.values()]
    return min((each for each in found if each), default=0)
