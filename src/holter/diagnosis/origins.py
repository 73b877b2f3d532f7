"""Whose death came first: the rank before those that it dragged along, the worker before the program that missed it."""

import re
import signal

import msgspec

from holter.diagnosis.processes import (
    BY_MULTIPROCESSING,
    BY_SHELL,
    SHELL_SIGNALS,
    TELLING,
    died_ns,
    find_fatal_child,
    left_with,
    order_of_death,
)
from holter.diagnosis.srun_report import find_task
from holter.diagnosis.texts import is_said_by_hand, last_line, whole_text
from holter.model.evidence import End, Evidence

MOST_GENERATIONS = 4
QUEUE_WITHIN_S = 30.0
MENTIONED_WITHIN_S = 15.0
NOTICED_WITHIN_S = 2.0
"""A death may be written down this much later than the exception that it led to."""

_TRACEBACK = "Traceback (most recent call last)"
_NUMBER = re.compile(r"(?<![\w.-])\d{1,3}\b")
_QUEUE_ERRORS = frozenset({"EOFError", "ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError"})
_CODE = re.compile(r"(?:exit\w*|return\w*|code|status|left|ended)\b\D{0,12}?(-?\d{1,3})\b", re.IGNORECASE)
_NEGATIVE = re.compile(r"(?<![\w.-])-\d{1,2}\b(?!\.\d)")
_OF_A_CHILD = re.compile(
    r"(?:worker|child|process|subprocess|rank|job)\S* .*"
    r"(?:died|dead|failed|crashed|killed|terminated|aborted|gone|lost|exited|left|missing|vanished|disappeared)",
    re.IGNORECASE,
)
_MENTION = re.compile(
    r"exit ?codes?|exit(?:ed)? (?:status|with)|returncode|return(?:ed)? code|non-zero exit|(?<![\w-])-\d{1,2}\b"
    rf"|{_OF_A_CHILD.pattern}",
    re.IGNORECASE,
)


def find_origin(evidence: Evidence) -> Evidence:
    """The same evidence about the process that died first, and whose death led to that of the subject."""
    task = find_task(evidence)
    if task is not None:
        return task
    order = order_of_death(evidence.ranks)
    if order is not None and _came_first(order.first, evidence.subject):
        evidence = msgspec.structs.replace(evidence, subject=order.first)
    seen = {evidence.subject.pid}
    for _ in range(MOST_GENERATIONS):
        child = find_lost_child(evidence)
        if child is None or child.pid in seen:
            break
        seen.add(child.pid)
        evidence = about(evidence, child)
    return evidence


def about(evidence: Evidence, child: End) -> Evidence:
    """The same evidence about one of the children, with what was looked at when that one died."""
    around = evidence.surroundings
    shared = msgspec.structs.replace(around, heeded=None, children_rss_bytes=None) if around is not None else None
    return msgspec.structs.replace(
        evidence,
        subject=child,
        memory=evidence.memory_of.get(child.pid, evidence.memory),
        surroundings=evidence.surroundings_of.get(child.pid, shared),
    )


def _came_first(first: End, subject: End) -> bool:
    """Not later than the subject, of which may be known when it was last seen, but not when it died."""
    is_known = subject.status is not None or subject.finished is not None or bool(subject.signals)
    return not is_known or died_ns(first) <= died_ns(subject) + NOTICED_WITHIN_S * 1e9


def find_lost_child(evidence: Evidence) -> End | None:
    """The child without which the subject could not go on; None where it ended for a reason of its own."""
    return find_fatal_child(evidence) or _behind_a_queue(evidence) or _mentioned(evidence)


def _behind_a_queue(evidence: Evidence) -> End | None:
    """A queue or pipe that breaks while a child has just died."""
    raised = evidence.subject.raised
    if raised is None or raised.type.rpartition(".")[2] not in _QUEUE_ERRORS or is_said_by_hand(raised):
        return None
    return _first_dead(evidence, raised.at_ns, QUEUE_WITHIN_S)


