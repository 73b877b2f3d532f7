"""A death as the sidecar meets it, for all sources that are asked at once."""

import os
import signal
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from holter.model.clock import Clock
from holter.model.evidence import Counters, Holder, Job
from holter.model.finding import Finding

if TYPE_CHECKING:
    from holter.probes.postmortem.gpu_events import GpuWatch

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


class Say(Protocol):
    """Keeps what a source said; thread-safe."""

    def __call__(self, source: str, found: Finding, *, pid: int = 0) -> None:
        """About one process, or about all."""


class Scene:
    """What the sources of one run are asked about, and where their answers go. Used by one thread, but for `pids`.

    Args:
        directory: the run's.
        without: the witnesses to do without.
        keep: keeps an answer.
    """

    def __init__(self, directory: str, *, clock: Clock, without: frozenset[str], keep: Say) -> None:
        self.directory = directory
        self.clock = clock
        self.without = without
        self.began_ns = clock.now_ns()
        self.pids: set[int] = set()
        """Of all that have died."""
        self.threads: dict[int, int] = {}
        """Whose each of them was."""
        self.deaths: Sequence[Death] = ()
        """Those that are asked about now."""
        self.gpu: GpuWatch | None = None
        self.job: Job | None = None
        """As the scheduler told of it at the beginning, where it answered."""
        self.said: dict[str, Finding] = {}
        """What each source said last about these deaths."""
        self._keep = keep

    @property
    def unclean(self) -> list[Death]:
        """Those that did not end well."""
        return [death for death in self.deaths if not death.is_clean]

    def say(self, source: str, found: Finding, *, pid: int = 0) -> None:
        """Keep an answer, about one process or about all."""
        self.said[source] = found
        self._keep(source, found, pid=pid)
