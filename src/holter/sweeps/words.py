"""What agents and the desk of a sweep say to each other, in one process or over HTTP."""

from typing import Annotated, Any

import msgspec

from holter.model.bounds import Small, Whole

Name = Annotated[str, msgspec.Meta(max_length=256)]
Text = Annotated[str, msgspec.Meta(max_length=10_000)]


class Asker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent."""

    id: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9]{1,64}$")]
    """It names a file."""
    host: Name = ""
    gpu: Name = ""
    """The GPU that it has to itself: its number; empty for none, or all."""
    device: Name = ""
    """The kind of memory that its trials must fit into; trials on the same kind are compared."""
    pid: Small = 0
    started: Whole = 0
    boot_id: Name = ""
    pid_namespace: Name = ""
    """Containers of one host count their processes separately."""

    @property
    def host_place(self) -> str:
        """What is quarantined when the host is bad."""
        return self.host

    @property
    def gpu_place(self) -> str:
        """What is quarantined when the GPU is bad."""
        return f"{self.host}/{self.gpu}" if self.gpu else self.host


class AgentSeen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent, when it was last heard of, and what it was at."""

    asker: Asker
    at_ns: int
    number: int | None = None
    iteration: int = 0
    value: float | None = None


class Lease(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A trial in an agent's hands; only words with its `fence` count."""

    sweep: str
    number: int
    fence: int
    run: str
    params: dict[str, Any]
    before: tuple[str, ...] = ()
    """The runs of the attempts before, the last one first: this one may go on from a checkpoint of theirs."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """To an agent that asked: `trial`, `wait` for a while, or `over`."""

    kind: str
    lease: Lease | None = None
    why: str = ""
    again_s: float = 0.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an attempt ended: the run's state and cause, what it reached, how much memory it took."""

    state: Name
    value: float | None = None
    last: float | None = None
    """The last finite value of the metric, where it did not end with one."""
    cause: Name = ""
    because: Text = ""
    place: Text = ""
    traceback: Text = ""
    is_pruned: bool = False
    is_given_back: bool = False
    """Its agent was told to stop: it does not count as a try."""
    peak_bytes: Whole | None = None
    limit_bytes: Whole | None = None


class Word(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """From an agent, of the trial that it works at."""

    asker: Asker
    number: Whole
    fence: Whole
    iteration: Whole = 0
    value: float | None = None
    reports: Annotated[tuple[tuple[Whole, float], ...], msgspec.Meta(max_length=10_000)] = ()
    ended: Outcome | None = None


class Said(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer to it. Without `holds` the trial is somebody else's: it must stop, and nothing of it counts."""

    holds: bool
    is_pruned: bool = False
    is_ended: bool = False
    """A person wants what runs to stop."""
