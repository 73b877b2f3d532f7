"""The program's terminal was closed, and the program ended with it.

A closed window, a lost ssh connection or a laptop that went to sleep: Linux sends SIGHUP to what runs in that
terminal. `kill -1` looks the same to the program.

Start long trainings in tmux or screen, with nohup, or as a job.
"""

import signal

from holter.diagnosis import facts, requests, words
from holter.diagnosis.grades import CONSISTENT, COUNTED, NAMED
from holter.diagnosis.remedies import memory, outside
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer

GENERALITY = 1
ADVICE = (
    "start it so that it outlives the terminal: tmux, nohup, or setsid",
    memory.run_as_script,
    outside.resume,
)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGHUP as the end, and on a failure right after it."""
    end, request = evidence.subject, requests.request_of(evidence, signal.SIGHUP)
    if request is None or (request.is_handled and not (end.code or end.raised)):
        return None
    grade = CONSISTENT if request.is_handled else NAMED if request.caught else COUNTED
    who, caught = words.process(end), request.caught
    title = f"{who} was sent SIGHUP: its terminal was closed, or its connection was lost"
    if requests.is_typed(caught):
        title = f"the terminal of {who} was closed, or its connection was lost"
    elif caught is not None and caught.is_sent:
        title = f"{facts.sender_of(caught, evidence.senders)} sent SIGHUP to {who}"
    return requests.told(evidence, request, title, grade)
