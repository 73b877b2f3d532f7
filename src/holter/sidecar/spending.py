"""Follows what a run needs at most, and what we cost it."""

import os
from collections.abc import Callable, Mapping

from holter.guards.progress import Progress
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.spending import Peak, Spent

EVERY_S = 300.0
PAUSE_TIMES = 5.0
LEAST_PAUSE_S = 3.0
HOST = "system/process/anon_bytes"
_GPU, _HELD = "system/gpu/", "/tree_memory_bytes"


class Spending:
    """Of one run. One thread."""

    def __init__(self, record: Callable[[Record], None], *, clock: Clock) -> None:
        self._record = record
        self._clock = clock
        self._began_s = self._written_s = clock.monotonic_ns() / 1e9
        self._peaks: dict[tuple[str, str], Peak] = {}

    def tick(self, row: Mapping[str, float | int], progress: Progress | None) -> None:
        """Look at one moment; `progress` is None where nobody follows it."""
        now_s = self._clock.monotonic_ns() / 1e9
        phase = _phase(progress, now_s)
        for key, value in row.items():
            memory = "host" if key == HOST else _gpu(key)
            if memory and value > 0:
                self._take(memory, phase, int(value), progress)
        if now_s - self._written_s >= EVERY_S:
            self._written_s = now_s
            self.write()

    def write(self) -> None:
        """What is known now."""
        times = os.times()
        cpu_s = times.user + times.system + times.children_user + times.children_system
        wall_s = self._clock.monotonic_ns() / 1e9 - self._began_s
        peaks = tuple(self._peaks[key] for key in sorted(self._peaks))
        self._record(Spent(at_ns=self._clock.now_ns(), cpu_s=round(cpu_s, 2), wall_s=round(wall_s, 1), peaks=peaks))

    def _take(self, memory: str, phase: str, held: int, /, progress: Progress | None) -> None:
        known = self._peaks.get((memory, phase))
        if known is not None and known.bytes >= held:
            return
        step, cell = (progress.step, progress.cell) if progress is not None else (None, None)
        peak = Peak(memory=memory, phase=phase, bytes=held, at_ns=self._clock.now_ns(), step=step, cell=cell)
        self._peaks[memory, phase] = peak


def _phase(progress: Progress | None, now_s: float) -> str:
    if progress is None or not progress.rows:
        return "start"
    usual = progress.usual_s
    is_pause = now_s - progress.last_s > max(LEAST_PAUSE_S, PAUSE_TIMES * usual if usual == usual else 0.0)
    return "pause" if is_pause else "steps"


def _gpu(key: str) -> str:
    if not (key.startswith(_GPU) and key.endswith(_HELD)):
        return ""
    return f"gpu/{key.removeprefix(_GPU).removesuffix(_HELD)}"
