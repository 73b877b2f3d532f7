"""What is written in a sweep's book, each a line: forever, so new fields are optional."""

from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="e", tag=str.lower):
    """Anything that happened to a sweep."""

    at_ns: int = 0


class Begun(Event, frozen=True, kw_only=True):
    """The sweep exists."""

    configuration: dict[str, Any]
    project: str
    name: str
    by: str = ""


class Added(Event, frozen=True, kw_only=True):
    """A trial that no sampler asked for: given by a person, run before, or expected not to fit."""

    number: int
    point: dict[str, float]
    params: dict[str, Any]
    state: str = "waiting"
    value: float | None = None
    because: str = ""
    run: str = ""
    attrs: dict[str, Any] = {}
    study_attrs: dict[str, Any] = {}


class Handed(Event, frozen=True, kw_only=True):
    """A trial was leased to an agent; `fence` counts its attempts. `point` is that of a trial that is new."""

    number: int
    fence: int
    agent: str
    run: str
    host: str = ""
    device: str = ""
    gpu: str = ""
    point: dict[str, float] | None = None
    params: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    """What the sampler noted at the trial, and at the study; null takes it away."""
    study_attrs: dict[str, Any] = {}


class Reported(Event, frozen=True, kw_only=True):
    """The metric's value at an iteration at which trials are compared."""

    number: int
    fence: int
    iteration: int
    value: float
    attrs: dict[str, Any] = {}


class Ended(Event, frozen=True, kw_only=True):
    """An attempt ended; `state` is that of the trial from now on, `waiting` where it is tried again."""

    number: int
    fence: int
    state: str
    value: float | None = None
    cause: str = ""
    because: str = ""
    place: str = ""
    """Where an exception was raised: the same for the same fault."""
    peak_bytes: int | None = None
    limit_bytes: int | None = None
    changed: dict[str, Any] = {}
    """What the next attempt has instead of what was chosen: a smaller batch."""
    is_free: bool = False
    """The attempt does not count: a person or the scheduler of agents gave it back."""


class Decreed(Event, frozen=True, kw_only=True):
    """`pause`, `resume`, `stop`, `end` (stop at once), `allow` (what did not fit), `quarantine` and `lift` (`what`),
    `bounds` (of the parameter `what`)."""

    act: str
    by: str = ""
    what: str = ""
    reason: str = ""
    bounds: tuple[float, float] | None = None


AnyEvent = Begun | Added | Handed | Reported | Ended | Decreed
