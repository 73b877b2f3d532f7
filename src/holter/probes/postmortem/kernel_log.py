"""The kernel log: who was killed for memory and by whose limit, faults of programs, disks, memory and GPUs."""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

import msgspec

from holter.model.evidence import KernelLine, KernelLog, OomKill, Unseen
from holter.model.witnesses import KERNEL_LOG
from holter.probes.identity import INITIAL_PID_NAMESPACE, pid_namespace
from holter.probes.postmortem.scene import Scene
from holter.probes.procfs import find_number, read_file

TURN = 3
DEVICE = "/dev/kmsg"
TELLS_FAULTS = "/proc/sys/debug/exception-trace"
RECORD_BYTES = 8192
MOST_RECORDS = 200_000
READ_WITHIN_S = 0.5
MOST_KILLS, MOST_LINES, MOST_TEXT = 16, 48, 400
# The log's clock is not the one that is kept right; over weeks they drift apart by seconds.
SLACK_NS = 5_000_000_000
NEAR_NS = 1_000_000_000
REMEDY = (
    "let users read the Linux kernel log (`sysctl kernel.dmesg_restrict=0`), "
    "or be a member of the group `systemd-journal` or `adm`"
)

DECISION = re.compile(
    r"oom-kill:constraint=(?P<constraint>\w+),.*?(?:oom_memcg=(?P<limited>[^,]*),|global_oom,)?"
    r"task_memcg=(?P<cgroup>.*),task=(?P<name>.*),pid=(?P<pid>\d+),uid=\d+"
)
# Before Linux 5.0 the victim's cgroup stood in a line of its own, and another line came before it was killed.
DECISION_OF_OLD = re.compile(r"Task in (?P<cgroup>\S+) killed as a result of limit of (?P<limited>\S+)")
KILL_OF_OLD = re.compile(r"(?P<why>Memory cgroup out of memory|Out of memory): Kill process (?P<pid>\d+)")
KILLED = re.compile(
    r"^(?:(?P<why>Memory cgroup out of memory|Out of memory[^:]*): )?Killed process (?P<pid>\d+),?(?: UID \d+,)? "
    r"\((?P<name>.*)\),? .*?anon-rss:(?P<anon>\d+)kB"
)
NO_THREADS: Mapping[int, int] = MappingProxyType({})
OWN_KINDS = ("fault", "refused")
XID = re.compile(r"NVRM: Xid \([^)]*\): (?P<number>\d+)(?:, pid='?(?P<pid>\d+))?")
REFUSED = re.compile(r"__vm_enough_memory: pid: (?P<pid>\d+), ")
FAULT = re.compile(
    r"^(?:traps: )?[^\[]*\[(?P<pid>\d+)\]:? "
    r"(?:segfault at|general protection|trap |bad frame|potentially unexpected fatal)"
)
OTHERS = (
    ("hardware", re.compile(r"\[Hardware Error\]|EDAC .*\b[CU]E\b|Memory failure: |fallen off the bus")),
    ("hardware", re.compile(r"temperature above threshold|uncorrected (?:memory )?error", re.IGNORECASE)),
    (
        "file-system",
        re.compile(
            r"EXT4-fs error|EXT4-fs \([^)]*\): Remounting|Remounting filesystem read-only|BTRFS (?:error|critical)"
            r"|XFS \([^)]*\): .*(?:[Cc]orrupt|[Ss]hut(?:ting)? ?down|I/O error)|F2FS-fs .*: inconsistent"
        ),
    ),
    (
        "io",
        re.compile(
            r"I/O error|critical (?:medium|target|space allocation) error|nvme\S*: (?:I/O|.*timeout|controller is down)"
            r"|nfs: server \S+ not responding|ata\d+.*failed command|device offline|Lustre.*(?:timed out|lost)"
        ),
    ),
)


class Entry(msgspec.Struct, frozen=True):
    """One line that Linux itself wrote."""

    at_ns: int
    text: str


