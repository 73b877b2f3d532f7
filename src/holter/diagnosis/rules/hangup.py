"""The program's terminal was closed, and the program ended with it.

A closed window, a lost ssh connection or a laptop that went to sleep: Linux sends SIGHUP to what runs in that
terminal. `kill -1` looks the same to the program.

Start long trainings in tmux or screen, with nohup, or as a job.
"""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.grades import CONSISTENT, COUNTED, NAMED
from holter.diagnosis.remedies.memory import run_as_script
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.requests import Request, is_typed, request_of
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Verdict

CAUSE = "hangup"
GENERALITY = 1
ADVICE = ("start it so that it outlives the terminal: tmux, nohup, or setsid", run_as_script, resume)
SEEN, BY_STATUS, HANDLED = NAMED, COUNTED, CONSISTENT


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGHUP as the end, and on a failure right after it."""
    request = request_of(evidence, signal.SIGHUP)
    if request is None or (request.is_handled and not (evidence.subject.code or evidence.subject.raised)):
        return None
    end = evidence.subject
    grade = HANDLED if request.is_handled else SEEN if request.caught else BY_STATUS
    found = [facts.of_signal(request.caught, evidence.senders)] if request.caught else []
    found += [facts.of_exception(end.raised)] if end.raised else []
    return Verdict(
        cause=CAUSE,
        grade=min(grade, request.certainty),
        title=_title(evidence, request),
        because=(*found, facts.of_status(end)),
    )


def _title(evidence: Evidence, request: Request) -> str:
    who = words.process(evidence.subject)
    if is_typed(request.caught):
        return words.sentence(f"the terminal of {who} was closed, or its connection was lost")
    if request.caught is not None and request.caught.is_sent:
        return words.sentence(f"{facts.sender_of(request.caught, evidence.senders)} sent SIGHUP to {who}")
    return words.sentence(f"{who} was sent SIGHUP: its terminal was closed, or its connection was lost")
