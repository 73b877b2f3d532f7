"""Somebody cancelled the job, and the scheduler ended it.

`scancel` makes SLURM send SIGCONT and SIGTERM, then SIGKILL if the program stays, and write `CANCELLED` into the
job's output. A signal that was sent by hand, past the scheduler, leaves the job as failed instead.

Ask who cancelled it (`sacct -j JOB --format=State%30` names the user); continue from the last checkpoint.
"""

from holter.diagnosis import facts, testimony
from holter.diagnosis.grades import INFERRED, LIKELY, NAMED
from holter.diagnosis.remedies.outside import ask_sender, resume, save_before_limit
from holter.diagnosis.scheduling import (
    had_cont_before_term,
    is_at_limit,
    of_job,
    of_signals,
    scheduler_sent,
    was_ended_from_outside,
)
from holter.model.evidence import Evidence, Job, Unseen
from holter.model.verdicts import Answer, NotObservable, RuledOut, Verdict

CAUSE = "scheduler-cancelled"
ADVICE = (ask_sender, save_before_limit, resume)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the scheduler's word, or on its signals where neither time limit nor restart explains them."""
    job = evidence.job
    if not was_ended_from_outside(evidence):
        return None
    is_sent = scheduler_sent(evidence) is not None
    if job is None:
        return _not_observable(evidence) if is_sent else None
    is_said = _is_said(job)
    if not is_said and (job.state or job.said or job.restarts or not is_sent or is_at_limit(evidence)):
        return _ruled_out(evidence, job)
    end = evidence.subject
    by = f" by {job.by}" if job.by else ""
    step = f", at step {end.last_step:,}" if end.last_step is not None else ""
    found = [*of_job(job, end.at_ns), *of_signals(evidence), facts.of_status(end), *testimony.of_steps(end)]
    is_like_slurm = had_cont_before_term(end)
    return Verdict(
        cause=CAUSE,
        grade=NAMED if is_said else LIKELY if is_like_slurm else INFERRED,
        title=f"{job.scheduler.upper()} job {job.job} was cancelled{by}{step}",
        because=testimony.few(found),
    )


def _is_said(job: Job) -> bool:
    """Cancelled without the reason that a time limit or a preemption would have."""
    has_other = "DUE TO" in job.said.upper() or job.reason in ("TimeLimit", "Preempted", "OutOfMemory")
    return not has_other and (job.state.upper().startswith("CANCELLED") or "CANCELLED AT" in job.said.upper())


def _ruled_out(evidence: Evidence, job: Job) -> RuledOut | None:
    if not job.state or job.source == "environment" or evidence.subject.signal is None:
        return None
    return RuledOut(
        cause=CAUSE, because=f"{job.scheduler.upper()} lists job {job.job} as {job.state}, not as cancelled"
    )


def _not_observable(evidence: Evidence) -> NotObservable:
    unseen = evidence.unseen.get("job", Unseen(because="the scheduler was not asked about the job"))
    remedy = unseen.remedy or "run `holter why` within some minutes on a machine where `scontrol` or `sacct` works"
    return NotObservable(cause=CAUSE, because=unseen.because, remedy=remedy)
