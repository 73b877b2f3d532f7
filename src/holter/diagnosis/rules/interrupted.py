"""Somebody interrupted the program: Ctrl-C in a terminal, the interrupt button of a notebook, or `kill -2`.

Python turns the signal into a KeyboardInterrupt in the main thread; uncaught, it ends the program.

Nothing is wrong with the program; continue from the last checkpoint if it was ended too early.
"""

import signal

from holter.diagnosis import facts, requests, texts, words
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED, OPEN, UNLIKELY
from holter.diagnosis.remedies import outside
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

GENERALITY = 1
ADVICE = (outside.resume,)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGINT as the end, on KeyboardInterrupt, and on an exit right after the signal."""
    end, ending = evidence.subject, ending_of(evidence)
    is_raised = (
        end.raised is not None
        and "KeyboardInterrupt" in texts.type_names(end.raised)
        and not texts.is_own_raise(end.raised)
    )
    if ending is not None and ending.signal == signal.SIGQUIT and requests.is_typed(ending.caught):
        asked = requests.Request(signal=signal.SIGQUIT, certainty=NAMED, caught=ending.caught)
        return _verdict(evidence, asked, COUNTED)
    if end.raised is not None and not is_raised:
        return None
    request = requests.request_of(evidence, signal.SIGINT, within_s=requests.AT_ONCE_S)
    if request is not None and (is_raised or not request.is_handled or end.code):
        seen = NAMED if is_raised or not request.is_handled else CONSISTENT
        return _verdict(evidence, request, seen if request.caught is not None else COUNTED)
    if not is_raised or end.code == 0 or (ending is not None and ending.signal != signal.SIGINT):
        return None
    alone = INFERRED if end.has_signal_witness else COUNTED
    return _verdict(evidence, requests.Request(signal=signal.SIGINT, certainty=NAMED), alone)


def _verdict(evidence: Evidence, request: requests.Request, grade: Grade, /) -> Verdict:
    who, caught, is_int = words.process(evidence.subject), request.caught, request.signal == signal.SIGINT
    title = f"somebody interrupted {who} (Ctrl-C, or the interrupt button of a notebook)"
    if requests.is_typed(caught):
        key = "Ctrl-C" if is_int else "Ctrl-\\"
        title = f"somebody typed {key} in the terminal of {who}"
    elif caught is not None and caught.is_sent:
        title = f"{facts.sender_of(caught, evidence.senders)} interrupted {who}"
    return requests.told(evidence, request, title, grade, state="failed" if is_int else "")


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Python turns Ctrl-C into an exception, after which a program may leave with a code of its own; nobody was inside
    to see it arrive."""
    end = evidence.subject
    if not verdict.is_vague or end.code is None:
        return None
    if requests.is_shell_code(evidence):
        return OPEN
    has_said_so = end.finished is not None and end.finished.how == "finish"
    may_be = end.role == "program" and not end.has_signal_witness and end.raised is None and not has_said_so
    return UNLIKELY if may_be else None
