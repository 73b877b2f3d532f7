"""Reads a scheduler's words and its habits: which signals it sends, and when."""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import at_step
from holter.diagnosis.phrases.tags import says
from holter.model.evidence import Caught, End, Evidence, Job
from holter.model.verdicts import Fact, Grade, RuledOut, Verdict

OUTSIDE = (
    *(None, signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU),
)
LIMIT_BEFORE_S = 60.0
LIMIT_AFTER_S = 180.0
"""A time limit fires some time after it has passed (86 s for a limit of 60 s on SLURM 22.05), KillWait comes on top."""
_TOGETHER_S = 5.0


def was_ended_from_outside(evidence: Evidence) -> bool:
    """No exception, exit code or fault of its own ended the subject, unless it had been asked to leave before."""
    end = evidence.subject
    if end.signal not in OUTSIDE:
        return False
    was_asked = term_of(evidence) is not None or signal.SIGTERM in end.handled or evidence.was_preempting
    if end.raised is not None and not was_asked:
        return False
    return was_asked or end.code is None


def term_of(evidence: Evidence) -> Caught | None:
    """The last SIGTERM that the witness inside the subject saw before its end."""
    return evidence.subject.caught(signal.SIGTERM)


def sender_name(evidence: Evidence, caught: Caught) -> str:
    """The command that sent it, as far as anybody could read it."""
    known = next((each.command or each.parent for each in evidence.senders if each.pid == caught.sender_pid), "")
    return known or caught.sender


def scheduler_sent(evidence: Evidence) -> Caught | None:
    """The SIGTERM of the subject, if a scheduler's own process sent it."""
    term = term_of(evidence)
    return term if term is not None and says(sender_name(evidence, term), "scheduler-process") else None


def had_cont_before_term(end: End) -> bool:
    """SIGCONT right before SIGTERM: so SLURM cancels and preempts, and ends no other way."""
    conts = [each.at_ns for each in end.signals if each.signal == signal.SIGCONT]
    terms = [each.at_ns for each in end.signals if each.signal == signal.SIGTERM]
    return any(0 <= (term - cont) / 1e9 <= _TOGETHER_S for cont in conts for term in terms)


def seconds_to_limit(evidence: Evidence) -> float | None:
    """How far the end of the job's time was when the subject was ended; None where nobody knows the limit."""
    job = evidence.job
    if job is None or job.ends_at_ns is None:
        return None
    term = term_of(evidence)
    return (job.ends_at_ns - (term.at_ns if term else evidence.subject.at_ns)) / 1e9


def is_at_limit(evidence: Evidence) -> bool:
    """Whether the end fell on the end of the job's time."""
    left_s = seconds_to_limit(evidence)
    return left_s is not None and -LIMIT_AFTER_S <= left_s <= LIMIT_BEFORE_S


def says_out_of_memory(evidence: Evidence) -> bool:
    """The scheduler says that the job was out of memory, and the subject can have been who was killed for it."""
    job, end = evidence.job, evidence.subject
    if job is None or end.signal not in (None, signal.SIGKILL) or end.code is not None or end.raised is not None:
        return False
    return job.state.upper() in ("OUT_OF_MEMORY", "OOMKILLED") or says(job.said, "job-out-of-memory")


def of_job(evidence: Evidence) -> list[Fact | None]:
    """What the scheduler says, in its own words."""
    job, at_ns = evidence.job, evidence.subject.at_ns
    if job is None:
        return []
    reason = job.reason if job.reason != "None" else ""
    rest = f"{words.told(', reason {}', reason)}{words.told(', exit code {}', job.exit_code)}"
    state = f"job {job.job} is {job.state}{rest}{words.told(' ({})', job.source)}"
    restarts = f"job {job.job} was restarted {words.count(job.restarts or 0, 'time')}"
    texts = [
        f"the job's output has: {words.quote(job.said, 200)}" if job.said else "",
        state if job.state else "",
        restarts if job.restarts else "",
    ]
    return [facts.fact(facts.SCHEDULER, at_ns, text) for text in texts if text]


def of_signals(evidence: Evidence) -> Fact | None:
    """The scheduler's signals as they arrived."""
    term = scheduler_sent(evidence)
    if term is None:
        return None
    cont = ", right after SIGCONT" if had_cont_before_term(evidence.subject) else ""
    name = words.quote(sender_name(evidence, term), 60)
    return facts.fact(facts.SIGNAL, term.at_ns, f"SIGTERM was sent by {name} (process {term.sender_pid}){cont}")


def told(evidence: Evidence, grade: Grade, title: str, /, *more: Fact | None, state: str = "") -> Verdict:
    """That the scheduler ended the subject."""
    end = evidence.subject
    found = [*of_job(evidence), of_signals(evidence), *more, facts.of_status(end), facts.of_steps(end)]
    return Verdict(grade, f"{title}{at_step(end)}", found, state=state)


def name_of(job: Job) -> str:
    """`SLURM job 812`."""
    return f"{job.scheduler.upper()} job {job.job}"


def lists_otherwise(job: Job | None, not_as: str = "") -> RuledOut | None:
    """That the scheduler says something else of the job; None where it said nothing."""
    if job is None or not job.state or job.source == "environment":
        return None
    said = words.told(", not as {}", not_as)
    return RuledOut(because=f"{job.scheduler.upper()} lists job {job.job} as {job.state}{said}")
