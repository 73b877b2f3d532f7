"""What the guards of a living run said, and what became of it."""

from typing import Any

import msgspec

from holter.model.bounds import Instant, Seconds, Small, Whole
from holter.model.record import Record


class Warned(Record, frozen=True, kw_only=True):
    """A guard saw something coming, or something that is wrong already."""

    guard: str
    text: str
    subject: str = ""
    """What it is about, where a guard watches several: `cgroup/0`, `gpu/1`, the pid of a worker, a metric."""
    advice: tuple[str, ...] = ()
    """What to do against it, the best first."""
    since_ns: Instant | None = None
    """When it began."""
    eta_s: Seconds | None = None
    """In how many seconds it will happen, counted from `at_ns`; None for what has happened, or has no time."""
    eta_least_s: Seconds | None = None
    eta_most_s: Seconds | None = None
    """The range of that."""
    figures: dict[str, Any] = msgspec.field(default_factory=dict)
    """What it was seen by: the key of a series, its limit, how fast it grows."""


class Eased(Record, frozen=True, kw_only=True):
    """What a guard had warned of is no longer so."""

    guard: str
    subject: str = ""


class Silenced(Record, frozen=True, kw_only=True):
    """A person wants no more of a guard's warnings for this run; `is_over` takes that back."""

    guard: str
    by: str
    is_over: bool = False


class Stood(Record, frozen=True, kw_only=True):
    """A process that lived on without getting on, up to this moment."""

    pid: Small
    silent_s: Seconds
    usual_s: Seconds
    kind: str = ""
    """`deadlock`, `busy`, `gil`, `slow-data`, `stopped`, `frozen`, `disk`, `collective`, `pool`, `gpu`; empty
    where nobody can tell."""
    rank: Small | None = None
    cpu_percent: Seconds | None = None
    kernel_state: str = ""
    """As in /proc: `T` stopped, `D` waits for a device, `S` sleeps."""
    stack: str = ""
    """Where its threads were."""
    is_over: bool = False
    """It goes on."""


class Pressed(Record, frozen=True, kw_only=True):
    """What was done because a guard saw the memory run out: `saved` by the program's own function, or `interrupted`."""

    done: str
    what: str = ""
    took_s: Seconds | None = None
    error: str = ""


class Noticed(Record, frozen=True, kw_only=True):
    """A habit of the program, seen from inside of it, that its user should know of."""

    habit: str
    where: str = ""
    """A line of the program."""
    what: str = ""
    """The variable, or the name of the value."""
    times: Whole = 0
    step: Whole | None = None
    took_s: Seconds | None = None
    """Each time."""
    share: Seconds | None = None
    """Of the time, or of a memory."""


class GpuRefused(Record, frozen=True, kw_only=True):
    """torch was refused memory of a GPU; the program may have caught what it raised then. All sizes in bytes."""

    device: Small
    asked: Whole
    total: Whole = 0
    free: Whole = 0
    """Of the whole GPU, before torch gave back its cache."""
    allocated: Whole = 0
    """What the program has in use."""
    reserved: Whole = 0
    """What torch has taken from the driver for it, its cache included."""
    split: Whole = 0
    """Free parts of blocks of which another part is in use: these can't be given back."""
    largest_free: Whole = 0
    """The largest of the free parts."""
    snapshot: str = ""
    """The file with the state of the allocator, where its history was on."""
