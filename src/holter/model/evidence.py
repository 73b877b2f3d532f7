"""All that can be known about the end of a run, one struct per witness. Pure data: probes fill it, rules read it.

Everywhere None means that nobody could look; an empty tuple means that somebody looked and there was nothing.
Times are ns since 1970. Fields are only ever added, with a default: what a sidecar found stands in journals.
"""

import os
import signal
from collections.abc import Sequence
from typing import Self

import msgspec

from holter.model.finding import Account, Finding
from holter.model.records import Finished, Raised
from holter.model.warning_records import GpuRefused

REQUESTS = frozenset({signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2})
"""With these, schedulers and people ask a program to save and leave."""


class Caught(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A signal as the signal witness saw it arrive, inside the process."""

    at_ns: int
    pid: int
    thread: int
    signal: int
    code: int
    """`si_code`: 0 and below when a process sent it, above 0 when Linux did; 128 from a terminal or Linux."""
    sender_pid: int = 0
    """Only where `code` is 0 or below."""
    sender_uid: int = 0
    address: int = 0
    """What a fault was about."""
    stack_pointer: int = 0
    mapping: str = ""
    """The line of /proc/self/maps that holds `address`; empty where nothing is mapped there."""
    sender: str = ""
    """The sender's command, where somebody could still read it: `bash: bash -c kill 42`."""
    mapping_above: str = ""
    """The next line of /proc/self/maps above `address`: that of the stack, where one ran over."""
    instruction_pointer: int = 0
    instruction_mapping: str = ""
    """The line of /proc/self/maps with the code that faulted: the library, by its path."""
    is_handled: bool = False
    """Somebody had a handler for it, to whom it was handed on: the program, a library, or Python's writer of stacks."""

    @property
    def is_sent(self) -> bool:
        """By a process, and not raised by the program's own fault or by a terminal."""
        return self.code <= 0


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How one process ended: the program itself, one of its ranks, or one of its children."""

    pid: int
    role: str = "program"
    """`program`, `command` (under `holter run`), `watched`, `kernel` (of a Jupyter server), `rank` or `child`."""
    name: str = ""
    """Its command line, or what multiprocessing calls it."""
    host: str = ""
    rank: int | None = None
    began_ns: int = 0
    at_ns: int = 0
    """When it died, or was last seen."""
    status: int | None = None
    """Its wait status."""
    source: str = ""
    """Who read the status: `wait`, `pidfd-info`, `zombie-stat`, `connector`, `multiprocessing`; `gone` for nobody."""
    finished: Finished | None = None
    raised: Raised | None = None
    """The exception that ended it."""
    others_raised: tuple[Raised, ...] = ()
    """Exceptions that did not end it: in threads, tasks, callbacks, workers of a pool."""
    signals: tuple[Caught, ...] = ()
    """In the order of arrival. Evidence only where the wait status agrees: some programs live on signals."""
    has_signal_witness: bool = False
    handled: tuple[int, ...] = ()
    """Signals for which the program had a handler of its own, and which arrived."""
    fault_log: str = ""
    """Python's stacks at a fatal signal."""
    last_step: int | None = None
    last_row_ns: int | None = None
    is_alive: bool | None = False
    times: int = 1
    """How many children like it ended so."""
    parent_signal: int | None = None
    """Of a child: the last signal that its parent sent it by multiprocessing, 0 for none; None where nobody looked."""
    cpu_s: float | None = None
    """The CPU time that it used; only who waited for it knows."""
    max_rss_bytes: int | None = None
    """The most memory that it, or any child it waited for, had at a time; only who waited for it knows."""

    @property
    def signal(self) -> int | None:
        """The signal that ended it; None where none did or nobody knows."""
        return os.WTERMSIG(self.status) if self.status is not None and os.WIFSIGNALED(self.status) else None

    @property
    def code(self) -> int | None:
        """Its exit code; None where a signal ended it or nobody knows."""
        return os.WEXITSTATUS(self.status) if self.status is not None and os.WIFEXITED(self.status) else None

    def caught(self, *signals: int) -> Caught | None:
        """The last arrival of one of these signals at this process, if the witness saw one."""
        seen = [each for each in self.signals if each.signal in signals and each.pid in (0, self.pid)]
        return seen[-1] if seen else None


class MemoryLevel(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One cgroup that bounds the run: 0 is the program's own, 1 its parent, and so on."""

    level: int
    path: str = ""
    limit_bytes: float | None = None
    """None for no limit."""
    usage_bytes: float | None = None
    """Without what Linux could give back at once; in the last sample."""
    peak_bytes: float | None = None
    kills: int | None = None
    """Out-of-memory kills counted here since the run began."""
    limit_hits: int | None = None
    """How often it was about to pass its limit since the run began."""
    kills_lately: int | None = None
    """Those since the process was last seen to live on, of the last ten seconds at most: others were earlier deaths."""
    kills_before: int | None = None
    """What Linux's counter stood at when the run began, and where it is: for whoever looks after the fact."""
    limit_hits_before: int | None = None
    directory: str = ""
    inode: int = 0


class Holder(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A process and its memory, near the end."""

    pid: int
    name: str
    rss_bytes: int
    is_ours: bool = False
    """It belonged to the run."""
    gpu: bool = False
    """The memory is that of a GPU."""
    is_within: bool = False
    """It was in a cgroup with a limit that the run was in too."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """The host's memory as the run's samples and the counters at its death have it."""

    sampled_ns: int | None = None
    """When the last sample was taken."""
    levels: tuple[MemoryLevel, ...] = ()
    total_bytes: float | None = None
    available_bytes: float | None = None
    swap_total_bytes: float | None = None
    swap_free_bytes: float | None = None
    host_kills: int | None = None
    """Out-of-memory kills of the whole machine since the run began: not necessarily of ours."""
    own_bytes: float | None = None
    """Anonymous and shared memory of the program and its children, in the last sample."""
    own_peak_bytes: float | None = None
    growth_bytes_per_s: float | None = None
    """Of `own_bytes`, over the last samples."""
    growth_s: float = 0.0
    """How long it had grown like that."""
    full_pressure_percent: float | None = None
    """PSI: share of the last 10 s in which everything waited for memory."""
    major_faults_per_s: float | None = None
    swap_out_bytes_per_s: float | None = None
    holders: tuple[Holder, ...] | None = None
    """The processes with the most memory near the end, the largest first."""
    holders_ns: int | None = None


class OomKill(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Linux's own report of a process that it killed for memory."""

    at_ns: int
    pid: int
    name: str
    constraint: str = ""
    """`CONSTRAINT_MEMCG` for a cgroup's limit, `CONSTRAINT_NONE` for the machine."""
    limited_cgroup: str = ""
    """Whose limit was reached."""
    cgroup: str = ""
    """Where the victim was."""
    anon_bytes: int = 0
    text: str = ""


class KernelLine(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A line of the kernel log that may matter: `kind` is `io`, `file-system`, `hardware`, `xid`, and of ours `fault`
    and `refused` (an allocation)."""

    at_ns: int
    kind: str
    text: str
    pid: int = 0
    """Of a fault 0 where a thread had it, of which nobody knows whose it was."""
    number: int = 0
    """Of an Xid."""


class KernelLog(Finding, frozen=True, kw_only=True):
    """What the kernel log says about the time in which the run ended."""

    kills: tuple[OomKill, ...] = ()
    lines: tuple[KernelLine, ...] = ()
    tells_faults: bool = False
    """Linux writes down the faults of programs that have no handler for them: what is not there was none."""

    @classmethod
    def together(cls, found: Sequence[Self]) -> Self:
        """All lines and kills, each once, in their order."""
        kills = {(kill.pid, kill.text, kill.at_ns): kill for log in found for kill in log.kills}
        lines = {(line.text, line.at_ns): line for log in found for line in log.lines}
        return cls(
            kills=tuple(sorted(kills.values(), key=lambda kill: kill.at_ns)),
            lines=tuple(sorted(lines.values(), key=lambda line: line.at_ns)),
            tells_faults=any(log.tells_faults for log in found),
        )


class Counters(Finding, frozen=True, kw_only=True):
    """Linux's out-of-memory counters when a process had just died, since the run began."""

    levels: tuple[MemoryLevel, ...] = ()
    host_kills: int | None = None
    host_kills_before: int | None = None
    """When the run began."""

    @property
    def is_first(self) -> bool:
        """It has only what was when the run began, and says nothing about an end."""
        return self.host_kills_before is not None or any(level.directory for level in self.levels)


class ProcessTable(Finding, frozen=True, kw_only=True):
    """Who held the most memory; taken when it became scarce."""

    holders: tuple[Holder, ...] = ()


class Disk(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One file system that the program uses."""

    path: str
    """A file or directory of the program in it."""
    what: str = ""
    """`working directory`, `temporary directory`, `run directory`, `shared memory`, `open file`, `output` for the file
    into which the program prints, or `error` for the file that an exception names, `argument` for one that a failed
    command was given, `mapped file` for the one in which a bus error was."""
    free_bytes: int | None = None
    total_bytes: int | None = None
    free_inodes: int | None = None
    total_inodes: int | None = None
    is_read_only: bool = False
    file_bytes: int | None = None
    """How long the file at `path` is; of a mapped file."""


class Surroundings(Finding, frozen=True, kw_only=True):
    """What the process was near to running out of, at the moment of an exception or of its death."""

    disks: tuple[Disk, ...] | None = None
    open_files: int | None = None
    open_files_limit: int | None = None
    threads: int | None = None
    """Of all processes of this user, or in the cgroup, whichever is nearer to its limit."""
    threads_limit: int | None = None
    address_space_bytes: int | None = None
    address_space_limit_bytes: int | None = None
    data_limit_bytes: int | None = None
    stack_limit_bytes: int | None = None
    file_size_limit_bytes: int | None = None
    cpu_limit_s: int | None = None
    cpu_used_s: float | None = None
    """CPU time of the process itself, without its children."""
    memory_available_bytes: int | None = None
    commit_limit_bytes: int | None = None
    """Only where Linux holds to it (overcommit_memory 2)."""
    gpu_holders: tuple[Holder, ...] | None = None
    children_rss_bytes: int | None = None
    """The most memory that any child had which the process has waited for; 0 where it has waited for none."""
    stack_start: int | None = None
    """Where the stack of the first thread begins, from which it grows down."""
    becomes: str | None = None
    """The program that took the place of the process, by `exec`; nothing where that failed."""
    heeded: tuple[int, ...] | None = None
    """Signals that would not have ended the process at once: it had a handler for them, or held them back."""

    @property
    def heeds_requests(self) -> bool | None:
        """Whether somebody could ask it to leave in order; None where nobody looked."""
        return None if self.heeded is None else bool(REQUESTS.intersection(self.heeded))


class Job(Account, frozen=True, kw_only=True):
    """What a scheduler says about the job; the strongest word of several sources wins."""

    scheduler: str
    job: str = ""
    state: str = ""
    """As the scheduler calls it: `CANCELLED`, `TIMEOUT`, `PREEMPTED`, `OUT_OF_MEMORY`, `COMPLETED`, …"""
    reason: str = ""
    exit_code: str = ""
    restarts: int | None = None
    said: str = ""
    """The line that it wrote into the job's output, such as `CANCELLED AT … DUE TO TIME LIMIT`."""
    source: str = ""
    """`scontrol`, `sacct`, `output` or `environment`."""
    ends_at_ns: int | None = None
    """The time limit's end as the job knew it."""
    by: str = ""
    """Who cancelled it, where the scheduler says so."""
    output: str = ""
    """The file that the job's output goes to, on whichever host; asked for while the job lived."""


class HostEnd(Account, frozen=True, kw_only=True):
    """Whether the machine itself went down."""

    boot_id: str = ""
    """Of the boot in which the run ran."""
    boot_id_now: str | None = None
    booted_ns: int | None = None
    """When the present boot began."""
    last_shutdown: str = ""
    """`clean`, `crash` or nothing, as the login records have it."""
    panic: str = ""
    """What Linux left behind of a panic."""


class OomDaemon(Finding, frozen=True, kw_only=True):
    """earlyoom, systemd-oomd and their like: are they there, and did they say that they killed?"""

    running: tuple[str, ...] = ()
    said: tuple[str, ...] | None = None
    """Their log lines about a process or cgroup of ours."""


class GpuEvents(Account, frozen=True, kw_only=True):
    """What NVML saw of the GPUs during the run."""

    xids: tuple[KernelLine, ...] = ()
    lost: tuple[int, ...] = ()
    """GPUs that no longer answer."""
    uncorrected_errors: int | None = None
    hottest_c: float | None = None
    slowdown_c: float | None = None
    thermal_slowdown_s: float | None = None


class Sender(Finding, frozen=True, kw_only=True):
    """Who a process is that sent a signal; read at once, for it may soon be gone."""

    pid: int
    command: str = ""
    parent: str = ""
    uid: int | None = None
    user: str = ""


class Asked(Finding, frozen=True, kw_only=True):
    """Everybody has been asked about the end of a process."""

    hears_exits: bool = False
    """Linux announced each exit of a child to whoever asked: none can have been missed."""


class Unseen(Finding, frozen=True, kw_only=True):
    """A source that could not be asked."""

    because: str
    remedy: str = ""


class NonFinite(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that became NaN or infinite."""

    key: str
    value: str
    step: int
    at_ns: int
    is_last: bool = True
    """It was still so in the last row."""
    last_finite: float | None = None
    last_finite_step: int | None = None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A line that the program printed near its end. Programs print what they like: the weakest witness."""

    at_ns: int
    text: str
    is_error: bool = False
    """On stderr."""


class Stall(msgspec.Struct, frozen=True, kw_only=True):
    """A process that lived on without getting on; recorded by whoever watched."""

    silent_s: float
    usual_s: float
    rank: int | None = None
    cpu_percent: float | None = None
    kernel_state: str = ""
    """`T` stopped, `D` waits for a device, `S` sleeps, as in /proc."""
    stack: str = ""


class KernelEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What a notebook's kernel was told before it ended: `restart`, `shutdown` or `interrupt`.

    `server-gone`: nothing, but its Jupyter server was dead when it left.
    """

    at_ns: int
    kind: str
    is_busy: bool = False
    """A cell was running."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known about the end of a run. `subject` is the process that the rules are asked about."""

    subject: End
    run: str = ""
    """Its id."""
    state: str = "crashed"
    """As the exit decides it, before any rule."""
    ended_ns: int = 0
    ranks: tuple[End, ...] = ()
    """All processes that record, with the subject, by the time of their end."""
    children: tuple[End, ...] = ()
    """Those that did not end well, by the time of their end."""
    memory: Memory = Memory()
    memory_of: dict[int, Memory] = {}
    """By the pid of a child: the same as it was when that one died."""
    surroundings: Surroundings | None = None
    surroundings_of: dict[int, Surroundings] = {}
    """By the pid of a child, where somebody looked."""
    kernel_log: KernelLog | None = None
    job: Job | None = None
    host: HostEnd | None = None
    oom_daemon: OomDaemon | None = None
    gpu: GpuEvents | None = None
    senders: tuple[Sender, ...] = ()
    non_finite: tuple[NonFinite, ...] = ()
    said: tuple[Said, ...] = ()
    """The last lines of the console, at most a few hundred."""
    stalls: tuple[Stall, ...] = ()
    gpu_refusals: tuple[GpuRefused, ...] = ()
    """Each time that torch was refused memory of a GPU, caught or not; of this attempt."""
    kernel_events: tuple[KernelEvent, ...] = ()
    is_connected: bool | None = None
    """Whether data still arrived; None where no server is involved."""
    is_watched: bool = False
    """A sidecar saw the subject and all of its children to their ends, and has asked everybody about them."""
    is_late: bool = False
    """Nobody saw the end: its heartbeats stopped."""
    was_preempting: bool = False
    """The program said that it was being preempted."""
    is_notebook: bool = False
    config: dict[str, object] = {}
    facts: dict[str, object] = {}
    """What the sidecar found at the start: `facts` of the journal."""
    unseen: dict[str, Unseen] = {}
    """By source, what could not be asked."""

    @property
    def around(self) -> Surroundings:
        """What surrounded the subject; where nobody looked, all of it is unknown."""
        return self.surroundings or Surroundings()

    @property
    def kernel_lines(self) -> tuple[KernelLine, ...]:
        """Of the kernel log; none where nobody could read it."""
        return self.kernel_log.lines if self.kernel_log else ()


SOURCES: dict[str, type[Finding]] = {
    "counters": Counters,
    "kernel-log": KernelLog,
    "process-table": ProcessTable,
    "surroundings": Surroundings,
    "last-seen": Surroundings,
    "job": Job,
    "host": HostEnd,
    "oom-daemon": OomDaemon,
    "gpu-events": GpuEvents,
    "sender": Sender,
}
"""The name under which each is kept in a journal."""
ALL_ASKED = "all"
"""The source of the last word about a process: all others have been asked. Whoever waits for them need wait no more."""
