"""Asks all sources about the death of a run's process, in threads of its own: some answer late, some never."""

import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from holter.model.clock import Clock
from holter.model.evidence import ALL_ASKED, Asked, Surroundings, Unseen
from holter.model.finding import Finding
from holter.model.record import Record
from holter.model.state import FINISHED, RUNNING, Lateness
from holter.probes.postmortem.answers import answer
from holter.probes.postmortem.scene import Death, Scene
from holter.probes.schedulers import is_scheduled
from holter.sidecar.internal_log import write_down_failure

if TYPE_CHECKING:
    from holter.probes.postmortem.gpu_events import GpuWatch
    from holter.wire.way_back import HowItEnded

# All that can answer at once does so in a fifth of this; a scheduler may take longer.
WITHIN_S = 6.0
MOST_CHILDREN = 8


class Autopsy:
    """Asks about the deaths of one run. Begun by the loop's thread, which calls `finish` until that is true.

    Args:
        directory: the run's.
        record: keeps a sentence in the sidecar's journal; thread-safe.
        without: the witnesses to do without.
        hears_exits: whether Linux announces the ends of all children.
    """

    def __init__(
        self,
        directory: str,
        record: Callable[[Record], None],
        *,
        clock: Clock,
        without: frozenset[str],
        hears_exits: bool = False,
    ) -> None:
        self._directory = directory
        self._keep = record
        self._clock = clock
        self._hears_exits = hears_exits
        self._scene = Scene(directory, clock=clock, without=without, keep=self._say)
        self._missed: set[int] = set()
        self._children = {True: 0, False: 0}
        """How many did not end well: by a signal, by a code of their own."""
        self._lock = threading.Lock()
        self._waiting: list[Death] = []
        self._thread: threading.Thread | None = None
        self._until = 0.0
        self._has_ended = False
        """A process of the run itself is among the dead."""
        self._is_closed = False
        self.word: HowItEnded | None = None
        """What is to be said to those who wait for the end; whoever has said it takes it out."""
        if is_scheduled(os.environ):
            threading.Thread(target=self._guarded, args=(self._meet,), name="job", daemon=True).start()

    @property
    def gpu(self) -> "GpuWatch | None":
        """Who listens to the GPUs."""
        return self._scene.gpu

    @gpu.setter
    def gpu(self, watch: "GpuWatch | None") -> None:
        self._scene.gpu = watch

    @property
    def is_busy(self) -> bool:
        """Whether an answer may still come."""
        return self._thread is not None and self._thread.is_alive() and time.monotonic() < self._until

    def has_missed(self, pid: int) -> None:
        """Children of this process may have ended before anybody listened."""
        self._missed.add(pid)

    def begin(self, death: Death) -> None:
        """Ask about this one. Never blocks."""
        self._scene.pids.add(death.pid)
        around = Surroundings(heeded=death.heeded)
        if death.is_clean and not death.is_child and around.heeds_requests:  # it may have left because of one
            self._say("last-seen", around, pid=death.pid)
        if death.is_child and not death.is_clean:
            self._children[death.is_silent] += 1
        if self._is_of_no_interest(death):
            return
        if death.counters is not None and not death.is_clean:
            self._say("counters", death.counters, pid=death.pid)
        elif death.may_be_for_memory:
            self._say(
                "counters", Unseen(because="the process's memory limit (cgroup) could not be found"), pid=death.pid
            )
        with self._lock:
            self._waiting.append(death)
            self._until = time.monotonic() + WITHIN_S
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="autopsy", daemon=True)
                self._thread.start()

    def finish(self) -> bool:
        """Whether everybody has answered, or has had the time to. Never blocks."""
        return not self.is_busy

    def _is_of_no_interest(self, death: Death) -> bool:
        if death.is_child:
            return death.is_clean or self._children[death.is_silent] > MOST_CHILDREN
        return death.is_clean and "SLURM_JOB_ID" not in os.environ

    def close(self) -> None:
        """Whoever answers now comes too late. Idempotent."""
        self._is_closed = True

    def _work(self) -> None:
        while True:
            with self._lock:
                deaths, self._waiting = self._waiting, []
                if not deaths:
                    self._thread = None
                    return
            self._ask_all(deaths)
            for death in [death for death in deaths if not death.is_clean]:
                if not death.is_child:
                    hears_exits = self._hears_exits and death.pid not in self._missed
                    self._say(ALL_ASKED, Asked(hears_exits=hears_exits), pid=death.pid)
                    self._has_ended = True
            if self._has_ended and not self._waiting:
                self._guarded(self._judge)

    def _ask_all(self, deaths: list[Death]) -> None:
        from holter.probes.postmortem.sources import load_sources

        self._scene.deaths, self._scene.said = deaths, {}
        for source in load_sources():
            if source.at_death is not None and (self._scene.unclean or source.asks_of_good_ends):
                self._guarded(partial(source.at_death, self._scene))

    def _meet(self) -> None:
        """At the beginning: what must be known before the end."""
        from holter.probes.postmortem.sources import load_sources

        for source in load_sources():
            if source.at_start is not None:
                source.at_start(self._scene)

    def _judge(self) -> None:
        """Say why the run has ended, where it has: whoever asks reads that, here and where it is sent to."""
        from holter.catalog.judge.verdict import as_record, judge_anew
        from holter.catalog.present.last_word import how_it_ended
        from holter.catalog.read.loaded_run import load_run

        loaded = load_run(self._directory, now_ns=self._clock.now_ns(), lateness=Lateness())
        if loaded is None or loaded.by_itself.state == RUNNING:
            return
        judged = judge_anew(loaded) if loaded.by_itself.state != FINISHED else loaded
        if (record := as_record(judged)) is not None and not self._is_closed:
            self._keep(record)
        self.word = how_it_ended(judged)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:  # noqa: BLE001  the boundary: a source that fails must not cost the others
            write_down_failure(self._directory)

    def _say(self, source: str, found: Finding, *, pid: int = 0) -> None:
        if not self._is_closed:
            self._keep(answer(source, found, at_ns=self._clock.now_ns(), pid=pid))
