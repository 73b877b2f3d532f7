"""A scheduler stopped the job to make room for another one.

SLURM sends SIGCONT and SIGTERM, waits for the partition's grace time, sends SIGKILL, and may put the job back into the
queue; it writes `DUE TO PREEMPTION` into the job's output. A requeued job goes on as a new attempt of the same run.

Save a checkpoint on SIGTERM (or ask for an earlier warning), submit with `--requeue`, and begin from the last
checkpoint.
"""

from holter.diagnosis import facts, testimony
from holter.diagnosis.grades import CONSISTENT, NAMED
from holter.diagnosis.remedies.outside import resume, save_before_limit
from holter.diagnosis.scheduling import (
    had_cont_before_term,
    of_job,
    of_signals,
    scheduler_sent,
    was_ended_from_outside,
)
from holter.model.evidence import Evidence, Job
from holter.model.state import PREEMPTED
from holter.model.verdicts import Answer, RuledOut, Verdict

CAUSE = "scheduler-preempted"
ADVICE = (
    "submit with --requeue, so that the job comes back and the run continues as a new attempt",
    save_before_limit,
    resume,
)
_REASONS = ("preempt", "evicted")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the scheduler's word, on its signals with a restart of the job, or on the program's own word."""
    job = evidence.job
    if not was_ended_from_outside(evidence) or (job is None and not evidence.was_preempting):
        return None
    is_said = job is not None and _is_said(job)
    is_restarted = job is not None and _is_restarted(evidence, job)
    if not (is_said or is_restarted or evidence.was_preempting):
        return _ruled_out(job)
    end = evidence.subject
    found = [*(of_job(job, end.at_ns) if job else ()), *of_signals(evidence), facts.of_status(end)]
    if evidence.was_preempting:
        found.insert(0, facts.fact(testimony.JOURNAL, end.at_ns, "the program said that it was being preempted"))
    name = f"{job.scheduler.upper()} preempted job {job.job}" if job else "The scheduler preempted the job"
    step = f", at step {end.last_step:,}" if end.last_step is not None else ""
    return Verdict(
        cause=CAUSE,
        grade=NAMED if is_said else CONSISTENT,
        title=f"{name} for another{step}",
        because=testimony.few([*found, *testimony.of_steps(end)]),
        state=PREEMPTED,
    )


def _is_said(job: Job) -> bool:
    return (
        job.state.upper() == "PREEMPTED"
        or "PREEMPTION" in job.said.upper()
        or any(reason in job.reason.lower() for reason in _REASONS)
    )


def _is_restarted(evidence: Evidence, job: Job) -> bool:
    """The job is back in the queue after the scheduler's own signals: a cancelled one would not be."""
    is_back = job.state.upper() in ("PENDING", "REQUEUED", "COMPLETING", "REQUEUE_HOLD") and bool(job.restarts)
    return is_back and scheduler_sent(evidence) is not None and had_cont_before_term(evidence.subject)


def _ruled_out(job: Job | None) -> RuledOut | None:
    if job is None or not job.state or job.source == "environment":
        return None
    return RuledOut(
        cause=CAUSE, because=f"{job.scheduler.upper()} lists job {job.job} as {job.state}, not as preempted"
    )
