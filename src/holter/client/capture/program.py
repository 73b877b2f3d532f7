"""All hooks in the program, installed with its first run and gone with its last."""

import contextlib
import os
from collections.abc import Sequence
from typing import Protocol

from holter.client.boundary import is_strict
from holter.client.capture.children import Address, ChildHooks
from holter.client.capture.description import Describer
from holter.client.capture.exceptions import ExceptionHooks
from holter.client.capture.faults import FaultLog
from holter.client.capture.signals import TermHook
from holter.client.capture.tasks import TaskHook
from holter.model.clock import Clock
from holter.model.records import ChildExited, Raised

# Each child that has something to say gets a journal; a pool that fails again and again must not fill the directory.
MOST_FILES = 256


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

    def signalled(self, number: int) -> None:
        """Keep a signal."""

    def child_exited(self, exited: ChildExited) -> None:
        """Keep the end of a child."""

    def rest(self) -> None:
        """Close the journal of this process until there is more to say."""


class ProgramHooks:
    """Tells all runs in the list what happens in the program. The list is the caller's, who changes it."""

    def __init__(self, runs: Sequence[Recording]) -> None:
        self._runs = runs
        clock = Clock()
        describer = Describer(self._keep_raised, clock)
        self._exceptions = ExceptionHooks(describer)
        self._term = TermHook(self._keep_signal)
        self._tasks = TaskHook(describer)
        self.children = ChildHooks(describer, keep=self._keep_exit, leave=self._rest, clock=clock)
        self._faults = FaultLog()

    def install(self, fault_log: str) -> None:
        """Watch the program. Idempotent; the stacks of a native crash go to the file of the first run."""
        self._exceptions.install()
        self._term.install()
        recorded = self._recorded()
        if len(recorded) == 1:
            self._faults.install(os.path.join(recorded[0].dir, fault_log))
        self.look_again()

    def look_again(self) -> None:
        """Watch also what the program has imported since; cheap, for once a second and before each fork."""
        recorded = self._recorded()
        if not recorded:
            return
        try:
            self._tasks.install()
            self.children.install(recorded[-1].address)
        except Exception:  # the boundary: another Python may have other insides
            if is_strict():
                raise

    def restore(self) -> None:
        """Leave everything as it was. Idempotent."""
        self._exceptions.restore()
        self._term.restore()
        self._tasks.restore()
        self.children.restore()

    def _recorded(self) -> list[Recording]:
        return [run for run in self._runs if run.dir]  # a disabled run lies nowhere

    def _keep_raised(self, raised: Raised) -> None:
        for run in self._runs:
            if run.is_owned or _has_room(run.dir):
                run.raised(raised)

    def _keep_signal(self, number: int) -> None:
        for run in self._runs:
            run.signalled(number)

    def _keep_exit(self, exited: ChildExited) -> None:
        for run in self._runs:
            # A child whose own children leave in order has no need of a journal.
            if run.is_owned or (exited.status and _has_room(run.dir)):
                run.child_exited(exited)

    def _rest(self) -> None:
        for run in self._runs:
            run.rest()


def _has_room(directory: str) -> bool:
    with contextlib.suppress(OSError):
        return len(os.listdir(directory)) < MOST_FILES
    return True
