"""What guards are shown once a second, and what they answer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from holter.guards.progress import Bad, Progress
from holter.model.quota import Quota
from holter.model.warning_records import Noticed

NAN = float("nan")


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the run."""

    pid: int
    name: str
    rss_bytes: float
    own_bytes: float
    """What no file backs, of this process alone."""
    private_bytes: float = NAN
    """Of a worker: without what it still shares with the process that forked it; read once a minute."""
    state: str
    cpu_ticks: int
    threads: int
    open_files: float
    is_root: bool = False


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """A child of the program that is gone, and did not end well."""

    pid: int
    name: str
    how: str
    why: str = ""
    """As far as the counters tell."""


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """A process that is not of this run."""

    pid: int
    name: str
    owner: str
    bytes: float


class GpuHolder(msgspec.Struct, frozen=True, kw_only=True):
    """A process that is not of this run, and has memory of a GPU."""

    pid: int
    name: str
    owner: str
    bytes: float
    run: str = ""
    """The one that it records, or whose worker it is."""
    is_left_over: bool = False
    """Whoever started it is gone."""

    def __str__(self) -> str:
        of = f" of {self.owner}" if self.owner else ""
        run = f", {'left over from' if self.is_left_over else 'run'} {self.run}" if self.run else ""
        known = f"{self.name}{of}{run}".strip()
        return f"process {self.pid} ({known})" if known else f"process {self.pid}"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody who looked closely found of a process that logs nothing."""

    pid: int
    kind: str
    stack: str = ""
    kernel_state: str = ""
    cpu_percent: float | None = None
    ranks: "tuple[tuple[int, Standing], ...]" = ()
    """Of a run with several: those that keep the others waiting."""
    operation: str = ""
    """The collective that it waits in: `all_reduce`."""
    is_mismatch: bool = False
    """`ranks` are those that wait in different collectives, none of which can therefore end."""


class Seen(msgspec.Struct, kw_only=True):
    """One moment of a run. `row` has what was sampled, under the keys of the series; who needs more remembers it."""

    now_s: float
    now_ns: int
    row: Mapping[str, float]
    progress: Progress
    members: Mapping[int, Member] = {}
    bad: Sequence[Bad] = ()
    """Values that became none since the last look."""
    deaths: Sequence[Death] = ()
    """Since the last look."""
    noticed: Sequence[Noticed] = ()
    """Habits that the program saw in itself since the last look."""
    quotas: Mapping[str, Sequence[Quota]] = {}
    """What the user may keep, by the places of the series of disks: `run`, `cwd`, `tmp`."""
    neighbours: Sequence[Neighbour] = ()
    """The largest, where memory is so short that somebody looked."""
    gpu_others: Mapping[int, Sequence[GpuHolder]] = {}
    """Who else is on the GPUs that the program can see, where somebody looked; the largest first."""
    takes_whole_gpu: str = ""
    """The library of the program that takes most of a GPU at its start, where it was seen at it."""
    standing: Standing | None = None
    ran_s: float = NAN
    """How long the main thread has run so far."""
    waited_s: float = NAN
    """How long it could have run, but for a core."""
    facts: Mapping[str, Any] = {}
    """What does not change: `cores`, `files_limit`, `checkpoint_bytes`."""

    def last(self, key: str) -> float:
        """The value of a series, NaN where there is none."""
        return self.row.get(key, NAN)


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """What a guard warns of, as long as it is so. `subject` tells it from others of the same guard."""

    text: str
    subject: str = ""
    advice: tuple[str, ...] = ()
    since_s: float | None = None
    eta_s: float | None = None
    eta_least_s: float | None = None
    eta_most_s: float | None = None
    figures: dict[str, Any] = {}
    is_pressing: bool = False
    """There is no time left for a person to act."""
    at_once: bool = False
    """It happens once: it is not waited for that it is over."""


class Check(Protocol):
    """A guard of one run, which may remember what it saw."""

    def look(self, seen: Seen) -> Iterable[Caution]:
        """All that it warns of at this moment."""
