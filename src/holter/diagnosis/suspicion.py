"""The child that may have ended the program, though the program's last words do not say so.

`origins` follows what a program says about its children. This looks at the rest by time: a child died of a fault, or
was killed for memory, and soon after the program raised something of its own, or left with a code of its own. How
likely the one led to the other depends on how soon that was, on whether the program had waited for something or chose
to leave, and on whether it had gone on meanwhile.
"""

import signal

import msgspec

from holter.diagnosis.kills import NEAR_NS
from holter.diagnosis.origins import about, find_lost_child
from holter.diagnosis.processes import SHELL_SIGNALS, is_python, left_with
from holter.diagnosis.texts import USUAL, is_own_raise, type_names
from holter.model.evidence import End, Evidence

AT_ONCE_S = 2.0
SOON_S = 15.0
WAITED_S = 30.0
NOTICED_WITHIN_S = 0.3
"""A death may be written down this much later than it was."""
WENT_ON_S = 1.0
WENT_ON_LONG_S = 3.0
"""Rows that were logged so long after the child's death: the program could do without it for a while, or at all."""

WAITED, WAITED_LONG, FOREIGN = 0.95, 0.85, 0.85
CHOSE_AT_ONCE, FELL_AT_ONCE, CHOSE_SOON, CHOSE_UNSEEN = 0.9, 0.8, 0.75, 0.45
POSSIBLE = 0.2
BY_COUNTERS = "the counter of its memory limit (cgroup)"
"""How likely the child's death is the cause of the program's end."""

_TIDY_UP = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT})
_WAITS = frozenset({"Empty", "Full"})
_WAITING_CODE = ("/multiprocessing/", "/concurrent/futures/", "/queue.py")
_OWN_HAND = frozenset({"TimeoutExpired"})
"""Who raises this has killed the child itself."""


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A child that died before the subject ended, of something that was not the subject's doing."""

    evidence: Evidence
    """About the child."""
    likelihood: float
    """That its death is why the subject ended."""


def find_suspect(evidence: Evidence, program: End | None = None) -> Suspect | None:
    """The first child that may have ended the subject; None where `origins` has one, or there is none.

    Args:
        program: whose rows tell that the run went on, where the subject itself logs none.
    """
    end = _with_rows_of(program, evidence.subject) if program is not None else evidence.subject
    if end.signal is not None or not (end.raised or left_with(end)) or find_lost_child(evidence) is not None:
        return None
    if end.raised is not None and type_names(end.raised) & {*_OWN_HAND, "KeyboardInterrupt"}:
        return None
    near = [child for child in evidence.children if child.pid != end.pid and _is_fatal(child, evidence)]
    weighed = [(weigh(child, end), child) for child in near]
    likely = [(likelihood, child) for likelihood, child in weighed if likelihood > 0]
    if not likely:
        return _unseen_victim(evidence, end)
    likelihood, child = min(likely, key=lambda each: each[1].at_ns)
    if not has_waited(end) and (_is_beside(child, end) or _printed_on(evidence, child, end)):
        likelihood = min(likelihood, POSSIBLE)
    if _may_be_own_hand(child, evidence):
        if child.parent_signal == signal.SIGKILL or not (_chose(end) or has_waited(end)):
            return None
        is_foreign = has_waited(end) or child.parent_signal is not None
        likelihood = min(likelihood, FOREIGN if is_foreign else POSSIBLE)
    return Suspect(evidence=about(evidence, child), likelihood=likelihood)


def _is_beside(child: End, end: End) -> bool:
    """Rather than below it: a shell starts one after the other."""
    return end.role == "child" and (decided_ns(end) - child.at_ns) / 1e9 > WENT_ON_S


def _printed_on(evidence: Evidence, child: End, end: End, /) -> bool:
    """Who logs no rows, and whose output went on for a while after the child was gone."""
    since_ns = child.at_ns + int(NOTICED_WITHIN_S * 1e9)
    later = [line for line in evidence.said if since_ns < line.at_ns <= decided_ns(end) and not line.is_error]
    return end.last_row_ns is None and len(later) >= USUAL


def _unseen_victim(evidence: Evidence, end: End) -> Suspect | None:
    """The kernel killed somebody of the run for memory since it was last looked at, and nobody saw whom."""
    if evidence.is_watched or not has_unseen_victim(evidence):
        return None
    child = End(pid=0, role="child", at_ns=decided_ns(end), status=signal.SIGKILL, source=BY_COUNTERS)
    return Suspect(evidence=about(evidence, child), likelihood=min(weigh(child, end), FOREIGN))


