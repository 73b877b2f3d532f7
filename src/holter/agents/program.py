"""Runs each trial as a process of its own, follows the run that it records, and ends it where the sweep says so."""

import contextlib
import ctypes
import json
import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping

import msgspec

from holter.agents.agent import RENEW_S, Holder, given_back
from holter.agents.command import words_of
from holter.agents.early_end import mark_pruned
from holter.agents.going_on import Found, GoingOn
from holter.agents.renewing import renewing
from holter.catalog.read.row_follower import RunFollower
from holter.client.trial import VARIABLE, Trial
from holter.errors import HolterError, NotRunnable
from holter.journal.rundir import run_directory
from holter.model.state import FINISHED
from holter.sweeps.configuration import Configuration
from holter.sweeps.endings import outcome_of
from holter.sweeps.parameters import nested
from holter.sweeps.words import Lease, Outcome

FOLLOW_S = 0.5
GRACE_S = 30.0
"""From SIGTERM to SIGKILL."""
FENCED_GRACE_S = 8.0
"""The same where the lease is about to end."""
MARK_WITHIN_S = 30.0
MARKS = ("Flushed", "Checkpointed", "CheckpointSaved")
"""Records after which a program can be ended without losing work."""
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class ProgramRunner:
    """The trials of one agent, one after the other.

    Args:
        data: where runs are recorded on this machine.
        going_on: finds the checkpoint of a trial that is tried again.
        is_now: whether the agent is to leave at once.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        data: str,
        project: str,
        environ: Mapping[str, str],
        going_on: GoingOn,
        is_now: Callable[[], bool],
    ) -> None:
        self._configuration = configuration
        self._data = data
        self._project = project
        self._environ = environ
        self._going_on = going_on
        self._is_now = is_now
        self._metric = configuration.metric.name if configuration.metric is not None else ""

    def run(self, lease: Lease, holder: Holder) -> Outcome | None:
        """Start it, look after it, tell how it ended."""
        with renewing(holder):
            found = self._going_on.find(lease)
        if not holder.said.holds:
            return None
        process = self._start(lease, found)
        watched = _Watched(process, RunFollower(run_directory(self._data, lease.run)), metric=self._metric)
        why = self._look_after(watched, holder, lease)
        if not holder.said.holds:
            return None
        if why == "stopped":
            return given_back()
        outcome = outcome_of(self._data, lease.run, metric=self._metric) or _of_status(process.returncode, self._metric)
        if why == "pruned":
            mark_pruned(self._data, lease)
            return msgspec.structs.replace(outcome, is_pruned=True, state=FINISHED, cause="", value=watched.finite)
        return outcome if outcome.value is not None else msgspec.structs.replace(outcome, last=watched.finite)

    def _start(self, lease: Lease, found: Found) -> "subprocess.Popen[bytes]":
        config = nested(lease.params, self._configuration.parameters)
        trial = Trial(
            sweep=lease.sweep,
            number=lease.number,
            attempt=lease.fence,
            run=lease.run,
            config=config,
            project=self._project,
            goes_on_from=found.path,
            step=found.step,
        )
        variables = {VARIABLE: msgspec.json.encode(trial).decode(), "HOLTER_DIR": self._data}
        variables |= {"HOLTER_SWEEP_ID": lease.sweep, "WANDB_SWEEP_ID": lease.sweep} | found.variables
        json_file = os.path.join(self._data, "sweeps", "arguments", f"{lease.run}.json")
        if "${args_json_file}" in self._configuration.command:
            os.makedirs(os.path.dirname(json_file), mode=0o700, exist_ok=True)
            with open(json_file, "w", encoding="utf-8") as file:
                json.dump(config, file)
        command = words_of(
            self._configuration.command,
            config,
            program=self._configuration.program,
            json_file=json_file,
            environ=self._environ,
        )
        try:
            return subprocess.Popen(
                command,
                env={**self._environ, **variables},
                stdin=subprocess.DEVNULL,
                process_group=0,  # Ctrl-C in the terminal is for the agent
                preexec_fn=_die_with_agent,  # noqa: PLW1509  an agent of programs has no other thread
            )
        except OSError as error:
            raise NotRunnable(f"can't run {command[0]!r}: {error.strerror}", 127) from error

    def _look_after(self, watched: "_Watched", holder: Holder, lease: Lease) -> str:
        """Until the process has ended; says why where that was our doing."""
        renewed = time.monotonic()
        with _exit_of(watched.process) as wait:
            while not wait(FOLLOW_S):
                reports = tuple(each for each in watched.hear() if self._is_compared(each[0]))
                holder.iteration, holder.value = watched.iteration, watched.value
                if reports or time.monotonic() - renewed >= RENEW_S:
                    renewed = time.monotonic()
                    holder.renew(reports)
                why = self._why_end(holder)
                if why:
                    grace_s = FENCED_GRACE_S if why == "fenced" else GRACE_S
                    watched.end(wait, is_gentle=why == "pruned", grace_s=grace_s, renew=holder.renew)
                    return why
        reports = tuple(each for each in watched.hear() if self._is_compared(each[0]))
        holder.iteration, holder.value = watched.iteration, watched.value
        if reports:
            holder.renew(reports)
        return ""

    def _is_compared(self, iteration: int) -> bool:
        early_end = self._configuration.early_end
        return early_end is not None and early_end.asks_at(iteration)

    def _why_end(self, holder: Holder) -> str:
        said = holder.said
        if self._is_now() or said.is_ended:
            return "stopped"
        return "pruned" if said.is_pruned else "" if said.holds else "fenced"


class _Watched:
    """The process of a trial, and what its run says."""

    def __init__(self, process: "subprocess.Popen[bytes]", follower: RunFollower, *, metric: str) -> None:
        self.process = process
        self.iteration = 0
        self.value: float | None = None
        self.finite: float | None = None
        self._follower = follower
        self._metric = metric
        self._marks = 0

    def hear(self) -> list[tuple[int, float]]:
        """New values of the metric, each with its number."""
        try:
            heard = self._follower.hear()
        except (HolterError, OSError):  # not there yet
            return []
        self._marks += sum(type(each).__name__ in MARKS for each in heard.records)
        found = []
        for row in heard.rows:
            value = row.values.get(self._metric)
            if isinstance(value, int | float) and not isinstance(value, bool):
                self.iteration, self.value = self.iteration + 1, float(value)
                self.finite = self.value if math.isfinite(value) else self.finite
                found.append((self.iteration, float(value)))
        return found

    def end(
        self, wait: Callable[[float], bool], *, is_gentle: bool, grace_s: float, renew: Callable[[], object]
    ) -> None:
        """Ask it to leave, at a mark where it sets any; make it, where it does not."""
        if is_gentle and self._marks:
            before, until = self._marks, time.monotonic() + MARK_WITHIN_S
            while self._marks == before and time.monotonic() < until and not wait(FOLLOW_S):
                self.hear()
        until = time.monotonic() + grace_s
        _signal(self.process, signal.SIGTERM)
        while not wait(min(RENEW_S, max(0.0, until - time.monotonic()))):
            if time.monotonic() >= until:
                _signal(self.process, signal.SIGKILL)
                until = float("inf")
            renew()


@contextlib.contextmanager
def _exit_of(process: "subprocess.Popen[bytes]"):  # type: ignore[no-untyped-def]  # noqa: ANN202  an iterator of waits
    """A function that waits for the end of the process, as long as it is told; true once it has ended."""
    pidfd = os.pidfd_open(process.pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)

    def wait(seconds: float) -> bool:
        if poll.poll(seconds * 1000):
            process.wait()
            return True
        return False

    try:
        yield wait
    finally:
        os.close(pidfd)


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _die_with_agent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _of_status(status: int, metric: str) -> Outcome:
    """Of a program that recorded no run."""
    said = "the program recorded no run: it has to call holter.init()"
    if status == 0:
        return Outcome(state=FINISHED, because=said if metric else "")
    cause = "killed" if status == -signal.SIGKILL else "terminated" if status == -signal.SIGTERM else "nonzero-exit"
    return Outcome(state="failed", cause=cause, because=f"exit status {status}; {said}")
