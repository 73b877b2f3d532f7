"""Facts for verdicts, each with the place where it was read and the time at which it happened.

`TEXT` names the sources that any program can forge by printing: a verdict on nothing else is never sure, and
`ranking` bounds it. The type of an exception is `EXCEPTION`; what only its message says is `EXCEPTION_TEXT`. What there
is nothing to say about makes no fact: a verdict's list may hold None.
"""

from holter.diagnosis import words
from holter.diagnosis.causality.ends import call
from holter.model import cell_names
from holter.model.evidence import (
    Caught,
    Disk,
    End,
    Evidence,
    Holder,
    KernelLine,
    MemoryLevel,
    OomKill,
    Said,
    Sender,
    Unseen,
)
from holter.model.records import HeldArray, OwnFrame, Raised
from holter.model.verdicts import Fact, NotObservable

EXIT_STATUS = "exit status"
SIGNAL = "signal witness"
CGROUP = "cgroup"
LINUX = "Linux counters"
KERNEL_LOG = "Linux kernel log"
SAMPLES = "samples"
PROCESSES = "process table"
LIMITS = "limits"
DISKS = "file systems"
EXCEPTION = "exception"
TRACEBACK = "traceback"
"""An exception as the interpreter printed it, with which it ended the program."""
FAULT_LOG = "fault log"
SCHEDULER = "scheduler"
OOM_DAEMON = "memory daemon"
GPU = "gpu"
JOURNAL = "journal"
ABSENCE = "elimination"
EXCEPTION_TEXT = "exception text"
CONSOLE = "console"

TEXT = frozenset({EXCEPTION_TEXT, CONSOLE})
_SOURCES = {"printed": CONSOLE, "last words": TRACEBACK}
_LED = {"cause": "it was raised from", "context": "while handling", "member": "one of its members is"}


def fact(source: str, at_ns: int, text: str, /) -> Fact:
    """A fact at a time in ns."""
    return Fact(source=source, at=round(at_ns / 1e9, 3), text=words.quote(text, 400))


def when(end: End) -> int:
    """When it failed: its exception, else its end."""
    return end.raised.at_ns if end.raised else end.at_ns


def of_status(end: End) -> Fact:
    """How the process ended, as Linux told somebody."""
    readers = {"wait": "its parent", "multiprocessing": "its parent", "shell": "its shell"}
    reader = readers.get(end.source, end.source) if end.status is not None else ""
    return fact(EXIT_STATUS, end.at_ns, _ending(end) + words.told(" (read by {})", reader))


def _ending(end: End) -> str:
    who = words.process(end)
    if end.signal is not None:
        return f"{words.signal(end.signal)} ended {who}"
    if end.code is not None:
        return f"{who} exited with exit code {end.code}"
    if end.finished is not None and end.finished.how == "cell":
        return f"the cell ended with that, and nothing was logged after it; {who} lived on"
    return f"{who} is gone; its exit status could not be read"


def of_signal(caught: Caught | None, senders: tuple[Sender, ...] = ()) -> Fact | None:
    """A signal that the witness inside the process saw."""
    return None if caught is None else fact(SIGNAL, caught.at_ns, _arrival(caught, senders))


def _arrival(caught: Caught, senders: tuple[Sender, ...]) -> str:
    name = words.signal(caught.signal)
    if caught.is_sent and caught.sender_pid == caught.pid:
        return f"process {caught.pid} sent itself {name}"
    if caught.is_sent:
        return f"{name} was sent by {sender_of(caught, senders)}"
    if caught.code == 128 or not caught.stack_pointer:
        return f"{name} came from Linux (code {caught.code})"
    place = words.told(", in {}", map_path(caught)) or ", where nothing is mapped"
    return f"{name} with code {caught.code} at address {caught.address:#x}{place}"


def sender_of(caught: Caught, senders: tuple[Sender, ...] = ()) -> str:
    """`process 12 (bash) of ada`, as far as it is known."""
    if caught.sender_pid == 0:
        return "a process outside this container"
    sender = next((each for each in senders if each.pid == caught.sender_pid), Sender(pid=0))
    command = words.quote(sender.command or caught.sender, 80)
    return f"process {caught.sender_pid}{words.told(' ({})', command)} of {sender.user or f'user {caught.sender_uid}'}"


