"""What a journal can say, one struct per sentence.

Fields are only ever added, and only with a default: an older holter ignores what it does not know, a newer
one reads old files. A record with a number outside of the bounds of its type can't be read. `KINDS` gives each struct
the number that stands in the file; numbers are never reused.
"""

from typing import Any

import msgspec

from holter.model import amending, metric_definitions, sweep_records
from holter.model.amending import Amended
from holter.model.artifact_records import ARTIFACT_KINDS
from holter.model.awaiting import Awaited
from holter.model.bounds import Instant, Seconds, Small, Whole
from holter.model.media_records import MEDIA_KINDS
from holter.model.metric_definitions import Aggregate, Defined
from holter.model.record import Record
from holter.model.spending import Spent
from holter.model.warning_records import Eased, GpuRefused, Noticed, Pressed, Silenced, Stood, Warned

KERNEL = "kernel"
"""What `Described.kind` says of a run that records a notebook's kernel for its own sake."""


class Opened(Record, frozen=True, kw_only=True):
    """Who writes this journal; first in every segment, so that each segment can be read alone."""

    run: str
    writer: str
    host: str
    boot_id: str
    pid: Small
    process_started: Whole
    holter: str
    attempt: Small = 1
    rank: Small | None = None
    pid_namespace: str = ""
    launcher: str = ""
    """The journal of the `holter run` under which this process belongs to its run."""
    kernel_parent: Small = 0
    """Of a notebook's kernel: the process that started it, and that may end it."""


class Declared(Record, frozen=True, kw_only=True):
    """The keys and value types of packed rows that follow under this number."""

    number: Whole
    keys: tuple[str, ...]
    types: str


class Described(Record, frozen=True, kw_only=True):
    """What the user called the run."""

    project: str
    name: str
    started_ns: Instant
    entity: str = ""
    notes: str = ""
    group: str = ""
    job_type: str = ""
    tags: tuple[str, ...] = ()
    resumed: bool = False
    heartbeat_s: Seconds = 5.0
    """How often the sidecar beats: a reader that can't see the process measures lateness by it."""
    kind: str = ""
    """`kernel` for a notebook's kernel that is recorded for its own sake, without metrics; empty for all others."""


class Configured(Record, frozen=True, kw_only=True):
    """The whole configuration as it is now."""

    config: dict[str, Any]


class Summarised(Record, frozen=True, kw_only=True):
    """The summary values that the user set by hand."""

    summary: dict[str, Any]


class Totals(Record, frozen=True, kw_only=True):
    """What the earlier segments of this journal add up to."""

    rows: Whole
    last: dict[str, Any]
    last_step: Whole | None = None
    last_at_ns: Instant | None = None
    highest_step: Whole | None = None
    aggregates: dict[str, Aggregate] = msgspec.field(default_factory=dict)
    """Of the metrics of which the summary keeps more than the last value."""


class Alerted(Record, frozen=True, kw_only=True):
    """The program asked for somebody's attention."""

    title: str
    text: str = ""
    level: str = "INFO"


class Flushed(Record, frozen=True, kw_only=True):
    """Every `log()` that had returned at this time is on the disk itself."""

    step: Whole | None = None
    """The one that came next."""


class Preempting(Record, frozen=True, kw_only=True):
    """The program was told that it is about to be preempted."""


