"""What the sidecar last saw of a run, for the moment in which it can't be seen any more."""

from collections.abc import Callable, Mapping, Sequence

from holter.model.clock import Clock
from holter.model.evidence import REQUESTS, Holder
from holter.model.record import Record
from holter.probes.live.process import Reading
from holter.probes.postmortem.answers import answer
from holter.probes.postmortem.gpu_events import GpuWatch, has_gpu, open_gpu_watch
from holter.probes.postmortem.process_table import is_scarce, look, read_name
from holter.probes.postmortem.surroundings import read_limits, read_outputs
from holter.probes.procfs import PROC, Stat, read_file, read_stat

SCAN_EVERY_S = 3.0
# A look at every process of a host that has thousands must not take more than a two-hundredth of the time.
REST_PER_SCAN = 200
# What is written down before the end is for the case that we are killed too.
WRITE_EVERY_S = 30.0
MOST_WRITTEN = 20
MOST_NAMES = 512
LIMITS_EVERY_TICKS = 30
FIRST_TICKS = 5


class LastKnown:
    """Takes in each tick of one run. One thread; closed by its owner.

    Args:
        record: keeps a sentence in the sidecar's journal.
    """

    def __init__(self, record: Callable[[Record], None], clock: Clock) -> None:
        self.row: Mapping[str, float | int] = {}
        self.readings: dict[int, Reading] = {}
        self.limits: dict[int, bytes] = {}
        self.heeded: dict[int, tuple[int, ...]] = {}
        """The signals that each recorded process ever had a handler for, or held back: Python takes its own away before
        it leaves."""
        self.stack_starts: dict[int, int] = {}
        self.outputs: dict[int, tuple[str, ...]] = {}
        """The files into which each process of the run prints, or did when it was last seen."""
        self.gpu: GpuWatch | None = None
        self.others: tuple[Holder, ...] = ()
        """The largest processes of others, when memory was last scarce."""
        self.bounded: frozenset[str] = frozenset()
        """The cgroups with a limit that the run is in."""
        self._record = record
        self._clock = clock
        self._names: dict[int, str] = {}
        self._ticks = 0
        self._scan_at = self._write_at = 0.0
        self._written = 0

    @property
    def names(self) -> Mapping[int, str]:
        """What each process of the run is called."""
        return self._names

    @property
    def holders(self) -> dict[int, Holder]:
        """The processes of the run with the memory that each had."""
        return {
            pid: Holder(pid=pid, name=self._names.get(pid, ""), rss_bytes=reading.rss_bytes, is_ours=True)
            for pid, reading in self.readings.items()
            if reading.rss_bytes
        }

    def look_at(self, pid: int) -> None:
        """See which signals a process heeds at this moment, and what else changes in its first seconds; cheap."""
        stat = read_stat(pid)
        if stat is not None:
            self._remember(pid, stat)

    def tick(self, row: Mapping[str, float | int], readings: Mapping[int, Reading], *, roots: Sequence[int]) -> None:
        """Once a second, while a process of the run lives."""
        self._ticks += 1
        self.row = row
        # A process that is being ended has given its memory back already, and what it had is what we are asked for.
        self.readings = {
            pid: self.readings[pid] if _has_let_go(reading) and pid in self.readings else reading
            for pid, reading in readings.items()
        }
        self._learn_names()
        for pid in [pid for pid in roots if pid in self.readings]:
            self._remember(pid, self.readings[pid].stat)
        if self._ticks <= FIRST_TICKS or self._ticks % LIMITS_EVERY_TICKS == 0:
            self.limits.update({pid: text for pid in roots if (text := read_limits(pid))})
        if has_gpu(row):
            self.gpu = self.gpu or open_gpu_watch()
        if self.gpu is not None:
            self.gpu.tick(row, self._clock.now_ns())
        if is_scarce(row) and self._now_s() >= self._scan_at:
            self._scan()

    def _remember(self, pid: int, stat: Stat) -> None:
        if stat.is_exiting or stat.is_dead:
            return
        self.stack_starts[pid] = stat.stack_start or self.stack_starts.get(pid, 0)
        self.outputs[pid] = read_outputs(pid) or self.outputs.get(pid, ())
        # Who waits for signals has them neither blocked nor handled, and takes them all the same.
        awaited = REQUESTS if b"sigtimedwait" in (read_file(f"{PROC}/{pid}/wchan") or b"") else ()
        self.heeded[pid] = tuple(sorted({*self.heeded.get(pid, ()), *stat.heeded, *awaited}))

    def close(self) -> None:
        """Idempotent."""
        if self.gpu is not None:
            self.gpu.close()

    def _now_s(self) -> float:
        return self._clock.monotonic_ns() / 1e9

    def _scan(self) -> None:
        began = self._now_s()
        table = look(self.holders, self.bounded)
        self.others = tuple(each for each in table.holders if not each.is_ours)
        now = self._now_s()
        self._scan_at = now + max(SCAN_EVERY_S, REST_PER_SCAN * (now - began))
        if now >= self._write_at and self._written < MOST_WRITTEN:
            self._write_at = now + WRITE_EVERY_S
            self._written += 1
            self._record(answer("process-table", table, at_ns=self._clock.now_ns()))

    def _learn_names(self) -> None:
        for pid in self.readings.keys() - self._names.keys():
            if len(self._names) >= MOST_NAMES:
                self._names = {known: name for known, name in self._names.items() if known in self.readings}
                self.outputs = {known: paths for known, paths in self.outputs.items() if known in self.readings}
            self._names[pid] = read_name(pid)
            self.outputs[pid] = read_outputs(pid)


def _has_let_go(reading: Reading) -> bool:
    return reading.stat.is_exiting or not reading.rss_bytes