def has_unseen_victim(evidence: Evidence) -> bool:
    """Whether the kernel killed somebody in the run's cgroup for memory just before, and nobody knows whom."""
    own = next((level for level in evidence.memory.levels if level.level == 0), None)
    known = [child for child in evidence.children if child.signal == signal.SIGKILL]
    return bool(own and own.kills and own.kills_lately != 0 and own.kills > len(known))


def weigh(child: End, end: End) -> float:
    """How likely the death of the one led to the end of the other, by their times; 0 for not at all."""
    delay_s = (decided_ns(end) - child.at_ns) / 1e9
    went_on_s = ((end.last_row_ns or 0) - child.at_ns) / 1e9
    if not -NOTICED_WITHIN_S <= delay_s <= WAITED_S:
        return 0.0
    if has_waited(end):
        return WAITED_LONG if went_on_s > WENT_ON_S else WAITED
    if delay_s > SOON_S:
        return 0.0
    if (went_on_s > 0 or delay_s > AT_ONCE_S) and _has_own_code(end, child):
        return POSSIBLE
    if delay_s <= AT_ONCE_S and went_on_s <= WENT_ON_S:
        return CHOSE_AT_ONCE if _chose(end) else FELL_AT_ONCE
    if not _chose(end):
        return 0.0 if went_on_s > WENT_ON_LONG_S else POSSIBLE
    if end.last_row_ns is None and end.raised is not None:
        return CHOSE_UNSEEN  # nobody knows whether it went on, and its words are about something else
    return POSSIBLE if went_on_s > WENT_ON_S else CHOSE_SOON


def _has_own_code(end: End, child: End) -> bool:
    """A program that left with neither the code of any failure nor one that speaks of the child's signal; scripts
    choose their codes for what they ran."""
    is_program = end.finished is not None or is_python(end)
    number = child.signal or 0
    usual = {1, number, SHELL_SIGNALS + number, 256 - number}
    return is_program and end.raised is None and left_with(end) not in usual


def _with_rows_of(program: End, end: End) -> End:
    """The last row before the end; of later ones it is only known that there were some."""
    rows = [min(each, decided_ns(end)) for each in (end.last_row_ns, program.last_row_ns) if each is not None]
    return msgspec.structs.replace(end, last_row_ns=max(rows, default=None))


def decided_ns(end: End) -> int:
    """When the end of a process was decided: it may take a while to leave."""
    if end.raised is not None:
        return end.raised.at_ns
    return end.finished.at_ns if end.finished is not None else end.at_ns


def _is_fatal(child: End, evidence: Evidence) -> bool:
    """It did not end in order, nor because another process of the run asked it to."""
    number = child.signal
    if number is None:
        arrived = [each for each in child.signals if not each.is_sent and each.signal not in _TIDY_UP]
        return child.raised is not None or (child.status is None and bool(arrived))
    caught = child.caught(number)
    if caught is not None and caught.is_sent:
        ours = {0, *(end.pid for end in (evidence.subject, *evidence.ranks, *evidence.children))}
        return caught.sender_pid not in ours or (caught.sender_pid == child.pid and number not in _TIDY_UP)
    return number not in _TIDY_UP


def _may_be_own_hand(child: End, evidence: Evidence) -> bool:
    """SIGKILL, and nothing says that the kernel sent it: programs kill their own children when they are done."""
    return child.signal == signal.SIGKILL and not _was_for_memory(child, about(evidence, child))


def _was_for_memory(child: End, evidence: Evidence) -> bool:
    log = evidence.kernel_log
    if log and any(kill.pid == child.pid and abs(kill.at_ns - child.at_ns) <= NEAR_NS for kill in log.kills):
        return True
    own = next((level for level in evidence.memory.levels if level.level == 0), None)
    return bool(own and own.kills and own.kills_lately != 0)


def has_waited(end: End) -> bool:
    """It gave up waiting for a result, by what the library says through which it waited."""
    raised = end.raised
    if raised is None or is_own_raise(raised):
        return False
    names = type_names(raised)
    is_in_a_queue = "TimeoutError" in names and any(part in raised.traceback for part in _WAITING_CODE)
    return bool(names & _WAITS) or is_in_a_queue


def _chose(end: End) -> bool:
    """It left by a `raise`, `assert` or exit of its own: it may have looked at the child first."""
    return end.raised is None or is_own_raise(end.raised)
