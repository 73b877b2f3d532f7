"""Somebody restarted the notebook's kernel while a cell was running.

A restart first interrupts the cell, so that its last words may be a KeyboardInterrupt; a notebook's kernel that
does not listen is ended with SIGTERM and SIGKILL. A restart while no cell runs is a normal end and no cause.

Save checkpoints within the cell, or run long trainings as a script, which no restart can reach.
"""

from holter.diagnosis.kernel_requests import last_request, was_asked
from holter.diagnosis.specimens import END_NS, before, evidence, exited, failed, signalled
from holter.model.evidence import Evidence, KernelEvent
from holter.model.verdicts import Answer, Example

CAUSE = "kernel-restarted"


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel was asked to restart, in the middle of a cell, before it ended."""
    asked = last_request(evidence)
    if asked is None or asked.kind != "restart" or not asked.is_busy:
        return None
    return was_asked(CAUSE, evidence, asked=asked, done="restarted")


_BUSY = KernelEvent(at_ns=before(2.5), kind="restart", is_busy=True)
_IDLE = KernelEvent(at_ns=before(0.5), kind="restart")
_AFTER = KernelEvent(at_ns=END_NS + 2_500_000_000, kind="restart", is_busy=True)
EXAMPLES = [
    Example(evidence(exited(0), is_notebook=True, kernel_events=(_BUSY,)), fires=True),
    Example(evidence(signalled(15), is_notebook=True, kernel_events=(_BUSY,)), fires=True),
    # Nothing was running.
    Example(evidence(exited(0), is_notebook=True, kernel_events=(_IDLE,)), fires=False),
    # The interrupt that comes with a restart had left the run's `with` block before the kernel was told.
    Example(
        evidence(
            failed("KeyboardInterrupt", ""),
            is_notebook=True,
            kernel_events=(KernelEvent(at_ns=before(-0.1), kind="restart", is_busy=True),),
        ),
        fires=True,
    ),
    # It died by itself, and then the server restarted it.
    Example(evidence(signalled(9), is_notebook=True, kernel_events=(_AFTER,)), fires=False),
    Example(
        evidence(
            exited(0), is_notebook=True, kernel_events=(KernelEvent(at_ns=before(2), kind="shutdown", is_busy=True),)
        ),
        fires=False,
    ),
]
