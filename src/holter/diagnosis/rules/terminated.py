"""The process was asked to stop with SIGTERM, and ended.

`kill` without a number sends it, and so do service managers, container runtimes, schedulers and a machine that shuts
down, mostly some seconds before SIGKILL. A program that handles it and exits with a code of its own, even 0, was
still ended by it.

Find out who sent it; save a checkpoint in a SIGTERM handler, and continue from it.
"""

import signal

from holter.diagnosis import endings, facts, requests, texts, words
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY, NAMED, OPEN, UNLIKELY
from holter.diagnosis.remedies import outside
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

GENERALITY = 1
ADVICE = (
    outside.ask_sender,
    "save a checkpoint in a SIGTERM handler: a few seconds usually remain before SIGKILL",
    outside.resume,
)
LATE_S = 30.0
PEOPLE = ("bash", "zsh", "fish", "sh:", "kill", "htop", "python", "timeout")
"""What sends it for a person, and not for a scheduler."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGTERM as the end, and on an end of its own soon after it."""
    request = requests.request_of(evidence, signal.SIGTERM)
    if request is None and _says_so(evidence):
        request = requests.Request(signal=signal.SIGTERM, certainty=CONSISTENT, is_handled=True)
    if request is None:
        return endings.unseen(evidence, "SIGTERM")
    grade = NAMED if request.caught else COUNTED
    if request.is_handled:
        grade = CONSISTENT if request.delay_s > LATE_S else COUNTED
    sender = request.caught.sender if request.caught else ""
    has_scheduler = evidence.job is not None or bool(evidence.facts.get("schedulers"))
    if has_scheduler and not any(name in sender for name in PEOPLE):
        grade = min(grade, LIKELY)
    return requests.told(evidence, request, _title(evidence, request), grade)


def _says_so(evidence: Evidence) -> bool:
    """A launcher turns the signal into an exception of its own, and nobody else saw it arrive."""
    end = evidence.subject
    if end.raised is None or end.has_signal_witness or "SignalException" not in texts.type_names(end.raised):
        return False
    return texts.in_exception(evidence, "got-sigterm") is not None


def _title(evidence: Evidence, request: requests.Request) -> str:
    end, caught = evidence.subject, request.caught
    sender = facts.sender_of(caught, evidence.senders) if caught and caught.is_sent else "somebody"
    title = f"{sender} asked {words.process(end)} to stop with SIGTERM"
    if not request.is_handled:
        return title
    after = f" {words.seconds(request.delay_s)} later" if request.delay_s >= 1 else ""
    how = words.exit_words(end) if end.status is not None or end.raised else "by itself"
    return f"{title}, and it exited{after} {how}"


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program that handles SIGTERM may leave because of one, and only a witness inside it would know."""
    may_be = requests.may_have_been_asked(evidence)
    if not verdict.is_vague or evidence.subject.code is None:
        return None
    if requests.is_shell_code(evidence) or may_be:
        return OPEN
    return UNLIKELY if may_be is None else None
