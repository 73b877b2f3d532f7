"""All hooks in the program, installed with its first run and gone with its last."""

import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import Protocol

from holter.client.capture.awaited import AwaitedHook
from holter.client.capture.children import Address, ChildHooks
from holter.client.capture.description import Describer
from holter.client.capture.exceptions import ExceptionHooks
from holter.client.capture.faults import FaultLog
from holter.client.capture.leaving import LeavingHook
from holter.client.capture.signals import TermHook
from holter.client.capture.tasks import TaskHook
from holter.client.capture.witness import SignalWitness
from holter.errors import is_strict
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import ChildExited, Looked, Raised, Signalled
from holter.recording.spawning import most_child_bytes

# Each child that has something to say gets a journal; a pool that fails again and again must not fill the directory.
MOST_FILES = 256
# Exceptions that end something, or may: what the process was about to run out of is worth a look.
_ENDING = ("main", "child", "pool", "shown")


class Recording(Protocol):
    """A run, as far as the hooks tell it what they see."""

    @property
    def dir(self) -> str:
        """Where it lies."""

    @property
    def address(self) -> Address:
        """What a child needs to join it."""

    @property
    def is_owned(self) -> bool:
        """Whether this process opened it."""

    def raised(self, raised: Raised) -> None:
        """Keep an exception."""

    def keep(self, record: Record) -> None:
        """Keep anything else."""

    def rest(self) -> None:
        """Close the journal of this process until there is more to say."""

    def leave_at_once(self, exit_code: int) -> None:
        """The process is gone after this."""


class ProgramHooks:
    """Tells all runs in the list what happens in the program. The list is the caller's, who changes it."""

    def __init__(self, runs: Sequence[Recording]) -> None:
        self._runs = runs
        self._rank: int | None = None
        self._is_leaving = False
        self._failed: Recording | None = None
        self.before_leaving_at_once: Callable[[], None] = lambda: None
        """Called while the runs can still keep something, before `os._exit`."""
        self._clock = Clock()
        describer = Describer(self._keep_raised, self._clock)
        self._exceptions = ExceptionHooks(describer)
        self._term = TermHook(self._keep_signal)
        self._tasks = TaskHook(describer)
        self.children = ChildHooks(describer, keep=self._keep_exit, leave=self._rest, clock=self._clock)
        self._faults = FaultLog()
        self._witness = SignalWitness()
        self._leaving = LeavingHook(self._leave_at_once, self._become)
        self._awaited = AwaitedHook(self._keep_signal)

    @property
    def asked(self) -> tuple[int | None, str]:
        """With which code and text the program asked to leave; see `LeavingHook.asked`."""
        return self._leaving.asked

    def install(self, rank: int | None) -> None:
        """Watch the program. Idempotent."""
        self._rank = rank
        self._failed = None
        self._exceptions.install()
        self._leaving.install()
        self._awaited.install()
        self.follow_faults()
        self._follow_signals()
        self.look_again()

    def follow_faults(self) -> None:
        """Have the stacks of a native crash go to the file of the run that was opened last."""
        recorded = self._recorded()
        if recorded and not self._is_leaving:
            name = f"faults-{self._rank}.log" if self._rank else "faults.log"
            self._faults.install(os.path.join(recorded[-1].dir, name))

    def look_again(self) -> None:
        """Watch also what the program has imported since; cheap, for once a second and before each fork."""
        recorded = self._recorded()
        if not recorded:
            return
        try:
            self._tasks.install()
            self.children.install(recorded[-1].address)
            self._follow_signals()
            self._witness.know_writer(is_ours=self._faults.is_ours)
            self._witness.look_again()
        except Exception:  # the boundary: another Python may have other insides
            if is_strict():
                raise
        if terminated_ns := self._witness.newly_terminated_ns():
            self._keep_signal(signal.SIGTERM, terminated_ns)

    def before_fork(self) -> None:
        """In the parent."""
        self._witness.before_fork()
        self.look_again()

    def after_fork(self) -> None:
        """In the child."""
        self._witness.after_fork()

    def leave(self) -> None:
        """The interpreter exits: what would see it crash on its way out stays."""
        self._is_leaving = True
        self._exceptions.look_back()
        self._keep_children()

    def restore(self, failed: Recording | None = None) -> None:
        """Leave everything as it was. Idempotent.

        Args:
            failed: a run that the program has ended as failed; the exception that then ends the program is still kept.
        """
        self._failed = failed
        if failed is None:
            self._exceptions.restore()
        self._tasks.restore()
        self.children.restore()
        self._leaving.restore()
        self._awaited.restore()
        if not self._is_leaving:
            self._follow_signals()
            self._faults.restore()

    def _recorded(self) -> list[Recording]:
        return [run for run in self._runs if run.dir]  # a disabled run lies nowhere

    def _follow_signals(self) -> None:
        name = f"signals-{self._rank}.log" if self._rank else "signals.log"
        paths = [os.path.join(run.dir, name) for run in self._recorded()]
        self._witness.follow(paths)
        if paths and not self._witness.is_there:
            self._term.install()
        else:
            self._term.restore()

    def _keep_raised(self, raised: Raised, error: BaseException) -> None:
        runs = [run for run in self._runs if run.is_owned or _has_room(run.dir)]
        if self._failed is not None and raised.where == "main":
            runs.append(self._failed)
        for run in runs:
            run.raised(raised)
        if raised.where in _ENDING and not isinstance(error, KeyboardInterrupt):
            from holter.client.capture.surroundings import look_around

            looked = look_around(error, [run.dir for run in runs if run.dir], at_ns=self._clock.now_ns())
            for run in runs:
                run.keep(looked)

    def _keep_signal(self, number: int, at_ns: int = 0) -> None:
        for run in self._runs:
            run.keep(Signalled(at_ns=at_ns or self._clock.now_ns(), signal=number))

    def _keep_exit(self, exited: ChildExited) -> None:
        for run in self._runs:
            # A child whose own children leave in order has no need of a journal.
            if run.is_owned or (exited.status and _has_room(run.dir)):
                run.keep(exited)

    def _keep_children(self) -> None:
        """Whether the program has waited for any: who leaves by choice may do so because of one."""
        found = {"children_rss_bytes": most_child_bytes()}
        for run in [run for run in self._runs if run.is_owned]:
            run.keep(Looked(at_ns=self._clock.now_ns(), source="last-seen", pid=os.getpid(), found=found))

    def _become(self, program: str) -> None:
        """Another program takes the place of this one: nothing in the process sees how that ends."""
        for run in [run for run in self._runs if run.is_owned]:
            found = {"becomes": program}
            run.keep(Looked(at_ns=self._clock.now_ns(), source="last-seen", pid=os.getpid(), found=found))

    def _rest(self) -> None:
        for run in self._runs:
            run.rest()

    def _leave_at_once(self, exit_code: int) -> None:
        self.before_leaving_at_once()
        self._keep_children()
        for run in self._runs:
            run.leave_at_once(exit_code)


def _has_room(directory: str) -> bool:
    with contextlib.suppress(OSError):
        return len(os.listdir(directory)) < MOST_FILES
    return True
