"""What is, and what is not, `scheduler-cancelled`."""

from holter.model.evidence import Job
from tests.causes.example import Example
from tests.causes.specimens import END_NS, caught, evidence, failed, gone, signalled

_SENT = (caught(18, sender="slurmstepd: [7.batch]"), caught(15, sender="slurmstepd: [7.batch]"))

_LINE = "slurmstepd: error: *** JOB 7 ON vm CANCELLED AT 2026-11-15T09:00:00 ***"

EXAMPLES = [
    Example(evidence(signalled(15), job=Job(scheduler="slurm", job="7", state="CANCELLED", by="ada")), fires=True),
    Example(evidence(gone(), job=Job(scheduler="slurm", job="7", said=_LINE, source="output")), fires=True),
    Example(
        evidence(signalled(15, signals=_SENT), job=Job(scheduler="slurm", job="7", source="environment")), fires=True
    ),
    # The time limit writes the same word and gives its reason.
    Example(
        evidence(
            signalled(15), job=Job(scheduler="slurm", job="7", said=_LINE.replace(" ***", " DUE TO TIME LIMIT ***"))
        ),
        fires=False,
    ),
    Example(
        evidence(signalled(15, signals=_SENT[1:]), job=Job(scheduler="slurm", job="7", ends_at_ns=END_NS)), fires=False
    ),
    # `kill -9` of the batch script by hand.
    Example(
        evidence(signalled(9), job=Job(scheduler="slurm", job="7", state="FAILED", reason="JobLaunchFailure")),
        fires=False,
    ),
    Example(evidence(signalled(15, signals=_SENT)), fires=False),
    Example(evidence(failed("ValueError", "bad"), job=Job(scheduler="slurm", job="7", state="CANCELLED")), fires=False),
]