def look(
    since_ns: int,
    pids: Collection[int],
    *,
    threads: Mapping[int, int] = NO_THREADS,
    near_ns: Collection[int] = (),
    device: str = DEVICE,
) -> KernelLog | Unseen:
    """Return what the log says of the time since then; never waits for more of it.

    Args:
        pids: of the run: the faults of other programs are nobody's business.
        threads: whose thread each was, as far as it is known: the log names the thread that faulted.
        near_ns: when processes of the run died: a fault at such a time, of somebody who is gone, may have been that of
            a thread, and is kept with the pid 0.
    """
    try:
        fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return Unseen(because=f"the Linux kernel log can't be read ({os.strerror(error.errno or 0)})", remedy=REMEDY)
    try:
        # Rounded, so that the same line has the same time when somebody reads it again.
        offset_ns = round(time.time_ns() - time.monotonic_ns(), -7)
        entries = [entry for text in _records(fd) if (entry := parse_record(text, offset_ns)) is not None]
    except PermissionError as error:
        return Unseen(because=f"the Linux kernel log can't be read ({os.strerror(error.errno or 0)})", remedy=REMEDY)
    finally:
        os.close(fd)
    recent = (entry for entry in entries if entry.at_ns >= since_ns - SLACK_NS)
    found = understand(recent, pids, threads=threads, may_be_ours=partial(_may_be_of_a_thread, near_ns=near_ns))
    return msgspec.structs.replace(found, tells_faults=find_number(read_file(TELLS_FAULTS) or b"") == 1)


def at_death(scene: Scene) -> None:
    """What it says of the dead; where it can't be read, `system_journal` is asked later."""
    if KERNEL_LOG in scene.without:
        scene.say("kernel-log", switched_off())
        return
    scene.threads.update({thread: each.pid for each in scene.unclean for thread in each.threads})
    died_ns = [death.at_ns for death in scene.unclean]
    found = look(scene.began_ns, scene.pids, threads=scene.threads, near_ns=died_ns)
    if isinstance(found, KernelLog):
        scene.say("kernel-log", found)


def switched_off() -> Unseen:
    """What is said where the log must not be read, as in a test."""
    return Unseen(because="the Linux kernel log can't be read (HOLTER_WITHOUT says so)", remedy=REMEDY)


def understand(
    entries: Iterable[Entry],
    pids: Collection[int] = (),
    *,
    threads: Mapping[int, int] = NO_THREADS,
    has_host_pids: bool | None = None,
    may_be_ours: Callable[[KernelLine], bool] = lambda line: False,
) -> KernelLog:
    """Return what matters in lines of the log, in their order; of very many the last.

    Args:
        pids: as in `look`, and so are `threads`.
        has_host_pids: whether we count processes as Linux does; in a container their pids say nothing to us.
        may_be_ours: whether the fault of an unknown pid is worth keeping.
    """
    kills: list[OomKill] = []
    lines: list[KernelLine] = []
    decision: dict[str, str] = {}
    for entry in entries:
        if "oom-kill:" in entry.text or "killed as a result" in entry.text or "Kill process" in entry.text:
            decision = {**decision, **_decision(entry.text)}
        elif found := KILLED.search(entry.text):
            kill = _kill(entry, found, decision)
            if not any(each.pid == kill.pid for each in kills[-1:]):  # a group's first victim is reported twice
                kills.append(kill)
        elif line := _line(entry):
            line = msgspec.structs.replace(line, pid=threads.get(line.pid, line.pid))
            if line.kind not in OWN_KINDS or line.pid in pids:
                lines.append(line)
            elif line.kind == "fault" and may_be_ours(line):
                lines.append(msgspec.structs.replace(line, pid=0))
        elif "invoked oom-killer" in entry.text:
            decision = {}
    log = KernelLog(kills=tuple(kills[-MOST_KILLS:]), lines=tuple(lines[-MOST_LINES:]))
    if has_host_pids is None:
        has_host_pids = pid_namespace() in ("", INITIAL_PID_NAMESPACE)
    return log if has_host_pids else _without_pids(log)


