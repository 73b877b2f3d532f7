"""Somebody interrupted the program: Ctrl-C in a terminal, the interrupt button of a notebook, or `kill -2`.

Python turns the signal into a KeyboardInterrupt in the main thread; uncaught, it ends the program.

Nothing is wrong with the program; continue from the last checkpoint if it was ended too early.
"""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.requests import AT_ONCE_S, Request, is_shell_code, is_typed, request_of
from holter.diagnosis.rivals import OPEN, UNLIKELY
from holter.diagnosis.texts import is_own_raise, type_names
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

CAUSE = "interrupted"
GENERALITY = 1
ADVICE = (resume,)
SEEN, BY_STATUS, RAISED, RAISED_ALONE, LEFT, QUIT = NAMED, COUNTED, COUNTED, INFERRED, CONSISTENT, COUNTED


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGINT as the end, on KeyboardInterrupt, and on an exit right after the signal."""
    end = evidence.subject
    is_raised = (
        end.raised is not None and "KeyboardInterrupt" in type_names(end.raised) and not is_own_raise(end.raised)
    )
    ending = ending_of(evidence)
    if ending is not None and ending.signal == signal.SIGQUIT and is_typed(ending.caught):
        return _verdict(evidence, Request(signal=signal.SIGQUIT, certainty=NAMED, caught=ending.caught), QUIT)
    if end.raised is not None and not is_raised:
        return None
    request = request_of(evidence, signal.SIGINT, within_s=AT_ONCE_S)
    if request is not None and (is_raised or not request.is_handled or end.code):
        return _verdict(evidence, request, min(_grade(request, is_raised=is_raised), request.certainty))
    if not is_raised or end.code == 0 or (ending is not None and ending.signal != signal.SIGINT):
        return None
    seen = RAISED_ALONE if end.has_signal_witness else RAISED
    return _verdict(evidence, Request(signal=signal.SIGINT, certainty=NAMED), seen)


def _grade(request: Request, *, is_raised: bool) -> Grade:
    if request.caught is not None:
        return SEEN if is_raised or not request.is_handled else LEFT
    return BY_STATUS if not request.is_handled else RAISED


def _verdict(evidence: Evidence, request: Request, grade: Grade, /) -> Verdict:
    end = evidence.subject
    found = [facts.of_signal(request.caught, evidence.senders)] if request.caught else []
    found += [facts.of_exception(end.raised)] if end.raised else []
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=_title(evidence, request),
        because=(*found, facts.of_status(end)),
        state="failed" if request.signal == signal.SIGINT else "",
    )


def _title(evidence: Evidence, request: Request) -> str:
    who, caught = words.process(evidence.subject), request.caught
    if is_typed(caught):
        key = "Ctrl-C" if request.signal == signal.SIGINT else "Ctrl-\\"
        return words.sentence(f"somebody typed {key} in the terminal of {who}")
    if caught is not None and caught.is_sent:
        return words.sentence(f"{facts.sender_of(caught, evidence.senders)} interrupted {who}")
    return words.sentence(f"somebody interrupted {who} (Ctrl-C, or the interrupt button of a notebook)")


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Python turns Ctrl-C into an exception, after which a program may leave with a code of its own; nobody was inside
    to see it arrive."""
    end = evidence.subject
    if not verdict.is_vague or end.code is None:
        return None
    if is_shell_code(evidence):
        return OPEN
    has_said_so = end.finished is not None and end.finished.how == "finish"
    may_be = end.role == "program" and not end.has_signal_witness and end.raised is None and not has_said_so
    return UNLIKELY if may_be else None
