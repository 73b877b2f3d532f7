"""Facts for verdicts, each with the place where it was read and the time at which it happened.

`TEXT` names the sources that any program can forge by printing: a verdict on nothing else is never sure, and
`ranking` bounds it. The type of an exception is `EXCEPTION`; what only its message says is `EXCEPTION_TEXT`.
"""

from holter.diagnosis import words
from holter.model import cell_names
from holter.model.evidence import Caught, Disk, End, Evidence, Holder, MemoryLevel, OomKill, Said, Sender
from holter.model.records import Raised
from holter.model.verdicts import Fact

EXIT_STATUS = "exit status"
SIGNAL = "signal witness"
CGROUP = "cgroup"
KERNEL = "Linux counters"
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
ABSENCE = "elimination"
EXCEPTION_TEXT = "exception text"
CONSOLE = "console"

TEXT = frozenset({EXCEPTION_TEXT, CONSOLE})
_SOURCES = {"printed": CONSOLE, "last words": TRACEBACK}


def fact(source: str, at_ns: int, text: str, /) -> Fact:
    """A fact at a time in ns."""
    return Fact(source=source, at=round(at_ns / 1e9, 3), text=words.quote(text, 400))


def of_status(end: End) -> Fact:
    """How the process ended, as the kernel told somebody."""
    return fact(EXIT_STATUS, end.at_ns, f"{_ending(end)}{_reader(end)}")


def _ending(end: End) -> str:
    who = words.process(end)
    if end.signal is not None:
        return f"{words.signal(end.signal)} ended {who}"
    if end.code is not None:
        return f"{who} exited with exit code {end.code}"
    if end.finished is not None and end.finished.how == "cell":
        return f"the cell ended with that, and nothing was logged after it; {who} lived on"
    return f"{who} is gone; its exit status could not be read"


def _reader(end: End) -> str:
    readers = {"wait": "its parent", "multiprocessing": "its parent", "shell": "its shell"}
    reader = readers.get(end.source, end.source)
    return f" (read by {reader})" if end.status is not None and reader else ""


def of_signal(caught: Caught, senders: tuple[Sender, ...] = ()) -> Fact:
    """A signal that the witness inside the process saw."""
    name = words.signal(caught.signal)
    if caught.is_sent and caught.sender_pid == caught.pid:
        return fact(SIGNAL, caught.at_ns, f"process {caught.pid} sent itself {name}")
    if caught.is_sent:
        return fact(SIGNAL, caught.at_ns, f"{name} was sent by {sender_of(caught, senders)}")
    if caught.code == 128 or not caught.stack_pointer:
        return fact(SIGNAL, caught.at_ns, f"{name} came from Linux (code {caught.code})")
    path = map_path(caught)
    place = f", in {path}" if path else ", where nothing is mapped"
    return fact(SIGNAL, caught.at_ns, f"{name} with code {caught.code} at address {caught.address:#x}{place}")


def sender_of(caught: Caught, senders: tuple[Sender, ...] = ()) -> str:
    """`process 12 (bash) of ada`, as far as it is known."""
    if caught.sender_pid == 0:
        return "a process outside this container"
    sender = next((each for each in senders if each.pid == caught.sender_pid), None)
    command = (sender.command if sender else "") or caught.sender
    user = (sender.user if sender else "") or f"user {caught.sender_uid}"
    name = f" ({words.quote(command, 80)})" if command else ""
    return f"process {caught.sender_pid}{name} of {user}"


def map_path(caught: Caught) -> str:
    """The file behind the address of a fault; empty where nothing is mapped."""
    parts = caught.mapping.split(None, 5)
    return parts[5].strip() if len(parts) == 6 else "an anonymous mapping" if parts else ""