def map_path(caught: Caught | None) -> str:
    """The file behind the address of a fault; empty where nothing is mapped."""
    parts = caught.mapping.split(None, 5) if caught is not None else []
    return parts[5].strip() if len(parts) == 6 else "an anonymous mapping" if parts else ""


def of_exception(raised: Raised | None, *, is_type_decisive: bool = True) -> Fact | None:
    """An exception; with `is_type_decisive=False` only its message speaks for the verdict, and that is text."""
    if raised is None:
        return None
    said = words.quote(f"{raised.type}: {raised.message}" if raised.message else raised.type, 300)
    usual = _SOURCES.get(raised.where, EXCEPTION)
    source = usual if is_type_decisive or usual == CONSOLE else EXCEPTION_TEXT
    where = [f" (in {frame.function}, {_short(frame)})" for frame in raised.frames[-1:]]
    return fact(source, raised.at_ns, "".join([said, *where]))


def place(raised: Raised | None) -> str:
    """`train.py:41 in fit`, the innermost place of the user's own code; empty where there is none."""
    return f"{_short(raised.frames[-1])} in {raised.frames[-1].function}" if raised and raised.frames else ""


def of_way(raised: Raised) -> Fact | None:
    """The way through the user's own code to the exception, where it is longer than one function."""
    way = [f"{_short(frame)} {frame.function}" for frame in raised.frames[-4:]]
    return fact(EXCEPTION, raised.at_ns, f"raised at {' > '.join(way)}") if len(way) > 1 else None


def _short(frame: OwnFrame) -> str:
    return cell_names.place(frame.file.rpartition("/")[2], frame.line)


def of_cause(raised: Raised) -> Fact | None:
    """The exception behind it, where there is one."""
    causes = [each for each in raised.causes if "RemoteTraceback" not in each.type]  # that is the same one as text
    if not causes:
        return None
    text = words.quote(f"{causes[0].type}: {causes[0].message}", 200)
    return fact(EXCEPTION, raised.at_ns, f"{_LED.get(causes[0].how, 'behind it')} {text}")


def of_steps(end: End) -> Fact | None:
    """How far it had got, if it logged anything."""
    if end.last_step is None:
        return None
    at_ns = end.last_row_ns or end.at_ns
    before_s = (end.at_ns - at_ns) / 1e9
    ago = f", {words.seconds(before_s)} before its end" if before_s >= 1 else ""
    return fact(JOURNAL, at_ns, f"the last step that {call(end)} logged was {end.last_step:,}{ago}")


def of_arrays(raised: Raised | None) -> Fact | None:
    """The largest arrays that the user's own functions held, if any."""
    held = [array for frame in (raised.frames if raised else ()) for array in frame.arrays if array.size_bytes]
    largest = sorted(held, key=lambda array: -(array.size_bytes or 0))[:3]
    if raised is None or not largest:
        return None
    return fact(EXCEPTION, raised.at_ns, f"held at that moment: {words.listed([_array(each) for each in largest])}")


def _array(array: HeldArray) -> str:
    shape = "×".join(str(length) for length in array.shape)
    where = f" on {array.device}" if array.device and array.device != "cpu" else ""
    kind = f"{shape} {array.dtype}".strip() or f"{array.count or ''} arrays".strip()
    return f"{array.name} ({kind}, {words.size(array.size_bytes or 0)}{where})"


def of_console(said: Said | None) -> Fact | None:
    """A line that the program printed."""
    return fact(CONSOLE, said.at_ns, f"the program printed: {words.quote(said.text, 300)}") if said else None


def of_kernel_line(line: KernelLine | None) -> Fact | None:
    """A line of the kernel log."""
    return fact(KERNEL_LOG, line.at_ns, line.text) if line else None


def of_oom_kill(kill: OomKill | None) -> Fact | None:
    """Linux's own report of a kill."""
    if kill is None:
        return None
    usual = f"out of memory: killed process {kill.pid} ({kill.name}), {words.size(kill.anon_bytes)}"
    return fact(KERNEL_LOG, kill.at_ns, kill.text or usual)


