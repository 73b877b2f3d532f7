"""What a journal can say, one struct per sentence.

Fields are only ever added, and only with a default: an older holter ignores what it does not know, a newer
one reads old files. `KINDS` gives each struct the number that stands in the file; numbers are never reused.
"""

from typing import Any

import msgspec

Scalar = float | int | bool
Row = dict[str, Any]


class Record(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A sentence with the time at which it was said."""

    at_ns: int


class Opened(Record, frozen=True, kw_only=True):
    """Who writes this journal; first in every segment, so that each segment can be read alone."""

    run: str
    writer: str
    host: str
    boot_id: str
    pid: int
    process_started: int
    holter: str
    attempt: int = 1
    rank: int | None = None
    pid_namespace: str = ""


class Declared(Record, frozen=True, kw_only=True):
    """The keys and value types of packed rows that follow under this number."""

    number: int
    keys: tuple[str, ...]
    types: str


class Described(Record, frozen=True, kw_only=True):
    """What the user called the run."""

    project: str
    name: str
    started_ns: int
    entity: str = ""
    notes: str = ""
    group: str = ""
    job_type: str = ""
    tags: tuple[str, ...] = ()
    resumed: bool = False
    heartbeat_s: float = 5.0
    """How often the sidecar beats: a reader that can't see the process measures lateness by it."""


class Configured(Record, frozen=True, kw_only=True):
    """The whole configuration as it is now."""

    config: dict[str, Any]


class Summarised(Record, frozen=True, kw_only=True):
    """The summary values that the user set by hand."""

    summary: dict[str, Any]


class Totals(Record, frozen=True, kw_only=True):
    """What the earlier segments of this journal add up to."""

    rows: int
    last: dict[str, Any]
    last_step: int | None = None
    last_at_ns: int | None = None
    highest_step: int | None = None


class Alerted(Record, frozen=True, kw_only=True):
    """The program asked for somebody's attention."""

    title: str
    text: str = ""
    level: str = "INFO"


class Flushed(Record, frozen=True, kw_only=True):
    """All rows before this one are on the disk itself."""

    step: int | None = None


class Preempting(Record, frozen=True, kw_only=True):
    """The program was told that it is about to be preempted."""


class Raised(Record, frozen=True, kw_only=True):
    """An exception that nobody caught."""

    type: str
    message: str
    traceback: str
    thread: str = "MainThread"
    where: str = "main"
    """`main` ends the program; `thread` and `unraisable` do not."""


class Signalled(Record, frozen=True, kw_only=True):
    """A signal for which the program has a handler arrived."""

    signal: int


class Finished(Record, frozen=True, kw_only=True):
    """The program's own end of the run; `how` is `finish`, `context` or `atexit`."""

    exit_code: int | None = None
    how: str = "finish"


class Lost(Record, frozen=True, kw_only=True):
    """Records that could not be kept, once there is a place to say so."""

    records: int
    since_ns: int
    because: str


class Noted(Record, frozen=True, kw_only=True):
    """Something holter itself wants known: a value it could not store, a limit it reached."""

    text: str


class Beat(Record, frozen=True, kw_only=True):
    """The sidecar is alive and so are these processes."""

    monotonic_ns: int
    pids: tuple[int, ...] = ()


class Exited(Record, frozen=True, kw_only=True):
    """A process is gone; `status` is its wait status where somebody could read it."""

    journal: str
    pid: int
    source: str
    status: int | None = None


class Facts(Record, frozen=True, kw_only=True):
    """The host and the program's surroundings, as the sidecar found them."""

    facts: dict[str, Any]


class Marked(Record, frozen=True, kw_only=True):
    """A person's word on how the run ended; an empty state takes the word back."""

    state: str
    reason: str
    by: str


LOOSE_ROW = 2
FIRST_PACKED = 256
KINDS: dict[int, type[Record]] = {
    1: Opened,
    3: Declared,
    4: Described,
    5: Configured,
    6: Summarised,
    7: Totals,
    8: Alerted,
    9: Flushed,
    10: Preempting,
    11: Raised,
    12: Signalled,
    13: Finished,
    14: Lost,
    15: Noted,
    16: Beat,
    17: Exited,
    18: Facts,
    19: Marked,
}
NUMBERS: dict[type[Record], int] = {struct: number for number, struct in KINDS.items()}

LATEST = (Described, Configured, Summarised)
"""A newer one replaces the older ones."""
LASTING = (Alerted, Preempting, Raised, Signalled, Finished, Lost, Noted, Exited, Facts, Marked)
"""Repeated at the start of each segment, so that the last one tells the whole story."""
