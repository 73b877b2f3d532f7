"""The process was asked to stop with SIGTERM, and ended.

`kill` without a number sends it, and so do service managers, container runtimes, schedulers and a machine that shuts
down, mostly some seconds before SIGKILL. A program that handles it and exits with a code of its own, even 0, was
still ended by it.

Find out who sent it; save a checkpoint in a SIGTERM handler, and continue from it.
"""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.endings import UNSEEN_END, how_to_see_the_end, is_silent
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY, NAMED
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies.outside import ask_sender, resume
from holter.diagnosis.requests import Request, is_shell_code, may_have_been_asked, request_of
from holter.diagnosis.rivals import OPEN, UNLIKELY
from holter.diagnosis.texts import foreign_text, type_names
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Fact, Grade, NotObservable, Verdict

CAUSE = "terminated"
GENERALITY = 1
ADVICE = (ask_sender, "save a checkpoint in a SIGTERM handler: a few seconds usually remain before SIGKILL", resume)
SEEN, BY_STATUS, HANDLED, LATE, RAISED = NAMED, COUNTED, COUNTED, CONSISTENT, COUNTED
SCHEDULED = LIKELY
BY_WORDS = CONSISTENT
LATE_S = 30.0


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGTERM as the end, and on an end of its own soon after it."""
    request = request_of(evidence, signal.SIGTERM)
    if request is None and _says_so(evidence):
        request = Request(signal=signal.SIGTERM, certainty=BY_WORDS, is_handled=True)
    if request is None:
        because = f"{UNSEEN_END}: it may have been SIGTERM"
        return (
            NotObservable(cause=CAUSE, because=because, remedy=how_to_see_the_end(evidence))
            if is_silent(evidence)
            else None
        )
    grade = min(_grade(evidence, request), request.certainty)
    has_scheduler = evidence.job is not None or bool(evidence.facts.get("schedulers"))
    return Verdict(
        cause=CAUSE,
        grade=min(grade, SCHEDULED) if has_scheduler and not _is_by_a_person(request) else grade,
        title=_title(evidence, request),
        because=_because(evidence, request),
    )


def _says_so(evidence: Evidence) -> bool:
    """A launcher turns the signal into an exception of its own, and nobody else saw it arrive."""
    end = evidence.subject
    if end.raised is None or end.has_signal_witness or "SignalException" not in type_names(end.raised):
        return False
    return says(foreign_text(end.raised), "got-sigterm")


def _grade(evidence: Evidence, request: Request) -> Grade:
    if not request.is_handled:
        return SEEN if request.caught else BY_STATUS
    if request.delay_s > LATE_S:
        return LATE
    return RAISED if evidence.subject.raised is not None else HANDLED


def _is_by_a_person(request: Request) -> bool:
    sender = request.caught.sender if request.caught else ""
    return any(name in sender for name in ("bash", "zsh", "fish", "sh:", "kill", "htop", "python", "timeout"))


def _title(evidence: Evidence, request: Request) -> str:
    end = evidence.subject
    sender = (
        facts.sender_of(request.caught, evidence.senders) if request.caught and request.caught.is_sent else "somebody"
    )
    title = f"{sender} asked {words.process(end)} to stop with SIGTERM"
    if not request.is_handled:
        return words.sentence(title)
    after = f" {words.seconds(request.delay_s)} later" if request.delay_s >= 1 else ""
    how = words.exit_words(end) if end.status is not None or end.raised else "by itself"
    return words.sentence(f"{title}, and it exited{after} {how}")


def _because(evidence: Evidence, request: Request) -> tuple[Fact, ...]:
    end = evidence.subject
    found = [facts.of_signal(request.caught, evidence.senders)] if request.caught else []
    if request.is_handled and request.caught is None and signal.SIGTERM in end.handled:
        found.append(facts.fact(facts.SIGNAL, end.at_ns, "SIGTERM arrived, and the program's own handler ran"))
    found.append(facts.of_status(end))
    found += [facts.of_exception(end.raised)] if end.raised else []
    return tuple(found)


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program that handles SIGTERM may leave because of one, and only a witness inside it would know."""
    may_be = may_have_been_asked(evidence)
    if not verdict.is_vague or evidence.subject.code is None:
        return None
    if is_shell_code(evidence) or may_be:
        return OPEN
    return UNLIKELY if may_be is None else None
