"""A scheduler stopped the job to make room for another one.

SLURM sends SIGCONT and SIGTERM, waits for the partition's grace time, sends SIGKILL, and may put the job back into the
queue; it writes `DUE TO PREEMPTION` into the job's output. A requeued job goes on as a new attempt of the same run.

Save a checkpoint on SIGTERM (or ask for an earlier warning), submit with `--requeue`, and begin from the last
checkpoint.
"""

from holter.diagnosis import facts, scheduling
from holter.diagnosis.grades import CONSISTENT, NAMED
from holter.diagnosis.remedies import outside
from holter.model.evidence import Evidence, Job
from holter.model.state import PREEMPTED
from holter.model.verdicts import Answer, Verdict

ADVICE = (
    "submit with --requeue, so that the job comes back and the run continues as a new attempt",
    outside.save_before_limit,
    outside.resume,
)
_REASONS = ("preempt", "evicted")
_BACK = ("PENDING", "REQUEUED", "COMPLETING", "REQUEUE_HOLD")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the scheduler's word, on its signals with a restart of the job, or on the program's own word."""
    job, end = evidence.job, evidence.subject
    if not scheduling.was_ended_from_outside(evidence) or (job is None and not evidence.was_preempting):
        return None
    is_said = job is not None and _is_said(job)
    is_restarted = job is not None and _is_restarted(evidence, job)
    if not (is_said or is_restarted or evidence.was_preempting):
        return scheduling.lists_otherwise(job, "preempted")
    said = facts.fact(facts.JOURNAL, end.at_ns, "the program said that it was being preempted")
    name = f"{job.scheduler.upper()} preempted job {job.job}" if job else "The scheduler preempted the job"
    told = scheduling.told(evidence, NAMED if is_said else CONSISTENT, f"{name} for another", state=PREEMPTED)
    found = [said if evidence.was_preempting else None, *told.because]
    return Verdict(told.grade, told.title, found, state=PREEMPTED)


def _is_said(job: Job) -> bool:
    is_reason = any(reason in job.reason.lower() for reason in _REASONS)
    return is_reason or job.state.upper() == "PREEMPTED" or "PREEMPTION" in job.said.upper()


def _is_restarted(evidence: Evidence, job: Job) -> bool:
    """The job is back in the queue after the scheduler's own signals: a cancelled one would not be."""
    is_back = job.state.upper() in _BACK and bool(job.restarts)
    is_sent = scheduling.scheduler_sent(evidence) is not None
    return is_back and is_sent and scheduling.had_cont_before_term(evidence.subject)