def parse_record(text: bytes, offset_ns: int) -> Entry | None:
    """Return one record of /dev/kmsg; None for what a program wrote into it, and for what is damaged.

    Args:
        offset_ns: what the wall clock is ahead of the time since boot.
    """
    head, _, rest = text.partition(b";")
    fields = head.split(b",")
    if len(fields) < 3 or not (fields[0].isdigit() and fields[2].isdigit()):
        return None
    if int(fields[0]) >> 3:  # Linux's own lines have the facility 0
        return None
    line = rest.partition(b"\n")[0].decode(errors="replace")
    return Entry(at_ns=offset_ns + 1000 * int(fields[2]), text=line)


def _records(fd: int) -> Iterator[bytes]:
    deadline = time.monotonic() + READ_WITHIN_S
    for _ in range(MOST_RECORDS):
        try:
            text = os.read(fd, RECORD_BYTES)
        except BlockingIOError:
            return
        except BrokenPipeError:  # the oldest were overwritten while we read: go on with those that are there
            continue
        except PermissionError:
            raise
        except OSError:
            return
        if not text or time.monotonic() > deadline:
            return
        yield text


def _decision(text: str) -> dict[str, str]:
    for pattern in (DECISION, DECISION_OF_OLD, KILL_OF_OLD):
        if found := pattern.search(text):
            return {key: value for key, value in found.groupdict().items() if value is not None}
    return {}


def _kill(entry: Entry, found: re.Match[str], decision: dict[str, str]) -> OomKill:
    why = found["why"] or decision.get("why", "")
    # Some kernels give no constraint, or a wrong one, for the limit of a cgroup.
    is_cgroup = why.startswith("Memory cgroup") or bool(decision.get("limited"))
    constraint = "CONSTRAINT_MEMCG" if is_cgroup else decision.get("constraint", "CONSTRAINT_NONE" if why else "")
    return OomKill(
        at_ns=entry.at_ns,
        pid=int(found["pid"]),
        name=found["name"],
        constraint=constraint,
        limited_cgroup=decision.get("limited", ""),
        # With `memory.oom.group` one decision ends all processes of a cgroup, or of those below it.
        cgroup=decision.get("cgroup", "") if decision.get("pid", found["pid"]) == found["pid"] else "",
        anon_bytes=1024 * int(found["anon"]),
        text=entry.text[:MOST_TEXT],
    )


def _line(entry: Entry) -> KernelLine | None:
    text = entry.text[:MOST_TEXT]
    if found := XID.search(entry.text):
        pid = int(found["pid"] or 0)
        return KernelLine(at_ns=entry.at_ns, kind="xid", text=text, pid=pid, number=int(found["number"]))
    if found := FAULT.search(entry.text):
        return KernelLine(at_ns=entry.at_ns, kind="fault", text=text, pid=int(found["pid"]))
    if found := REFUSED.search(entry.text):
        return KernelLine(at_ns=entry.at_ns, kind="refused", text=text, pid=int(found["pid"]))
    for kind, pattern in OTHERS:
        if pattern.search(entry.text):
            return KernelLine(at_ns=entry.at_ns, kind=kind, text=text)
    return None


def _may_be_of_a_thread(line: KernelLine, near_ns: Collection[int]) -> bool:
    is_near = any(abs(line.at_ns - at_ns) <= NEAR_NS for at_ns in near_ns)
    return is_near and not os.path.exists(f"/proc/{line.pid}")


def _without_pids(log: KernelLog) -> KernelLog:
    replace = msgspec.structs.replace
    kills = tuple(replace(each, pid=0) for each in log.kills)
    return KernelLog(kills=kills, lines=tuple(replace(each, pid=0) for each in log.lines))
