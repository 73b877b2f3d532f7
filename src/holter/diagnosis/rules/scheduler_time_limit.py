"""The job's time was up, and the scheduler ended it.

SLURM sends SIGTERM when the limit has passed, SIGKILL some seconds later (KillWait), and writes `DUE TO TIME LIMIT`
into the job's output.

Ask for more time, or for a warning before the end (`#SBATCH --signal=B:USR1@120`), save a checkpoint when it comes and
continue from it in the next job.
"""

from holter.diagnosis import facts, scheduling, words
from holter.diagnosis.grades import CONSISTENT, INFERRED, NAMED
from holter.diagnosis.remedies import outside
from holter.model.evidence import Evidence, Job
from holter.model.verdicts import Answer, Fact, RuledOut

ADVICE = (
    outside.save_before_limit,
    "ask for more time (--time), or split the training into jobs that each continue from a checkpoint",
    outside.resume,
)
_STATES = ("TIMEOUT", "DEADLINE", "DEADLINEEXCEEDED")
_OTHERS = ("CANCELLED", "PREEMPTED", "OUT_OF_MEMORY", "NODE_FAIL", "COMPLETED")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the scheduler's word, or on its signals at the end of the job's time."""
    job, end = evidence.job, evidence.subject
    if job is None or not scheduling.was_ended_from_outside(evidence):
        return None
    is_said, is_at_limit = _is_said(job), scheduling.is_at_limit(evidence)
    is_other = job.state.upper() in _OTHERS or bool(job.said)
    if not is_said and (is_other or not is_at_limit):
        left_s = scheduling.seconds_to_limit(evidence)
        if left_s is not None and left_s > 0 and not is_at_limit:
            return RuledOut(because=f"the job still had {words.seconds(left_s)} of its time")
        return scheduling.lists_otherwise(job)
    grade = NAMED if is_said else CONSISTENT if scheduling.scheduler_sent(evidence) else INFERRED
    ran_s = (end.at_ns - end.began_ns) / 1e9 if end.began_ns else 0
    after = f" after {words.seconds(ran_s)}" if ran_s else ""
    title = f"{scheduling.name_of(job)} reached its time limit{after}"
    return scheduling.told(evidence, grade, title, _of_limit(evidence, job))


def _is_said(job: Job) -> bool:
    is_reason = job.reason in ("TimeLimit", "DeadlineExceeded")
    return is_reason or job.state.upper() in _STATES or "TIME LIMIT" in job.said.upper()


def _of_limit(evidence: Evidence, job: Job) -> Fact | None:
    left_s = scheduling.seconds_to_limit(evidence)
    if left_s is None or job.ends_at_ns is None:
        return None
    text = f"{words.seconds(abs(left_s))} {'before' if left_s > 0 else 'after'} the end of the job's time it was ended"
    return facts.fact(facts.SCHEDULER, job.ends_at_ns, text)
