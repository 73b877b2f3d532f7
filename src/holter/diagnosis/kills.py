"""What is known about a SIGKILL: Linux's counters and its log say whether it was for memory, and whose it was."""

import signal

import msgspec

from holter.diagnosis.endings import Ending, ending_of
from holter.diagnosis.memory_reading import held_bytes, is_reached, own_level
from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.texts import type_names
from holter.model.evidence import End, Evidence, MemoryLevel, OomKill

MEMORY_ERRORS = frozenset({"MemoryError", "OutOfMemoryError", "ResourceExhaustedError", "_ArrayMemoryError"})
NEAR_NS = 10_000_000_000
"""How far apart Linux's word and the death may lie: the kernel log counts from the boot."""
SCARCE = 0.06
"""Less than this share of the machine's memory available is next to nothing: Linux keeps a reserve."""
LITTLE = 0.12
"""Daemons that watch the memory act from about 10 % of it on; what was sampled is some moments older."""
PRESSED_PERCENT = 30.0
GREATER = 0.5
"""Of the limit, in others' hands: caches of files and Linux's own memory are nobody's, and count for much of a small
limit."""
PLAUSIBLE = 0.4
"""Linux chooses who holds the most: with less than this share of the limit, hardly the victim."""
SOON_NS = 1_000_000_000
NOBODY_KILLED = "Linux killed nothing on this machine for memory since the run began (oom_kill did not move)"
MOST_NAME = 15
"""Of a process, as Linux keeps it."""


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """A SIGKILL, with all witnesses that can say something about it."""

    ending: Ending
    own: MemoryLevel | None
    """The cgroup of the program; None where nobody looked."""
    report: OomKill | None
    """Linux's report about this very process."""
    others: tuple[OomKill, ...]
    """Its reports about other processes at about the same time, without those of cgroups beside the program's."""
    has_log: bool
    host_kills: int | None
    deaths: int
    """How many processes of the run died by SIGKILL at about the same time, this one among them."""

    @property
    def counted(self) -> int | None:
        """Kills that the own cgroup counted and that can have been this one; None where nobody could look."""
        if self.own is None or self.own.kills is None:
            return None
        return min(self.own.kills, self.own.kills_lately if self.own.kills_lately is not None else self.own.kills)

    @property
    def is_not_for_memory(self) -> bool:
        """Linux killed nobody here for memory: neither in this cgroup, nor, where that is unknown, anywhere."""
        return self.counted == 0 or (self.counted is None and self.host_kills == 0)


def kill_of(evidence: Evidence) -> Kill | None:
    """The SIGKILL that ended the subject; None where none did, or nobody can tell."""
    ending = ending_of(evidence)
    if ending is None or ending.signal != signal.SIGKILL:
        return None
    end, log = evidence.subject, evidence.kernel_log
    near = [each for each in log.kills if abs(each.at_ns - end.at_ns) <= NEAR_NS] if log else []
    own = own_level(evidence)
    if own is not None and not end.pid:  # of whom is only known that it died before somebody else said so
        own = msgspec.structs.replace(own, kills_lately=None)
    return Kill(
        ending=ending,
        own=own,
        report=next((each for each in near if _is_about(each, end) and (end.pid or _may_count(each, own))), None),
        others=tuple(each for each in near if each.pid != end.pid and _may_count(each, own)) if end.pid else (),
        has_log=log is not None,
        host_kills=evidence.memory.host_kills,
        deaths=_deaths(evidence),
    )


def _is_about(kill: OomKill, end: End) -> bool:
    """By the pid; by name and time where nobody knows it, as of a command of which a library says how it ended."""
    if end.pid:
        return kill.pid == end.pid
    name = tags_in(end.name).get("command-name")
    is_soon = abs(kill.at_ns - end.at_ns) <= SOON_NS
    return is_soon and name is not None and kill.name == name[0].rpartition("/")[2][:MOST_NAME]