def _mentioned(evidence: Evidence) -> End | None:
    """A program that looks at the exit codes of its children, and raises or leaves because of one."""
    raised, finished = evidence.subject.raised, evidence.subject.finished
    text = whole_text(raised) if raised else finished.exit_text if finished else ""
    if not text or not _MENTION.search(text):
        return _unseen(evidence, text)
    at_ns = raised.at_ns if raised else finished.at_ns if finished else 0
    named = _named_by_code(evidence, at_ns, text)
    if named is not None and named.raised is None and _TRACEBACK in text:
        return None  # the program has the worker's own exception in its words, and nobody else has
    if named is not None or _is_about_a_code(evidence, at_ns, text):
        return named
    return _first_dead(evidence, at_ns, MENTIONED_WITHIN_S) or _unseen(evidence, text)


def _unseen(evidence: Evidence, text: str) -> End | None:
    """A child that the subject has waited for and whose end nobody else saw, by the code that the subject's last words
    give: a shell's 128 + n, or Python's -n."""
    end, around, last = evidence.subject, evidence.surroundings, last_line(evidence)
    most_rss_bytes = around.children_rss_bytes if around is not None else None
    if evidence.is_watched or evidence.children or most_rss_bytes == 0 or not (end.raised or left_with(end)):
        return None
    said = text or (last.text if last is not None else "")
    codes = [
        int(code) for code in [*_CODE.findall(said), *(_NEGATIVE.findall(said) if _OF_A_CHILD.search(said) else ())]
    ]
    if most_rss_bytes is None:  # nobody knows whether it has waited for any
        codes = [code for code in codes if code < 0 and end.role == "command"]
    numbers = [-code if code < 0 else code - SHELL_SIGNALS for code in codes]
    number = next((each for each in numbers if each in TELLING), None)
    return End(pid=0, role="child", at_ns=_decided_ns(end), status=number, source=BY_SHELL) if number else None


def _decided_ns(end: End) -> int:
    return end.raised.at_ns if end.raised else end.at_ns


def _named_by_code(evidence: Evidence, at_ns: int, text: str, /) -> End | None:
    """The last child that ended with a number which the text has: a worker, or a shell of which a command died."""
    numbers = {int(number) for number in _NUMBER.findall(text)}
    near = [child for child in _near(evidence, at_ns, MENTIONED_WITHIN_S) if child.code and child.code in numbers]
    telling = [child for child in near if child.source == BY_MULTIPROCESSING or (child.code or 0) > SHELL_SIGNALS]
    return max(telling, key=lambda child: child.at_ns, default=None)


def is_about_a_code(evidence: Evidence) -> bool:
    """Whether the subject's exception gives a code with which a child of it had just left."""
    raised = evidence.subject.raised
    return raised is not None and _is_about_a_code(evidence, raised.at_ns, whole_text(raised))


def _is_about_a_code(evidence: Evidence, at_ns: int, text: str, /) -> bool:
    """Whether it is about a child that left by itself with that code, and not about one that died."""
    said = {int(code) for code in _CODE.findall(text)}
    return any(child.code and child.code in said for child in _near(evidence, at_ns, MENTIONED_WITHIN_S))


def _first_dead(evidence: Evidence, at_ns: int, within_s: float, /) -> End | None:
    """The first child that died within this time before, of a signal that its parent does not send to tidy up."""
    ended = [
        child
        for child in _near(evidence, at_ns, within_s)
        if child.signal not in (None, signal.SIGTERM) or child.raised is not None
    ]
    return min(ended, key=lambda child: child.at_ns, default=None)


def _near(evidence: Evidence, at_ns: int, within_s: float, /) -> list[End]:
    """The children that died within this time before."""
    return [
        child
        for child in evidence.children
        if -NOTICED_WITHIN_S <= (at_ns - child.at_ns) / 1e9 <= within_s and child.pid != evidence.subject.pid
    ]