def of_kills(level: MemoryLevel | None, at_ns: int) -> Fact | None:
    """A cgroup's own count of out-of-memory kills."""
    if level is None:
        return None
    moved = f"rose by {level.kills}" if level.kills else "did not move"
    return fact(CGROUP, at_ns, f"oom_kill{words.told(' of {}', level.path)} {moved} since the run began")


def of_level(level: MemoryLevel | None, at_ns: int) -> Fact | None:
    """How near a cgroup was to its limit."""
    if level is None:
        return None
    whose = "its container" if level.level == 0 else level.path or f"the group {level.level} levels up"
    limit = f" of {words.size(level.limit_bytes)}" if level.limit_bytes is not None else ", without a limit,"
    has_limit = level.limit_bytes is not None
    text = f"{whose} has a memory limit (cgroup){limit}" if has_limit else f"{whose} has no memory limit"
    if level.usage_bytes is not None:
        text = f"{whose} held {words.size(level.usage_bytes)}{limit} in the last sample"
    if level.peak_bytes is not None:
        text += f", at most {words.size(level.peak_bytes)}"
    if level.limit_hits:
        text += f", and ran into its limit {words.count(level.limit_hits, 'time')}"
    return fact(CGROUP, at_ns, text)


def of_available(evidence: Evidence) -> Fact | None:
    """The machine's memory in the last sample, where there is one."""
    memory = evidence.memory
    if memory.available_bytes is None:
        return None
    total = words.sized(" of {}", memory.total_bytes)
    text = f"{words.size(memory.available_bytes)}{total} of the machine's memory was available"
    return fact(SAMPLES, memory.sampled_ns or evidence.subject.at_ns, text)


def of_own(evidence: Evidence) -> Fact | None:
    """The memory of the run itself in the last sample, where there is one."""
    memory = evidence.memory
    if not memory.own_bytes:
        return None
    text = f"the program and its children held {words.size(memory.own_bytes)} of their own"
    if memory.growth_bytes_per_s and memory.growth_bytes_per_s > 0 and memory.growth_s:
        text += f", growing by {words.size(memory.growth_bytes_per_s)}/s for {words.seconds(memory.growth_s)}"
    return fact(SAMPLES, memory.sampled_ns or evidence.subject.at_ns, text)


def of_holders(evidence: Evidence) -> Fact | None:
    """Who held the most memory, where somebody looked."""
    memory = evidence.memory
    at_ns = memory.holders_ns or memory.sampled_ns or evidence.subject.at_ns
    return fact(PROCESSES, at_ns, f"the most memory was held by {named(memory.holders)}") if memory.holders else None


def named(holders: tuple[Holder, ...] | None) -> str:
    """`python (812) 3.0 GiB, bash (7) 2.1 MiB`: the first three."""
    return ", ".join([f"{each.name} ({each.pid}) {words.size(each.rss_bytes)}" for each in (holders or ())[:3]])


def of_disk(disk: Disk | None, at_ns: int) -> Fact | None:
    """What was left of a file system."""
    if disk is None:
        return None
    parts = []
    if disk.free_bytes is not None:
        parts.append(f"{words.size(disk.free_bytes)}{words.sized(' of {}', disk.total_bytes)}")
    if disk.free_inodes is not None and disk.total_inodes:
        parts.append(f"{disk.free_inodes:,} of {disk.total_inodes:,} inodes")
    left = " and ".join(parts) + " free" if parts else "an unknown amount free"
    return fact(DISKS, at_ns, f"the file system of the {words.told('{} ', disk.what)}{disk.path} had {left}")


def of_absence(end: End) -> Fact:
    """SIGKILL by elimination: every other end would have left a trace."""
    text = f"{words.process(end)} vanished without a trace, and every signal but SIGKILL leaves one"
    return fact(ABSENCE, end.at_ns, text)


def of_end(end: End) -> Fact:
    """How it ended, where somebody saw it; else SIGKILL by elimination."""
    return of_status(end) if end.status is not None else of_absence(end)


def not_observable(evidence: Evidence, source: str, *, because: str, remedy: str) -> NotObservable:
    """That a source could not be looked at, for the reason that its probe gave, or else for this one."""
    unseen = evidence.unseen.get(source, Unseen(because=because))
    return NotObservable(because=unseen.because, remedy=unseen.remedy or remedy)
