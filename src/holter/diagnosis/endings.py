"""Which signal ended a process, how sure that is, and whether somebody sent it."""

import signal

import msgspec

from holter.diagnosis.grades import CONSISTENT, COUNTED, NAMED
from holter.diagnosis.memory_reading import own_level
from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.texts import last_words, may_be_error
from holter.model.evidence import Caught, End, Evidence
from holter.model.verdicts import Grade, NotObservable

BY_SHELL = "shell"
"""The source of a status that is known by the exit code of a shell alone."""
BY_ELIMINATION = CONSISTENT
"""How often a process that is gone without a trace was killed by SIGKILL, where a witness for all other signals sat in
it: what is left are `_exit` of native code and a fault whose handler could not run."""
BY_ARRIVAL, BY_HANDLED_ARRIVAL = COUNTED, CONSISTENT
"""How often a fatal signal that arrived last was the end, where nobody could read the exit status: Linux's default
ends a process, and so does Python's writer of stacks; but virtual machines handle faults, and live on."""
BY_FAULT_LOG, BY_LAST_WORDS, BY_FIRST_FAULT = COUNTED, CONSISTENT, COUNTED
BY_SHELL_CODE, BY_COUNTER = CONSISTENT, COUNTED
"""By Python's own writer of stacks; by last words; where handling a fault ended in another one; by 128 + n, with which
a child left, for a command of its own; by a cgroup that counted a kill for memory when the process vanished."""
FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP, signal.SIGSYS)
NEAR_NS = 10_000_000_000
HANDLED_WITHIN_NS = 500_000_000
_FATAL_SIGNALS = {
    "Segmentation fault": signal.SIGSEGV,
    "Aborted": signal.SIGABRT,
    "Bus error": signal.SIGBUS,
    "Floating-point exception": signal.SIGFPE,
    "Floating point exception": signal.SIGFPE,
    "Illegal instruction": signal.SIGILL,
}
UNSEEN_END = "its exit status could not be read, and holter's signal witness was not in it"
_BUILD_WITNESS = "install holter where there is a C compiler, which its signal witness needs once"


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The signal that ended a process."""

    signal: int
    certainty: Grade
    """`NAMED` where somebody read it in the wait status."""
    caught: Caught | None = None
    """Its arrival, where the witness inside the process saw it."""
    is_bypassed: bool = False
    """The witness was in the process and did not see it arrive: its handler was gone, or could not run."""

    @property
    def is_sent(self) -> bool | None:
        """By another process, or by its own `kill`; None where no witness saw the arrival."""
        if self.caught is None:
            return None
        is_own_kill = self.caught.code == 0 and self.signal != signal.SIGABRT
        return self.caught.is_sent and (self.caught.sender_pid != self.caught.pid or is_own_kill)

    @property
    def is_raised_again(self) -> bool:
        """By `raise()` in the process itself: a library had caught a fault first, or the program only pretends one."""
        return self.caught is not None and self.caught.is_sent and not self.is_sent and self.signal != signal.SIGABRT


def ending_of(evidence: Evidence) -> Ending | None:
    """The signal that ended the subject; None where none did, or nobody can tell."""
    end = evidence.subject
    if end.is_alive:
        return None
    if end.status is not None:
        return None if end.signal is None else _by_status(end, end.signal)
    if end.finished is not None or end.raised is not None or has_changed_boot(evidence):
        return None
    return _by_arrival(end) or _by_fault_log(end) or _by_last_words(evidence) or _by_elimination(evidence)


def _by_status(end: End, number: int) -> Ending:
    caught = _arrival(end, number)
    first = _first_fault(end, caught) if caught is not None and number in FAULTS else None
    if first is not None:
        return Ending(signal=first.signal, certainty=BY_FIRST_FAULT, caught=first)
    was_there = end.has_signal_witness and end.role != "child"  # which may have become another program since
    return Ending(
        signal=number,
        certainty=BY_SHELL_CODE if end.source == BY_SHELL else NAMED,
        caught=caught,
        is_bypassed=caught is None and was_there and number in FAULTS,
    )


def unseen(evidence: Evidence, name: str) -> NotObservable | None:
    """That nobody can tell whether it was this signal; None where somebody can.

    A command has its parent already, and a child has another one.
    """
    if not is_silent(evidence):
        return None
    is_started = evidence.subject.role in ("command", "child", "kernel")
    remedy = _BUILD_WITNESS if is_started else f"start it with `holter run --`, or {_BUILD_WITNESS}"
    return NotObservable(because=f"{UNSEEN_END}: it may have been {name}", remedy=remedy)


def is_silent(evidence: Evidence) -> bool:
    """It is gone without a trace, and nobody could read how."""
    end = evidence.subject
    has_left = end.finished is None and end.raised is None and not end.is_alive and not evidence.is_late
    return end.status is None and has_left and not has_changed_boot(evidence) and ending_of(evidence) is None


def has_changed_boot(evidence: Evidence) -> bool:
    """The machine was started again since: nothing that is gone says how it went."""
    host = evidence.host
    return host is not None and bool(host.boot_id_now) and host.boot_id_now != host.boot_id


def _arrival(end: End, number: int) -> Caught | None:
    """The arrival that ended it. What a process sends itself comes from a handler, which something else had called:
    Python ends itself with SIGINT after an uncaught KeyboardInterrupt, and libraries raise a fault again."""
    seen = [each for each in end.signals if each.signal == number and each.pid in (0, end.pid)]
    near = [each for each in seen if end.at_ns - each.at_ns <= NEAR_NS] or seen[-1:]
    others = [each for each in near if not (each.is_sent and each.sender_pid == end.pid)] or near
    faults = [each for each in others if not each.is_sent] if number in FAULTS else []
    return (faults or others)[0 if number in FAULTS else -1] if others else None


def _first_fault(end: End, last: Caught) -> Caught | None:
    """A fault just before, in the same thread: whoever writes down the stacks of all threads may fault over it."""
    others = [each for each in end.signals if each.signal in FAULTS and each.signal != last.signal]
    same = [each for each in others if (each.pid, each.thread) == (last.pid, last.thread) and not each.is_sent]
    near = [each for each in same if 0 <= last.at_ns - each.at_ns <= HANDLED_WITHIN_NS and not last.is_sent]
    return near[0] if near else None


def _by_arrival(end: End) -> Ending | None:
    """Nobody read the status, but the last signal to arrive was one that ends a process which has no handler for it."""
    mine = [each for each in end.signals if each.pid in (0, end.pid) and end.at_ns - each.at_ns <= NEAR_NS]
    ends = [each for each in mine if each.signal in FAULTS or (each.signal in _ENDING and not _is_handled(end, each))]
    if not ends:
        return None
    last = ends[-1]
    is_the_end = not last.is_handled or bool(end.fault_log)
    certainty = BY_ARRIVAL if is_the_end else BY_HANDLED_ARRIVAL
    return Ending(signal=last.signal, certainty=certainty, caught=_arrival(end, last.signal))


def _by_fault_log(end: End) -> Ending | None:
    """Python's own last words, where no witness was."""
    found = tags_in(end.fault_log).get("fatal-signal")
    return Ending(signal=_FATAL_SIGNALS[found[1]], certainty=BY_FAULT_LOG) if found else None


