"""Who else it may have been: causes that would have left the same traces, where nobody could look at the difference.

The one place that keeps a verdict from being sure for want of a witness. A verdict at `SURE` or more has seen something
that speaks for its own cause, and each rival that would look the same could be looked at; else `ranking` holds it at
what the rival leaves of it, and names the rival as a candidate.
"""

import errno
import re
import signal

import msgspec

from holter.diagnosis import errnos, facts
from holter.diagnosis.causality.children import find_lost_child, is_about_a_code
from holter.diagnosis.causality.console import PRINTED
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, has_waited, lost_a_peer
from holter.diagnosis.cpu_limits import may_have_used_all
from holter.diagnosis.crashes import is_untold
from holter.diagnosis.endings import FAULTS, ending_of
from holter.diagnosis.errnos import CANNOT_OPEN
from holter.diagnosis.gpu_errors import OF_GPU
from holter.diagnosis.kills import is_pressed
from holter.diagnosis.texts import foreign_text, is_own_raise, last_line, type_names
from holter.model.evidence import REQUESTS, Evidence
from holter.model.verdicts import Verdict

SURE = 0.9
MOST_IF_SENT, MOST_IF_HEEDED, MOST_IF_OF_A_PEER = 0.75, 0.75, 0.7
MOST_IF_UNSEEN, MOST_IF_OF_A_CHILD, MOST_AFTER_A_CHILD, MOST_IF_OF_HARDWARE = 0.88, 0.85, 0.65, 0.85
MOST_IF_IN_ONE_LINE, MOST_OF_A_THREAD, MOST_IF_UNTOLD, MOST_IF_NOT_COUNTED = 0.65, 0.7, 0.85, 0.85
MOST_IF_LACKING, MOST_IF_OF_FLOATS, MOST_IF_LIMITED = 0.8, 0.6, 0.5
VAGUE = frozenset({"uncaught-exception", "nonzero-exit"})
"""They say how a program ended, and leave open what made it."""
LACKING: dict[str, re.Pattern[str]] = {
    "disk-full": re.compile(r"No space left on device|Disk quota exceeded"),
    "too-many-open-files": re.compile(r"Too many open files"),
    "allocation-refused": re.compile(r"Cannot allocate memory|\bout of memory\b|std::bad_alloc", re.IGNORECASE),
    "too-many-processes": re.compile(r"Resource temporarily unavailable"),
}
"""What the operating system and the languages say of a resource that is used up."""
CANT_START = re.compile(r"can't start new thread")
OF_FAULTS: dict[int, str] = {
    signal.SIGSEGV: "segmentation-fault",
    signal.SIGFPE: "arithmetic-fault",
    signal.SIGILL: "illegal-instruction",
}
SAY_HOW = frozenset({facts.EXIT_STATUS, facts.FAULT_LOG})
"""They are the same whether a signal came from a fault or from another process."""
CHILD_CAUSES = ("worker-died", "cgroup-out-of-memory")


class Rival(msgspec.Struct, frozen=True, kw_only=True):
    """Causes that can't be told from the verdict's by what was looked at."""

    causes: tuple[str, ...]
    most: float
    """What is left for the verdict."""


def find_rivals(verdict: Verdict, evidence: Evidence) -> tuple[Rival, ...]:
    """Those that stand beside a verdict on the subject; none where all could be looked at. Pure."""
    found = [look(verdict, evidence) for look in _LOOKS]
    return tuple(rival for rival in found if rival is not None)


def may_have_been_asked(evidence: Evidence) -> bool | None:
    """Whether a signal may have made the subject leave in order, unseen; None where nobody looked for its handlers."""
    end, around = evidence.subject, evidence.surroundings
    if end.role not in WITHOUT_CLIENT or end.role == "child" or any(each.signal in REQUESTS for each in end.signals):
        return False
    return around.heeds_requests if around is not None else None


