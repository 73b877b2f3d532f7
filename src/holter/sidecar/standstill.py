"""A run that has been silent for long: what each of its programs does, and which rank the others wait for."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from holter.guards.checks.stall import patience_s
from holter.guards.limits import Limits
from holter.guards.pools import GPUS
from holter.guards.progress import Progress
from holter.guards.seen import Standing
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.warning_records import Stood
from holter.probes.live.process import Reading
from holter.sidecar.standing import Witness

LOOK_AT_STOPPED_S = 15.0
BUSY_GPU_PERCENT = 90.0
MOST_RANKS = 32
WAITS = "collective"


class Silent(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of a run that may stand still. The first program is the one that speaks for the run."""

    now_s: float
    progress: Progress
    roots: Sequence[int]
    ranks: Mapping[int, int | None]
    readings: Mapping[int, Reading]
    row: Mapping[str, float | int]
    lost_worker: bool = False


class Standstill:
    """Of one run. One thread."""

    def __init__(self, record: Callable[[Record], None], *, clock: Clock, limits: Limits) -> None:
        self.wants_stacks = False
        self._record = record
        self._clock = clock
        self._limits = limits
        self._witnesses: dict[int, Witness] = {}
        self._known: dict[int, Standing] = {}
        self._stood_s = 0.0

    def hear(self, pid: int, stack: str) -> None:
        """A program says where its threads are; 0 where it does not say who it is."""
        for each in [each for each in self._witnesses.values() if each.pid == pid or not pid][:1]:
            each.hear(stack)

    def look(self, silent: Silent) -> Standing | None:
        """What the run does, written down so that a verdict can rest on it; None as long as it gets on."""
        progress, first = silent.progress, silent.roots[0]
        silent_s = silent.now_s - progress.last_s
        patience = patience_s(progress, self._limits)
        root = silent.readings.get(first)
        is_stopped = root is not None and root.stat.state in "Tt"
        if not progress.rows or not (silent_s > 0.8 * patience or (is_stopped and silent_s > LOOK_AT_STOPPED_S)):
            self._forget(silent, silent_s)
            return None
        self._look_at_all(silent)
        if (standing := self._known.get(first)) is None:
            return None
        if (silent_s > patience or is_stopped) and silent_s > 2 * self._stood_s:
            self._stood_s = silent_s
            for pid, each in self._known.items():
                self._record(self._stood(each, silent_s, silent, rank=silent.ranks.get(pid)))
        if apart := self._apart(silent):
            return msgspec.structs.replace(standing, ranks=apart, is_mismatch=True)
        return msgspec.structs.replace(standing, ranks=self._ranks(silent))

    def _look_at_all(self, silent: Silent) -> None:
        is_gpu_busy = any(
            silent.row.get(f"system/gpu/{index}/utilization_percent", 0) >= BUSY_GPU_PERCENT
            and silent.row.get(f"system/gpu/{index}/tree_memory_bytes", 0) > 0
            for index in GPUS
        )
        self._known.clear()
        for pid in silent.roots[:MOST_RANKS]:
            witness = self._witnesses.get(pid) or self._witnesses.setdefault(pid, Witness(pid, self._want_stacks))
            found = witness.look(silent.now_s, lost_worker=silent.lost_worker, gpu_busy=is_gpu_busy)
            if found is not None:
                self._known[pid] = found

    def _ranks(self, silent: Silent) -> tuple[tuple[int, Standing], ...]:
        """Those that do not wait for others, where others wait: they keep them waiting."""
        if not any(each.kind == WAITS for each in self._known.values()):
            return ()
        behind = [
            (silent.ranks.get(pid), each)
            for pid, each in self._known.items()
            if each.kind != WAITS and (each.kind or each.stack)
        ]
        return tuple((rank, each) for rank, each in behind if rank is not None)

    def _apart(self, silent: Silent) -> tuple[tuple[int, Standing], ...]:
        """One rank of each collective, where all of them wait in one and these are not the same."""
        first: dict[str, tuple[int, Standing]] = {}
        for pid, each in self._known.items():
            rank = silent.ranks.get(pid)
            if each.kind != WAITS or not each.operation or rank is None:
                return ()
            first.setdefault(each.operation, (rank, each))
        return tuple(sorted(first.values(), key=lambda each: each[0])) if len(first) > 1 else ()

    def _forget(self, silent: Silent, silent_s: float) -> None:
        """It gets on again."""
        if self._stood_s:
            for pid, witness in self._witnesses.items():
                last = witness.look(silent.now_s, lost_worker=False)
                rank = silent.ranks.get(pid)
                self._record(self._stood(last, silent_s, silent, rank=rank, is_over=True))
        self._witnesses.clear()
        self._stood_s = 0.0

    def _stood(
        self, standing: Standing | None, silent_s: float, silent: Silent, /, *, rank: int | None, is_over: bool = False
    ) -> Stood:
        usual = silent.progress.usual_s
        return Stood(
            at_ns=self._clock.now_ns(),
            pid=standing.pid if standing is not None else 0,
            silent_s=max(0.0, silent_s),
            usual_s=usual if usual == usual else 0.0,
            kind=standing.kind if standing is not None else "",
            rank=rank,
            cpu_percent=standing.cpu_percent if standing is not None else None,
            kernel_state=standing.kernel_state if standing is not None else "",
            stack=standing.stack if standing is not None and not is_over else "",
            is_over=is_over,
        )

    def _want_stacks(self) -> None:
        self.wants_stacks = True
