"""Asks all sources about the death of a run's process, in threads of its own: some answer late, some never."""

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from holter.model.clock import Clock
from holter.model.evidence import ALL_ASKED, Asked, Counters, Finding, Holder, KernelLog, Surroundings, Unseen
from holter.model.records import Record
from holter.model.state import FINISHED, RUNNING, Lateness
from holter.model.witnesses import KERNEL_LOG
from holter.probes.postmortem.answers import answer
from holter.probes.schedulers import is_scheduled
from holter.sidecar.internal_log import write_down_failure
from holter.sidecar.last_known import places

if TYPE_CHECKING:
    from holter.probes.postmortem.gpu_events import GpuWatch
    from holter.wire.way_back import HowItEnded

# All that can answer at once does so in a fifth of this; a scheduler may take longer.
WITHIN_S = 6.0
MOST_CHILDREN = 8
# What a pool or a data loader does to its own workers when it is done with them.
ORDINARY_FOR_A_CHILD = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE})


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has just died, and what was last known of it."""

    pid: int
    at_ns: int
    status: int | None
    is_child: bool = False
    counters: Counters | None = None
    cgroups: frozenset[str] = frozenset()
    """Of the run's processes, as Linux calls them."""
    bounded: frozenset[str] = frozenset()
    """Those of them, and of the ones above, that have a limit."""
    row: Mapping[str, float | int] = {}
    holders: Mapping[int, Holder] = {}
    process: Mapping[str, float] = {}
    limits: bytes = b""
    heeded: tuple[int, ...] | None = None
    """The signals that it had a handler for or held back; None where it was never looked at."""
    stack_start: int = 0
    outputs: frozenset[str] = frozenset()
    """The files into which it and the other processes of the run printed."""
    cwd: str = ""
    threads: frozenset[int] = frozenset()
    """Those that ended with it, as far as Linux announced them."""

    @property
    def is_clean(self) -> bool:
        """It left by itself and said that all was well; so does a child that was told to leave."""
        if self.is_child and self.status is not None and os.WIFSIGNALED(self.status):
            return os.WTERMSIG(self.status) in ORDINARY_FOR_A_CHILD
        return self.status == 0

    @property
    def may_be_for_memory(self) -> bool:
        """Somebody killed it, or nobody knows how it ended."""
        return self.status is None or (os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL)

    @property
    def is_silent(self) -> bool:
        """It could not look around itself before it died."""
        return self.status is None or os.WIFSIGNALED(self.status)

    @property
    def is_bus_error(self) -> bool:
        """A page of a mapped file was not there: the file's disk may be full."""
        return self.status is not None and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGBUS


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
        self._without = without
        self._hears_exits = hears_exits
        self._began_ns = clock.now_ns()
        self._pids: set[int] = set()
        self._missed: set[int] = set()
        self._threads: dict[int, int] = {}
        """Whose each of them was."""
        self._children = {True: 0, False: 0}
        """How many did not end well: by a signal, by a code of their own."""
        self._lock = threading.Lock()
        self._waiting: list[Death] = []
        self._thread: threading.Thread | None = None
        self._until = 0.0
        self._reported_bytes: dict[int, int] = {}
        self._needs_journal = False
        self._job_output = ""
        self._has_scheduler = False
        """It answered at the beginning."""
        self._has_ended = False
        """A process of the run itself is among the dead."""
        self._is_closed = False
        self.gpu: GpuWatch | None = None
        self.word: HowItEnded | None = None
        """What is to be said to those who wait for the end; whoever has said it takes it out."""
        if is_scheduled(os.environ):
            threading.Thread(target=self._guarded, args=(self._meet_scheduler,), name="job", daemon=True).start()

    @property
    def is_busy(self) -> bool:
        """Whether an answer may still come."""
        return self._thread is not None and self._thread.is_alive() and time.monotonic() < self._until

    def has_missed(self, pid: int) -> None:
        """Children of this process may have ended before anybody listened."""
        self._missed.add(pid)

    def begin(self, death: Death) -> None:
        """Ask about this one. Never blocks."""
        self._pids.add(death.pid)
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
            unclean = [death for death in deaths if not death.is_clean]
            for step in (
                self._ask_for_senders,
                self._ask_kernel_log,
                self._ask_process_table,
                self._ask_surroundings,
                self._ask_gpus,
                self._ask_system_journal,
                self._ask_oom_daemons,
            ):
                if unclean:
                    self._guarded(partial(step, unclean))
            # A program that a scheduler told to leave may do so with 0.
            self._guarded(partial(self._ask_scheduler, deaths))
            for death in unclean:
                if not death.is_child:
                    hears_exits = self._hears_exits and death.pid not in self._missed
                    self._say(ALL_ASKED, Asked(hears_exits=hears_exits), pid=death.pid)
                    self._has_ended = True
            if self._has_ended and not self._waiting:
                self._guarded(self._judge)

    def _ask_for_senders(self, deaths: list[Death]) -> None:
        from holter.journal.signal_log import read_signal_log
        from holter.probes.postmortem.sender import look

        dead = {death.pid for death in deaths}
        for caught in read_signal_log(self._directory).caught:
            if caught.pid in dead and caught.is_sent and caught.sender_pid > 0 and not caught.sender:
                found = look(caught.sender_pid)
                if not isinstance(found, Unseen):
                    self._say("sender", found, pid=caught.pid)

    def _ask_kernel_log(self, deaths: list[Death]) -> None:
        from holter.probes.postmortem.kernel_log import look, switched_off

        if KERNEL_LOG in self._without:
            self._say("kernel-log", switched_off())
            return
        self._threads.update({thread: each.pid for each in deaths for thread in each.threads})
        found = look(self._began_ns, self._pids, threads=self._threads, near_ns=[death.at_ns for death in deaths])
        self._needs_journal = isinstance(found, Unseen)
        if isinstance(found, KernelLog):
            self._reported_bytes.update({kill.pid: kill.anon_bytes for kill in found.kills})
            self._say("kernel-log", found)

    def _ask_system_journal(self, deaths: list[Death]) -> None:
        """It has what the kernel log has, for more people, and takes its time."""
        from holter.probes.postmortem.system_journal import look_at_kernel

        if self._needs_journal and not all(death.is_child for death in deaths):
            self._say("kernel-log", look_at_kernel(self._began_ns, self._pids))

    def _ask_process_table(self, deaths: list[Death]) -> None:
        from holter.probes.postmortem.process_table import look

        if any(death.may_be_for_memory for death in deaths):
            holders = {pid: self._as_reported(holder) for death in deaths for pid, holder in death.holders.items()}
            bounded = {path for death in deaths for path in death.bounded}
            self._say("process-table", look(holders, bounded))

    def _as_reported(self, holder: Holder) -> Holder:
        """With the memory that Linux says it had when it was killed: the last sample may be a second old."""
        rss_bytes = max(holder.rss_bytes, self._reported_bytes.get(holder.pid, 0))
        return msgspec.structs.replace(holder, rss_bytes=rss_bytes)

    def _ask_surroundings(self, deaths: list[Death]) -> None:
        from holter.journal.signal_log import read_signal_log
        from holter.probes.postmortem.surroundings import (
            look,
            measure_again,
            with_gpu_holders,
            with_mapped_files,
            with_outputs,
        )

        faults = [each for each in read_signal_log(self._directory).caught if each.signal == signal.SIGBUS]
        for death in [death for death in deaths if death.is_bus_error or not death.is_child]:
            paths = places(self._directory, death.cwd)
            found = measure_again(look(death.row, death.limits, paths=paths, process=death.process))
            found = msgspec.structs.replace(found, heeded=death.heeded, stack_start=death.stack_start or None)
            found = with_outputs(found, death.outputs)
            if not death.is_silent:  # it may have had nothing of ours in it to look around
                self._say("last-seen", found, pid=death.pid)
            else:
                found = with_mapped_files(found, [each.mapping for each in faults if each.pid == death.pid])
                holders = self.gpu.holders() if self.gpu is not None else None
                self._say("surroundings", with_gpu_holders(found, holders) if holders else found, pid=death.pid)

    def _ask_gpus(self, deaths: list[Death]) -> None:
        if self.gpu is not None:
            self._say("gpu-events", self.gpu.look(self._clock.now_ns()))

    def _ask_oom_daemons(self, deaths: list[Death]) -> None:
        from holter.probes.postmortem.oom_daemon import find_running, look
        from holter.probes.postmortem.process_table import read_table

        if all(death.is_child or not death.is_silent for death in deaths):
            return
        cgroups = {path for death in deaths for path in death.cgroups}
        self._say("oom-daemon", look(find_running(read_table()), self._began_ns, pids=self._pids, cgroups=cgroups))

    def _ask_scheduler(self, deaths: list[Death]) -> None:
        from holter.probes.postmortem.job import find, look

        job = find(os.environ)
        if job is None or not self._has_scheduler or all(death.is_child for death in deaths):
            return
        job = msgspec.structs.replace(job, output=self._job_output)
        self._say("job", look(job, self._began_ns, is_over=False))

    def _meet_scheduler(self) -> None:
        """At the beginning: where the job's output goes to, for whoever looks when the job and we are gone."""
        from holter.probes.postmortem.job import ask_scontrol, find

        job = find(os.environ)
        if job is None:
            return
        known = ask_scontrol(job.job) if job.scheduler == "slurm" else None
        if known is not None:
            # What it is now says nothing about its end.
            job = msgspec.structs.replace(known, state="", reason="", exit_code="")
            self._job_output, self._has_scheduler = known.output, True
        self._say("job", job)

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