def of_exception(raised: Raised, *, is_type_decisive: bool = True) -> Fact:
    """An exception; with `is_type_decisive=False` only its message speaks for the verdict, and that is text."""
    said = f"{raised.type}: {raised.message}" if raised.message else raised.type
    usual = _SOURCES.get(raised.where, EXCEPTION)
    source = usual if is_type_decisive or usual == CONSOLE else EXCEPTION_TEXT
    return fact(source, raised.at_ns, words.quote(said, 300) + _place(raised))


def _place(raised: Raised) -> str:
    if not raised.frames:
        return ""
    frame = raised.frames[-1]
    return f" (in {frame.function}, {cell_names.place(frame.file.rpartition('/')[2], frame.line)})"


def of_console(said: Said) -> Fact:
    """A line that the program printed."""
    return fact(CONSOLE, said.at_ns, f"the program printed: {words.quote(said.text, 300)}")


def of_oom_kill(kill: OomKill) -> Fact:
    """The kernel's own report of a kill."""
    size = words.size(kill.anon_bytes)
    return fact(KERNEL_LOG, kill.at_ns, kill.text or f"out of memory: killed process {kill.pid} ({kill.name}), {size}")


def of_kills(level: MemoryLevel, at_ns: int) -> Fact:
    """A cgroup's own count of out-of-memory kills."""
    where = f" of {level.path}" if level.path else ""
    moved = f"rose by {level.kills}" if level.kills else "did not move"
    return fact(CGROUP, at_ns, f"oom_kill{where} {moved} since the run began")


def of_level(level: MemoryLevel, at_ns: int) -> Fact:
    """How near a cgroup was to its limit."""
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


def of_available(evidence: Evidence) -> tuple[Fact, ...]:
    """The machine's memory in the last sample, where there is one."""
    memory = evidence.memory
    if memory.available_bytes is None:
        return ()
    total = f" of {words.size(memory.total_bytes)}" if memory.total_bytes else ""
    text = f"{words.size(memory.available_bytes)}{total} of the machine's memory was available"
    return (fact(SAMPLES, memory.sampled_ns or evidence.subject.at_ns, text),)


def of_own(evidence: Evidence) -> tuple[Fact, ...]:
    """The memory of the run itself in the last sample, where there is one."""
    memory = evidence.memory
    if not memory.own_bytes:
        return ()
    text = f"the program and its children held {words.size(memory.own_bytes)} of their own"
    if memory.growth_bytes_per_s and memory.growth_bytes_per_s > 0 and memory.growth_s:
        rate = f"{words.size(memory.growth_bytes_per_s)}/s"
        text += f", growing by {rate} for {words.seconds(memory.growth_s)}"
    return (fact(SAMPLES, memory.sampled_ns or evidence.subject.at_ns, text),)


def of_holders(holders: tuple[Holder, ...] | None, at_ns: int) -> tuple[Fact, ...]:
    """Who held the most memory, where somebody looked."""
    if not holders:
        return ()
    names = [f"{each.name} ({each.pid}) {words.size(each.rss_bytes)}" for each in holders[:3]]
    return (fact(PROCESSES, at_ns, "the most memory was held by " + ", ".join(names)),)


def of_disk(disk: Disk, at_ns: int) -> Fact:
    """What was left of a file system."""
    parts = []
    if disk.free_bytes is not None:
        total = f" of {words.size(disk.total_bytes)}" if disk.total_bytes else ""
        parts.append(f"{words.size(disk.free_bytes)}{total}")
    if disk.free_inodes is not None and disk.total_inodes:
        parts.append(f"{disk.free_inodes:,} of {disk.total_inodes:,} inodes")
    what = f"{disk.what} " if disk.what else ""
    left = " and ".join(parts) + " free" if parts else "an unknown amount free"
    return fact(DISKS, at_ns, f"the file system of the {what}{disk.path} had {left}")


def of_absence(end: End) -> Fact:
    """SIGKILL by elimination: every other end would have left a trace."""
    text = f"{words.process(end)} vanished without a trace, and every signal but SIGKILL leaves one"
    return fact(ABSENCE, end.at_ns, text)
