"""Somebody cancelled the job, and the scheduler ended it.

`scancel` makes SLURM send SIGCONT and SIGTERM, then SIGKILL if the program stays, and write `CANCELLED` into the
job's output. A signal that was sent by hand, past the scheduler, leaves the job as failed instead.

Ask who cancelled it (`sacct -j JOB --format=State%30` names the user); continue from the last checkpoint.
"""

from holter.diagnosis import facts, scheduling
from holter.diagnosis.grades import INFERRED, LIKELY, NAMED
from holter.diagnosis.remedies import outside
from holter.model.evidence import Evidence, Job
from holter.model.verdicts import Answer

ADVICE = (outside.ask_sender, outside.save_before_limit, outside.resume)
_OTHERS = ("TimeLimit", "Preempted", "OutOfMemory")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the scheduler's word, or on its signals where neither time limit nor restart explains them."""
    job, end = evidence.job, evidence.subject
    if not scheduling.was_ended_from_outside(evidence):
        return None
    is_sent = scheduling.scheduler_sent(evidence) is not None
    if job is None:
        because = "the scheduler was not asked about the job"
        remedy = "run `holter why` within some minutes on a machine where `scontrol` or `sacct` works"
        return facts.not_observable(evidence, "job", because=because, remedy=remedy) if is_sent else None
    is_said = _is_said(job)
    is_explained = job.state or job.said or job.restarts or not is_sent or scheduling.is_at_limit(evidence)
    if not is_said and is_explained:
        return scheduling.lists_otherwise(job, "cancelled") if end.signal is not None else None
    grade = NAMED if is_said else LIKELY if scheduling.had_cont_before_term(end) else INFERRED
    by = f" by {job.by}" if job.by else ""
    return scheduling.told(evidence, grade, f"{scheduling.name_of(job)} was cancelled{by}")


def _is_said(job: Job) -> bool:
    """Cancelled without the reason that a time limit or a preemption would have."""
    has_other = "DUE TO" in job.said.upper() or job.reason in _OTHERS
    return not has_other and (job.state.upper().startswith("CANCELLED") or "CANCELLED AT" in job.said.upper())
