"""The job's time was up, and the scheduler ended it.

SLURM sends SIGTERM when the limit has passed, SIGKILL some seconds later (KillWait), and writes `DUE TO TIME LIMIT`
into the job's output.

Ask for more time, or for a warning before the end (`#SBATCH --signal=B:USR1@120`), save a checkpoint when it comes and
continue from it in the next job.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.grades import CONSISTENT, INFERRED, NAMED
from holter.diagnosis.remedies.outside import resume, save_before_limit
from holter.diagnosis.scheduling import (
    is_at_limit,
    of_job,
    of_signals,
    scheduler_sent,
    seconds_to_limit,
    was_ended_from_outside,
)
from holter.model.evidence import Evidence, Job
from holter.model.verdicts import Answer, Fact, RuledOut, Verdict

CAUSE = "scheduler-time-limit"
ADVICE = (
    save_before_limit,
    "ask for more time (--time), or split the training into jobs that each continue from a checkpoint",
    resume,
)
_STATES = ("TIMEOUT", "DEADLINE", "DEADLINEEXCEEDED")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the scheduler's word, or on its signals at the end of the job's time."""
    job = evidence.job
    if job is None or not was_ended_from_outside(evidence):
        return None
    is_said = (
        job.state.upper() in _STATES
        or "TIME LIMIT" in job.said.upper()
        or job.reason in ("TimeLimit", "DeadlineExceeded")
    )
    if not is_said and (_is_said_otherwise(job) or not is_at_limit(evidence)):
        return _ruled_out(evidence, job)
    end = evidence.subject
    ran_s = (end.at_ns - end.began_ns) / 1e9 if end.began_ns else None
    after = f" after {words.seconds(ran_s)}" if ran_s else ""
    step = f", at step {end.last_step:,}" if end.last_step is not None else ""
    found = [*of_job(job, end.at_ns), *of_signals(evidence), *_of_limit(evidence), facts.of_status(end)]
    return Verdict(
        cause=CAUSE,
        grade=NAMED if is_said else CONSISTENT if scheduler_sent(evidence) else INFERRED,
        title=f"{job.scheduler.upper()} job {job.job} reached its time limit{after}{step}",
        because=testimony.few([*found, *testimony.of_steps(end)]),
    )


def _is_said_otherwise(job: Job) -> bool:
    return job.state.upper() in ("CANCELLED", "PREEMPTED", "OUT_OF_MEMORY", "NODE_FAIL", "COMPLETED") or bool(job.said)


def _of_limit(evidence: Evidence) -> tuple[Fact, ...]:
    left_s = seconds_to_limit(evidence)
    job = evidence.job
    if left_s is None or job is None or job.ends_at_ns is None:
        return ()
    text = f"{words.seconds(abs(left_s))} {'before' if left_s > 0 else 'after'} the end of the job's time it was ended"
    return (facts.fact(facts.SCHEDULER, job.ends_at_ns, text),)


def _ruled_out(evidence: Evidence, job: Job) -> RuledOut | None:
    left_s = seconds_to_limit(evidence)
    if left_s is not None and left_s > 0 and not is_at_limit(evidence):
        return RuledOut(cause=CAUSE, because=f"the job still had {words.seconds(left_s)} of its time")
    if job.state and job.source != "environment":
        return RuledOut(cause=CAUSE, because=f"{job.scheduler.upper()} lists job {job.job} as {job.state}")
    return None