def _by_last_words(evidence: Evidence) -> Ending | None:
    """An interpreter that gives up takes all handlers down, also those of the witness, before it aborts."""
    line = last_words(evidence, "gives-up", near_s=5.0)
    if line is None or not may_be_error(evidence, line):
        return None
    # Python's own writer of stacks, which the program itself has switched on.
    found = tags_in(line.text).get("fatal-signal")
    return Ending(signal=_FATAL_SIGNALS[found[1]] if found else signal.SIGABRT, certainty=BY_LAST_WORDS)


def _is_handled(end: End, caught: Caught) -> bool:
    return caught.is_handled or caught.signal in end.handled


def _by_elimination(evidence: Evidence) -> Ending | None:
    end = evidence.subject
    if evidence.is_late or end.fault_log or end.handled:
        return None
    if end.has_signal_witness:
        return Ending(signal=signal.SIGKILL, certainty=BY_ELIMINATION)
    return Ending(signal=signal.SIGKILL, certainty=BY_COUNTER) if _has_oom_kill(evidence) else None


def _has_oom_kill(evidence: Evidence) -> bool:
    """Linux killed somebody for memory in the process's cgroup, or this very process, when it vanished."""
    own = own_level(evidence)
    kills = evidence.kernel_log.kills if evidence.kernel_log else ()
    is_named = any(each.pid == evidence.subject.pid for each in kills)
    return is_named or bool(own and own.kills and own.kills_lately != 0)


_ENDING = (
    *(signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU, signal.SIGXFSZ),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE),
)
