"""What is, and what is not, `scheduler-time-limit`."""

from holter.model.evidence import Job
from tests.causes.example import Example
from tests.causes.specimens import END_NS, caught, evidence, failed, gone, signalled

_LINE = "slurmstepd: error: *** JOB 7 ON vm CANCELLED AT 2026-11-15T09:00:00 DUE TO TIME LIMIT ***"

_NOW = END_NS + 10**9

EXAMPLES = [
    Example(evidence(gone(), job=Job(scheduler="slurm", job="7", state="TIMEOUT", reason="TimeLimit")), fires=True),
    Example(evidence(signalled(15), job=Job(scheduler="slurm", job="7", said=_LINE, source="output")), fires=True),
    Example(
        evidence(
            signalled(9, signals=(caught(15, before_s=5, sender="slurmstepd: [7.batch]"),)),
            job=Job(scheduler="slurm", job="7", ends_at_ns=_NOW, source="environment"),
        ),
        fires=True,
    ),
    # Killed an hour before its time was up.
    Example(evidence(signalled(9), job=Job(scheduler="slurm", job="7", ends_at_ns=END_NS + 3600 * 10**9)), fires=False),
    Example(
        evidence(signalled(15), job=Job(scheduler="slurm", job="7", state="CANCELLED", ends_at_ns=_NOW)), fires=False
    ),
    # It failed by itself; the script around it went on until the limit.
    Example(evidence(failed("ValueError", "bad"), job=Job(scheduler="slurm", job="7", state="TIMEOUT")), fires=False),
]