def _sender(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """A fatal signal may come from a fault or from anybody; the exit status is the same."""
    ending = ending_of(evidence)
    if ending is None or ending.signal not in FAULTS or verdict.cause == "killed":
        return None
    has_more = any(fact.source not in SAY_HOW for fact in verdict.because)
    is_seen = ending.caught is not None or ending.is_bypassed
    return None if is_seen or has_more else Rival(causes=("killed",), most=MOST_IF_SENT)


def _handler(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """The kernel is silent about a fault for which there is a handler, and one may have been set in the last moment."""
    ending = ending_of(evidence)
    if verdict.cause != "killed" or ending is None or not is_untold(evidence, ending):
        return None
    # Of division it writes down that of integers; floating point, for which a program has to ask, traps in silence.
    most = MOST_IF_OF_FLOATS if ending.signal == signal.SIGFPE else MOST_IF_UNTOLD
    return Rival(causes=(OF_FAULTS[ending.signal],), most=most)


def _request(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """A program that handles SIGTERM may leave because of one, and only a witness inside it would know."""
    if verdict.cause not in VAGUE or evidence.subject.code is None:
        return None
    if _is_shell_code(evidence):
        return Rival(causes=("terminated", "interrupted"), most=MOST_IF_HEEDED)
    may_be = may_have_been_asked(evidence)
    if may_be is False:
        return Rival(causes=("interrupted",), most=MOST_IF_UNSEEN) if _may_have_caught_ctrl_c(evidence) else None
    return Rival(causes=("terminated",), most=MOST_IF_UNSEEN if may_be is None else MOST_IF_HEEDED)


def _may_have_caught_ctrl_c(evidence: Evidence) -> bool:
    """Python turns it into an exception, after which a program may leave with a code of its own; nobody was inside to
    see it arrive."""
    end = evidence.subject
    has_said_so = end.finished is not None and end.finished.how == "finish"
    return end.role == "program" and not end.has_signal_witness and end.raised is None and not has_said_so


def _is_shell_code(evidence: Evidence) -> bool:
    """It left as a shell would for a command that such a signal ended, and nothing in it would have seen one."""
    end = evidence.subject
    codes = [128 + number for number in (*REQUESTS, signal.SIGINT)]
    return end.raised is None and end.code in codes and not end.has_signal_witness and not end.signals


def _child(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """Who raises or leaves by choice may have looked at a child first, and who gives up waiting may have waited for
    one, whose end nobody else saw."""
    end, around = evidence.subject, evidence.surroundings
    if verdict.cause not in VAGUE or evidence.is_watched or find_lost_child(evidence) is not None:
        return None
    if end.finished is not None and end.finished.how == "finish":
        return None  # it said itself what its run came to
    has_chosen = end.raised is None or is_own_raise(end.raised)
    most_rss_bytes = around.children_rss_bytes if around is not None else None
    if has_waited(end) or (has_chosen and most_rss_bytes):
        return Rival(causes=CHILD_CAUSES, most=MOST_AFTER_A_CHILD)
    # What a process used counts once somebody waited for it; who reads from one that is gone has not yet.
    # A command that failed may have had one itself, as make has.
    is_of_another = end.raised is not None and bool(type_names(end.raised) & {"EOFError", "CalledProcessError"})
    may_be = is_of_another or (has_chosen and most_rss_bytes is None)
    return Rival(causes=CHILD_CAUSES, most=MOST_IF_OF_A_CHILD) if may_be else None


def _mentioned(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """A program that reports a child's exit code may have failed because of that child, of which no more is known."""
    is_of_it = verdict.cause in VAGUE and is_about_a_code(evidence) and find_lost_child(evidence) is None
    return Rival(causes=("worker-died",), most=MOST_IF_OF_A_CHILD) if is_of_it else None


def _worker(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """Python leaves with 1 after an exception; what a worker printed may be lost among what others print."""
    child = find_lost_child(evidence)
    left_like_python = child is not None and child.code == 1 and child.raised is None
    is_of_it = verdict.cause == "worker-died" and evidence.subject.role in WITHOUT_CLIENT and left_like_python
    return Rival(causes=("uncaught-exception",), most=MOST_IF_OF_A_CHILD) if is_of_it else None


def _command(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """A command that failed says why on a console that nobody kept."""
    raised = evidence.subject.raised
    is_reported = raised is not None and "CalledProcessError" in type_names(raised)
    if verdict.cause not in VAGUE or not is_reported or evidence.said:
        return None
    return Rival(causes=("disk-full", "nonzero-exit"), most=MOST_IF_OF_A_CHILD)


def _library(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """Native code that leaves by itself says why on a console that nobody kept; Python's own exits are seen."""
    is_of_it = verdict.cause == "nonzero-exit" and evidence.subject.finished is None and not evidence.said
    return Rival(causes=("too-many-processes", "disk-full"), most=MOST_IF_UNSEEN) if is_of_it else None


def _catcher(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """An exception of which only one line is known may have ended the program, or be why it chose to leave."""
    raised = evidence.subject.raised
    is_bare = raised is not None and raised.where == PRINTED and not raised.traceback
    is_of_it = verdict.cause == "uncaught-exception" and is_bare
    return Rival(causes=("nonzero-exit",), most=MOST_IF_IN_ONE_LINE) if is_of_it else None


def _peer(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """Who loses the other end of a connection did not die first; where nobody else is known to have, it may be so."""
    is_lost = verdict.cause == "uncaught-exception" and lost_a_peer(evidence.subject)
    return Rival(causes=("connection-lost", "worker-died"), most=MOST_IF_OF_A_PEER) if is_lost else None


def _room(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """A thread is refused for want of room for its stack as well, and nobody looked around at that moment."""
    end, raised = evidence.subject, evidence.subject.raised
    is_of_a_thread = raised is not None and CANT_START.search(foreign_text(raised)) is not None
    is_seen = any(fact.source == facts.LIMITS for fact in verdict.because)
    if verdict.cause != "too-many-processes" or end.role not in WITHOUT_CLIENT or not is_of_a_thread or is_seen:
        return None
    return Rival(causes=("allocation-refused",), most=MOST_OF_A_THREAD)


def _descriptors(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """A library that can't open a file and does not say why may lack a descriptor; nobody counted them just then."""
    end, raised = evidence.subject, evidence.subject.raised
    is_closed = raised is not None and CANNOT_OPEN.search(foreign_text(raised)) is not None
    if verdict.cause != "uncaught-exception" or end.role not in WITHOUT_CLIENT or not is_closed:
        return None
    return Rival(causes=("too-many-open-files",), most=MOST_IF_NOT_COUNTED)


def _resource(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """Who says at its end that something was lacking may have ended for want of it, though nobody saw that."""
    raised, last = evidence.subject.raised, last_line(evidence)
    said = foreign_text(raised) if raised is not None else last.text if last is not None else ""
    lacking = tuple(cause for cause, says in LACKING.items() if says.search(said))
    if verdict.cause not in VAGUE or not lacking or errnos.find_errno(raised, errno.EAGAIN):
        return None
    return Rival(causes=lacking, most=MOST_IF_LACKING)


def _hardware(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """What a GPU's library complains of may be the GPU's own failure, which its events and the kernel's log tell."""
    raised = evidence.subject.raised
    is_of_gpu = raised is not None and OF_GPU.search(foreign_text(raised)) is not None
    if verdict.cause not in VAGUE or not is_of_gpu or evidence.gpu or evidence.kernel_log:
        return None
    return Rival(causes=("gpu-fault",), most=MOST_IF_OF_HARDWARE)


def _limit(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """At the hard limit of CPU time the kernel kills; nobody knows how much of it a child had used."""
    is_of_it = verdict.cause == "killed" and may_have_used_all(evidence)
    return Rival(causes=("cpu-time-limit",), most=MOST_IF_LIMITED) if is_of_it else None


def _parent(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """A pool that breaks ends all of its workers with SIGTERM; who sent it, only a witness in the worker would know."""
    end, ending = evidence.subject, ending_of(evidence)
    if verdict.cause != "terminated" or end.role != "child" or ending is None or ending.caught is not None:
        return None
    return Rival(causes=("worker-died", "uncaught-exception"), most=MOST_IF_SENT)


def _daemon(verdict: Verdict, evidence: Evidence) -> Rival | None:
    """A daemon for memory ends processes like a person does, unless somebody saw who it was, or that none runs."""
    ending, daemon = ending_of(evidence), evidence.oom_daemon
    if verdict.cause not in ("killed", "terminated") or ending is None:
        return None
    if daemon is not None and not (daemon.running and is_pressed(evidence) is not False):
        return None
    is_of_daemons = ending.signal in (signal.SIGTERM, signal.SIGKILL) and ending.caught is None
    return Rival(causes=("userspace-oom-killer",), most=MOST_IF_UNSEEN) if is_of_daemons else None


_LOOKS = (
    _sender,
    _handler,
    _request,
    _child,
    _mentioned,
    _worker,
    _command,
    _library,
    _catcher,
    _peer,
    _room,
    _descriptors,
    _resource,
    _hardware,
    _limit,
    _parent,
    _daemon,
)
