"""Signals that ask a program to leave, and whether it left because of one."""

import signal

import msgspec

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import WITHOUT_CLIENT
from holter.diagnosis.endings import BY_ARRIVAL, ending_of
from holter.diagnosis.grades import CONSISTENT, NAMED
from holter.model.evidence import REQUESTS, Caught, End, Evidence
from holter.model.verdicts import Grade, Verdict

SI_KERNEL = 128
AT_ONCE_S = 5.0
SOON_S = 60.0
"""A program that saves before it leaves may take so long."""


UNFINISHED = CONSISTENT
"""Who was asked to leave and left no last word may have been killed before it was done."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A signal to which the process gave in."""

    signal: int
    certainty: Grade
    caught: Caught | None = None
    is_handled: bool = False
    """The program's own handler ran, and then it left with a code of its own."""
    delay_s: float = 0.0
    """From the signal to the end."""


def request_of(evidence: Evidence, number: int, *, within_s: float = SOON_S) -> Request | None:
    """The signal as the end of the subject; None where it lived on, or another end is known."""
    end = evidence.subject
    ending = ending_of(evidence)
    if ending is not None:
        if ending.signal != number:
            return None
        return Request(signal=number, certainty=ending.certainty, caught=ending.caught or end.caught(number))
    return _handled(end, number, within_s)


def _handled(end: End, number: int, within_s: float, /) -> Request | None:
    """It had a handler, and then left by itself."""
    caught = end.caught(number)
    if caught is None and number not in end.handled:
        return None
    if end.is_alive or _said_it_was_done(end, caught):
        return None
    delay_s = (end.at_ns - caught.at_ns) / 1e9 if caught else 0.0
    if delay_s > within_s and (end.raised is not None or end.code):
        return None  # it went on for long, and then ended for a reason of its own
    has_left = end.finished is not None or end.raised is not None
    certainty = NAMED if end.status is not None else BY_ARRIVAL if has_left else UNFINISHED
    return Request(signal=number, certainty=certainty, caught=caught, is_handled=True, delay_s=max(0.0, delay_s))


def _said_it_was_done(end: End, caught: Caught | None) -> bool:
    finished = end.finished
    if finished is None or finished.how != "finish" or finished.exit_code:
        return False
    return caught is None or finished.at_ns < caught.at_ns


def told(evidence: Evidence, request: Request, title: str, grade: Grade, /, *, state: str = "") -> Verdict:
    """That the subject ended because of it."""
    end, caught = evidence.subject, request.caught
    unseen = request.is_handled and caught is None and request.signal in end.handled
    text = f"{words.signal(request.signal)} arrived, and the program's own handler ran"
    found = [facts.of_signal(caught, evidence.senders), facts.fact(facts.SIGNAL, end.at_ns, text) if unseen else None]
    because = [*found, facts.of_exception(end.raised), facts.of_status(end)]
    return Verdict(min(grade, request.certainty), title, because, state=state)


def is_typed(caught: Caught | None) -> bool | None:
    """From a terminal (Ctrl-C, a closed window), and not by a process; None where no witness saw it."""
    return None if caught is None else not caught.is_sent and caught.code == SI_KERNEL


def may_have_been_asked(evidence: Evidence) -> bool | None:
    """Whether a signal may have made the subject leave in order, unseen; None where nobody looked for its handlers."""
    end, around = evidence.subject, evidence.surroundings
    if end.role not in WITHOUT_CLIENT or end.role == "child" or any(each.signal in REQUESTS for each in end.signals):
        return False
    return around.heeds_requests if around is not None else None


def is_shell_code(evidence: Evidence) -> bool:
    """It left as a shell would for a command that a request ended, and nothing in it would have seen one."""
    end = evidence.subject
    codes = [128 + number for number in (*REQUESTS, signal.SIGINT)]
    return end.raised is None and end.code in codes and not end.has_signal_witness and not end.signals
