"""What is, and what is not, `scheduler-preempted`."""

from holter.model.evidence import Job
from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, exited, failed, gone, signalled

_SENT = (caught(18, before_s=6, sender="slurmstepd: [7.batch]"), caught(15, before_s=6, sender="slurmstepd: [7.batch]"))

_LINE = "slurmstepd: error: *** JOB 7 ON vm CANCELLED AT 2026-11-15T09:00:00 DUE TO PREEMPTION ***"

EXAMPLES = [
    Example(evidence(gone(), job=Job(scheduler="slurm", job="7", said=_LINE, source="output")), fires=True),
    Example(
        evidence(signalled(15), job=Job(scheduler="slurm", job="7", state="PREEMPTED", source="sacct")), fires=True
    ),
    Example(
        evidence(signalled(9, signals=_SENT), job=Job(scheduler="slurm", job="7", state="PENDING", restarts=1)),
        fires=True,
    ),
    Example(evidence(exited(0, handled=(15,)), was_preempting=True), fires=True),
    # Cancelled by somebody: the same signals.
    Example(
        evidence(signalled(15, signals=_SENT), job=Job(scheduler="slurm", job="7", state="CANCELLED")), fires=False
    ),
    Example(
        evidence(failed("ValueError", "bad label"), job=Job(scheduler="slurm", job="7", state="PREEMPTED")), fires=False
    ),
    Example(evidence(signalled(15)), fires=False),
]
