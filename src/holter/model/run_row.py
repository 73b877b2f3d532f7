"""A run in a line: what is known of it beside its points. Made from its journals, kept in tables, shown by listings."""

import operator
from typing import Any

import msgspec

from holter.model.metric_definitions import MetricDefinition
from holter.model.state import RUNNING, UNREADABLE, Lateness
from holter.model.verdicts import CauseMark

LISTED = (
    "id name project state cause started_at ended_at duration_s steps summary config host rows last_step last_row_at"
    " is_stale entity group job_type notes tags attempt directory masked kind trouble cause_mark"
).split()
"""What `holter ls --json` has of a run; the names are a promise."""
_listed = operator.attrgetter(*LISTED)
# Made and written in half the time that a dictionary takes: there may be ten thousand.
ListedRun = msgspec.defstruct("ListedRun", LISTED, gc=False)


COLOURS = 8
"""How many colours there are for lines: the page's palette has so many slots."""


class Mark(msgspec.Struct, frozen=True):
    """A person's word on how a run ended, or on what it died of (`cause`): when, who, why."""

    state: str
    reason: str
    by: str
    at: float
    cause: str | None = None


class Fork(msgspec.Struct, frozen=True):
    """A step of another run, up to which its history is that of this run, too."""

    run: str
    step: int


class RunRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A run as its journals tell it.

    Its state depends on the time: `state` holds until nothing was heard for `crashed_s` seconds after `heard_ns`, then
    `late_state` does; `at` says which it is. A run with a final state has no `heard_ns`.
    """

    id: str
    project: str = ""
    name: str = ""
    entity: str = ""
    group: str = ""
    job_type: str = ""
    notes: str = ""
    tags: tuple[str, ...] = ()
    host: str = ""
    attempt: int = 1
    state: str = RUNNING
    because: str = ""
    late_state: str = "crashed"
    late_because: str = ""
    heard_ns: int | None = None
    """When something was last heard of the process that has been silent longest, by the clock of who keeps this."""
    ahead_ns: int = 0
    """By how much that clock is ahead of the one of the run's machine, whose times all others are."""
    cause: str | None = None
    started_ns: int = 0
    ended_ns: int | None = None
    late_ended_ns: int | None = None
    last_row_ns: int | None = None
    rows: int = 0
    steps: int = 0
    last_step: int | None = None
    config: dict[str, Any] = {}
    summary: dict[str, Any] = {}
    version: int = 0
    """How much of its journals it was made from: a row never replaces one with a higher version."""
    said_ns: int = 0
    """When a person or a command last added something to it."""
    seen_ns: int = 0
    """When the run's directory had last changed as this was made and nobody was left to add to it; else 0."""
    rules: str = ""
    """Stands for the rules by which it was judged."""
    kind: str = ""
    """`kernel` for a notebook's kernel that is recorded for its own sake."""
    processes: tuple[str, ...] = ()
    """Those of its newest attempt, each in a way that no other process ever has."""
    masked: dict[str, int] = {}
    """How many secrets were hidden in what was recorded, by kind and place."""
    warning: str = ""
    """Of a running one: what a guard warned of that still holds."""
    mark: Mark | None = None
    """A person's word on how its newest attempt ended, once it has."""
    cause_mark: CauseMark | None = None
    """What a person says that it died of."""
    directory: str = ""
    """Where it lies, for those who look at it there."""
    colour: int | None = None
    """The slot of the palette that a person chose for its lines."""
    slot: int | None = None
    """The one that it has otherwise."""
    metrics: dict[str, MetricDefinition] = {}
    """What its program said of its metrics."""
    fork: Fork | None = None
    """Where it was forked."""
    rewinds: dict[int, int] = {}
    """By the attempts that went back, the last step of earlier ones that counts."""
    duration_s: float = 0.0
    """Only of a moment, as `is_stale`."""
    is_stale: bool = False

    @property
    def started_at(self) -> float:
        """When it began; times of this name are seconds since 1970."""
        return self.started_ns / 1e9

    @property
    def ended_at(self) -> float | None:
        """When it ended."""
        return _seconds(self.ended_ns)

    @property
    def last_row_at(self) -> float | None:
        """When a row was last logged."""
        return _seconds(self.last_row_ns)

    @property
    def heard_at(self) -> float | None:
        """As `heard_ns`."""
        return _seconds(self.heard_ns)

    @property
    def ahead_s(self) -> float:
        """As `ahead_ns`."""
        return self.ahead_ns / 1e9

    @property
    def trouble(self) -> str:
        """Why the run can't be shown, where its state is `unreadable`."""
        return self.because if self.state == UNREADABLE else ""

    def is_late(self, now_ns: int, lateness: Lateness) -> bool:
        """Whether so long was nothing heard of it that it counts as dead."""
        return self.heard_ns is not None and now_ns - self.heard_ns > lateness.crashed_s * 1e9

    def at(self, now_ns: int, lateness: Lateness) -> "RunRow":
        """The run as it is at a moment."""
        late = self.is_late(now_ns, lateness)
        ended_ns = self.late_ended_ns if late else self.ended_ns
        is_heard = self.heard_ns is None or now_ns - self.heard_ns <= lateness.stale_s * 1e9
        passed_ns = (now_ns - self.ahead_ns if ended_ns is None else ended_ns) - self.started_ns
        return msgspec.structs.replace(
            self,
            state=self.late_state if late else self.state,
            because=self.late_because if late else self.because,
            ended_ns=ended_ns,
            duration_s=max(0, passed_ns) / 1e9,
            warning="" if late or self.state != RUNNING else self.warning,
            is_stale=not late and not is_heard and self.state == RUNNING,
        )

    def listed(self) -> msgspec.Struct:
        """What `holter ls --json` prints."""
        return ListedRun(*_listed(self))

    def told(self, names: "list[str]" = LISTED) -> dict[str, Any]:
        """These of its fields, as JSON has them."""
        return {name: getattr(self, name) for name in names}


def _seconds(at_ns: int | None) -> float | None:
    return None if at_ns is None else at_ns / 1e9