def _may_count(kill: OomKill, own: MemoryLevel | None) -> bool:
    """Whether the own cgroup may have counted it: that of a cgroup beside it is another matter."""
    if own is None or not own.path.strip("/") or not kill.cgroup:
        return True
    return f"{own.path}/" in f"{kill.cgroup}/"  # inside of a container a path begins later than Linux's


def _deaths(evidence: Evidence) -> int:
    ends: dict[int, End] = {end.pid: end for end in (*evidence.children, *evidence.ranks, evidence.subject)}
    killed = [end for end in ends.values() if end.signal == signal.SIGKILL or end.pid == evidence.subject.pid]
    return sum(end.times for end in killed if abs(end.at_ns - evidence.subject.at_ns) <= NEAR_NS)


def is_others_kill(kill: Kill) -> bool:
    """The kernel log accounts for every kill that the counters have, and none of them is this one."""
    return kill.report is None and bool(kill.others) and (kill.counted or 0) <= len(kill.others)


def is_scarce(evidence: Evidence) -> bool | None:
    """Whether the machine had next to no memory left in the last sample; None where nobody looked."""
    memory = evidence.memory
    if memory.available_bytes is None or not memory.total_bytes:
        return None
    left = memory.available_bytes + (memory.swap_free_bytes or 0)
    return left < SCARCE * memory.total_bytes


def is_pressed(evidence: Evidence) -> bool | None:
    """Whether memory was so short that a daemon which watches it may have acted; None where nobody looked."""
    memory = evidence.memory
    if memory.available_bytes is None or not memory.total_bytes:
        return None
    return (
        memory.available_bytes < LITTLE * memory.total_bytes or (memory.full_pressure_percent or 0) >= PRESSED_PERCENT
    )


def has_reached_limit(evidence: Evidence) -> bool:
    """Some cgroup of the run was at its limit."""
    return any(is_reached(level) for level in evidence.memory.levels)


def is_plausible(evidence: Evidence) -> bool:
    """The run itself held a good part of what the limit allows, or was about to: it can have been the victim."""
    memory = evidence.memory
    limits = [level.limit_bytes for level in memory.levels if level.limit_bytes]
    used = [level.usage_bytes or 0 for level in memory.levels if level.limit_bytes]
    held = held_bytes(evidence)
    own = max(used, default=0) if held is None else max(held, memory.own_peak_bytes or 0)
    return bool(limits) and max(own, evidence.subject.max_rss_bytes or 0) >= PLAUSIBLE * min(limits)


def is_too_small(evidence: Evidence) -> bool:
    """Whoever waited for the process knows that it never had so much memory as a victim would have had."""
    limits = [level.limit_bytes for level in evidence.memory.levels if level.limit_bytes]
    most = evidence.subject.max_rss_bytes
    return most is not None and bool(limits) and most < PLAUSIBLE * min(limits)


def has_greater_neighbour(evidence: Evidence) -> bool:
    """Others in the same cgroup held more memory than the run: Linux would rather have chosen them."""
    level, own = own_level(evidence), held_bytes(evidence)
    if level is None or level.usage_bytes is None or own is None:
        return False
    theirs = level.usage_bytes - own
    return theirs > own and theirs > GREATER * (level.limit_bytes or level.usage_bytes)


def lacked_memory(evidence: Evidence) -> bool:
    """The host, a cgroup or the program itself says that there was no memory left: else what contributes to that is not
    worth a word."""
    kill = kill_of(evidence)
    if kill is not None and kill.is_not_for_memory:
        return False
    levels = evidence.memory.levels
    raised = evidence.subject.raised
    was_refused = raised is not None and bool(type_names(raised) & MEMORY_ERRORS)
    return (
        was_refused or bool(is_scarce(evidence)) or has_reached_limit(evidence) or any(level.kills for level in levels)
    )


def lacked_gpu_memory(evidence: Evidence) -> bool:
    """The program was refused memory of a GPU."""
    raised = evidence.subject.raised
    if raised is None:
        return False
    text = f"{raised.type}: {raised.message}"
    return "CUDA out of memory" in text or "RESOURCE_EXHAUSTED" in text or "torch.OutOfMemoryError" in text