class Cause(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An exception behind another: its `cause`, its `context`, or a `member` of a group."""

    type: str
    message: str
    how: str = "cause"


class HeldArray(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An array or tensor in a local variable, without its values; what nobody could read is empty or None."""

    name: str
    type: str
    shape: tuple[Whole, ...] = ()
    """-1 for a length that is not known yet, as in a graph."""
    dtype: str = ""
    device: str = ""
    size_bytes: Whole | None = None
    count: Whole | None = None
    """How many arrays a list, tuple or dict holds; its `size_bytes` is their sum."""


class OwnFrame(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A frame of the user's own code: nothing installed, nothing of the standard library."""

    file: str
    line: Whole
    function: str
    arrays: tuple[HeldArray, ...] = ()
    """The largest first."""


class Raised(Record, frozen=True, kw_only=True):
    """An exception that nobody caught."""

    type: str
    message: str
    traceback: str
    thread: str = "MainThread"
    where: str = "main"
    """`main` ends the program and `child` a child process; `thread`, `unraisable` and `asyncio` end nothing. `pool` was
    caught by the worker of a pool or a data loader and handed to its parent, who may have caught it too. `shown` was
    caught by the program, which called `sys.excepthook` by itself, to leave or to go on. `cell` ended a notebook's cell
    that had logged, and not its kernel."""
    causes: tuple[Cause, ...] = ()
    """What led to it, the nearest first."""
    frames: tuple[OwnFrame, ...] = ()
    """The innermost last."""
    times: Whole = 1
    """How many like it there were in this process by then; of many only some are written down."""


class Signalled(Record, frozen=True, kw_only=True):
    """A signal that the program handles arrived, or one that told `holter run` and its command to end."""

    signal: Small
    code: Small | None = None
    """`si_code`, where `holter run` says so: 0 and below when a process sent it, above 0 when a terminal did."""
    sender_pid: Small = 0
    sender_uid: Whole = 0
    sender: str = ""
    """The sender's command, where it could still be read."""


class Finished(Record, frozen=True, kw_only=True):
    """The program's own end of the run; `how` is `finish`, `context`, `atexit`, or `_exit` for a call of `os._exit`.

    `replaced`: a notebook opened another run in its place, and nobody said how this one went.
    """

    exit_code: Whole | None = None
    how: str = "finish"
    exit_text: str = ""
    """What `sys.exit("text")` inside the run's `with` block said."""

    @property
    def is_leaving(self) -> bool:
        """The process ends with it: the exit status decides how the run ended."""
        return self.how in ("atexit", "_exit")


class Lost(Record, frozen=True, kw_only=True):
    """Records that could not be kept, once there is a place to say so."""

    records: Whole
    since_ns: Instant
    because: str


class Noted(Record, frozen=True, kw_only=True):
    """Something holter itself wants known: a value it could not store, a limit it reached."""

    text: str


class Beat(Record, frozen=True, kw_only=True):
    """The sidecar is alive and so are these processes."""

    monotonic_ns: Whole
    pids: tuple[Small, ...] = ()


class Exited(Record, frozen=True, kw_only=True):
    """A process is gone; `status` is its wait status where somebody could read it."""

    journal: str
    pid: Small
    source: str
    status: Small | None = None
    max_rss_bytes: Whole | None = None
    """The most memory that it, or any one of its children, had at a time; only who waited for it knows."""
    user_s: Seconds | None = None
    """CPU time of it and of the children that it waited for."""
    system_s: Seconds | None = None


class Launched(Record, frozen=True, kw_only=True):
    """`holter run` started this process; the end of it is the end of the launcher's journal."""

    pid: Small
    process_started: Whole
    command: tuple[str, ...]


class Console(Record, frozen=True, kw_only=True):
    """How the output of the process that writes this journal is kept.

    A stream is `terminal` or `pipe` (every byte, on its way there), `file` (every byte, read from that file), `python`
    (what Python's own streams were given), `launcher` (by `holter run`), or `none` with a reason behind a colon.
    """

    stdout: str
    stderr: str
    transcript: str = ""
    """The file that it is kept in; empty where somebody else keeps it."""


class ChildExited(Record, frozen=True, kw_only=True):
    """A process that the program or one of its children started is gone; `status` is its wait status, if known.

    Its parent and the sidecar may both say so: the same pid at about the same time is the same child.
    """

    pid: Small
    source: str
    """`multiprocessing` where its parent waited for it; else as in `Exited`."""
    status: Small | None = None
    name: str = ""
    """What multiprocessing called it."""
    command: str = ""
    process_started: Whole = 0
    times: Whole = 1
    """How many like it there were by then; of many only some are written down."""
    parent_signal: Small | None = None
    """The last signal that its parent sent it through multiprocessing, 0 for none; None where nobody looked."""


class Saved(Record, frozen=True, kw_only=True):
    """The program asked to keep copies of files in the run's directory, under `files`."""

    pattern: str
    """Relative to `base`; the copies have the same place below `files`."""
    base: str
    policy: str = "live"
    """`now`: as they are at this moment; `live`: again whenever they change; `end`: as they are when the run ends."""
    files: Whole = 0
    """How many there were at this moment."""
    is_done: bool = False
    """All of them were copied before this was written."""


class Facts(Record, frozen=True, kw_only=True):
    """The host and the program's surroundings, as the sidecar found them."""

    facts: dict[str, Any]


class Looked(Record, frozen=True, kw_only=True):
    """A source was asked about the end of a process; `holter.model.evidence` has the form of each answer."""

    source: str
    pid: Small = 0
    """The process that it is about; 0 for the whole run."""
    found: dict[str, Any] = msgspec.field(default_factory=dict)
    because: str = ""
    """Why the source could not be asked, and then `found` is empty."""
    remedy: str = ""
    """How to make it so that it can be asked."""


class Marked(Record, frozen=True, kw_only=True):
    """A person's word on how the run ended; an empty state takes the word back."""

    state: str
    reason: str
    by: str


class CauseMarked(Record, frozen=True, kw_only=True):
    """A person's word on why the run ended, beside the verdict; an empty cause takes the word back."""

    cause: str
    reason: str
    by: str
    verdict: str = ""
    """The cause that holter named at that time; empty where it saw none."""


class Edited(Record, frozen=True, kw_only=True):
    """A person calls the run something else; None leaves what there is. It holds over what programs say."""

    by: str
    name: str | None = None
    notes: str | None = None
    tags: tuple[str, ...] | None = None
    colour: Whole | None = None
    """Of its lines: a slot of the palette."""


class CellStarted(Record, frozen=True, kw_only=True):
    """A notebook's kernel began to run a cell; without a `CellEnded` it was running when the kernel died."""

    ordinal: Whole
    """Counts the cells of the kernel, from the first that holter saw."""
    number: Whole = 0
    """The `[3]` beside it; 0 for a cell that is not kept in the history."""
    source: str = ""
    rss_bytes: Whole | None = None
    files: dict[str, Whole] = msgspec.field(default_factory=dict)
    """The file that Python takes the cell for, with its number; in the first one also those of the cells before it."""


class HeldVariable(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a name in the notebook held when a cell had ended."""

    name: str
    type: str
    what: str = ""
    """Its shape, its length."""
    host_bytes: Whole = 0
    gpu_bytes: Whole = 0


class CellEnded(Record, frozen=True, kw_only=True):
    """The cell is through; None is what nobody could measure."""

    ordinal: Whole
    number: Whole = 0
    rss_bytes: Whole | None = None
    peak_bytes: Whole | None = None
    """The most memory that the process had at any moment of the cell."""
    gpu_bytes: Whole | None = None
    """What PyTorch has allocated on all GPUs."""
    gpu_peak_bytes: Whole | None = None
    """The most of that in the cell; at least this much, where an earlier cell had more."""
    error: str = ""
    """The exception that ended it, or that `%run` showed."""
    variables: tuple[HeldVariable, ...] = ()
    """The largest; of the last cell after which somebody looked."""


class KernelAsked(Record, frozen=True, kw_only=True):
    """A notebook's kernel was told to `restart`, to `shutdown`, or to stop what it was doing: `interrupt`.

    `server-gone` is nobody's wish: the Jupyter server was dead when the kernel left, as kernels then do by themselves.
    """

    kind: str
    is_busy: bool = False
    """A cell was running."""


class Judged(Record, frozen=True, kw_only=True):
    """What the rules made of the end of the run. It holds until there is more evidence than was weighed."""

    weighed: str
    """Stands for the evidence, as `weight_of` has it."""
    found: dict[str, Any] = msgspec.field(default_factory=dict)
    """An `Explanation`."""


class Masked(Record, frozen=True, kw_only=True):
    """How many different secrets the writer of this journal has hidden so far, by kind and place; none of them."""

    counts: dict[str, int]


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
    20: ChildExited,
    21: Saved,
    24: Launched,
    25: Console,
    26: Looked,
    27: Edited,
    28: CellStarted,
    29: CellEnded,
    30: KernelAsked,
    31: Masked,
    32: CauseMarked,
    33: Judged,
    **sweep_records.KINDS,
    **MEDIA_KINDS,
    40: Warned,
    41: Eased,
    42: Silenced,
    43: Stood,
    44: Pressed,
    45: GpuRefused,
    46: Spent,
    47: Noticed,
    **metric_definitions.KINDS,
    **amending.KINDS,
    67: Awaited,
    **ARTIFACT_KINDS,
}
NUMBERS: dict[type[Record], int] = {struct: number for number, struct in KINDS.items()}

LATEST = (Described, Configured, Summarised, CellStarted, CellEnded, Masked, Defined, Awaited, Spent)
"""A newer one replaces the older ones."""
LASTING: tuple[type[Record], ...] = (
    Alerted,
    Preempting,
    Raised,
    Signalled,
    Finished,
    Lost,
    Noted,
    Exited,
    Facts,
    Marked,
    CauseMarked,
    ChildExited,
    Launched,
    Console,
    Looked,
    Edited,
    Amended,
    KernelAsked,
    Judged,
    *sweep_records.LASTING,
    Warned,
    Eased,
    Silenced,
    Stood,
    Pressed,
    GpuRefused,
    Noticed,
    *ARTIFACT_KINDS.values(),
)
"""Repeated at the start of each segment, so that the last one tells the whole story."""
