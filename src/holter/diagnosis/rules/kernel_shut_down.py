"""Somebody shut the notebook's kernel down while a cell was running, or the server did so when it was stopped.

A shutdown while no cell runs is a normal end and no cause.

Run long trainings as a script: closing a notebook or stopping the Jupyter server ends its kernels.
"""

from holter.diagnosis.kernel_requests import last_request, verdict_of
from holter.diagnosis.specimens import END_NS, before, evidence, exited, signalled
from holter.model.evidence import Evidence, KernelEvent
from holter.model.state import CRASHED
from holter.model.verdicts import Answer, Example

CAUSE = "kernel-shut-down"


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel was asked to shut down, in the middle of a cell, before it ended."""
    asked = last_request(evidence)
    if asked is None or asked.kind != "shutdown" or not asked.is_busy:
        return None
    return verdict_of(CAUSE, evidence, asked=asked, done="shut down", state=CRASHED)


_BUSY = KernelEvent(at_ns=before(3), kind="shutdown", is_busy=True)
EXAMPLES = [
    Example(evidence(exited(0), is_notebook=True, kernel_events=(_BUSY,)), fires=True),
    Example(evidence(signalled(9), is_notebook=True, kernel_events=(_BUSY,)), fires=True),
    Example(
        evidence(exited(0), is_notebook=True, kernel_events=(KernelEvent(at_ns=before(1), kind="shutdown"),)),
        fires=False,
    ),
    Example(
        evidence(
            signalled(9),
            is_notebook=True,
            kernel_events=(KernelEvent(at_ns=END_NS + 10**9, kind="shutdown", is_busy=True),),
        ),
        fires=False,
    ),
    # An interrupt ends a cell, not the kernel.
    Example(
        evidence(
            signalled(9),
            is_notebook=True,
            kernel_events=(KernelEvent(at_ns=before(9), kind="interrupt", is_busy=True),),
        ),
        fires=False,
    ),
]
