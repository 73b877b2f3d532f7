"""Somebody restarted the notebook's kernel while a cell was running.

A restart first interrupts the cell, so that its last words may be a KeyboardInterrupt; a notebook's kernel that
does not listen is ended with SIGTERM and SIGKILL. A restart while no cell runs is a normal end and no cause.

Save checkpoints within the cell, or run long trainings as a script, which no restart can reach.
"""

from holter.diagnosis import kernel_requests
from holter.diagnosis.remedies import memory, outside
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer

ADVICE = (
    "save before restarting the notebook's kernel: a restart ends the running cell",
    memory.run_as_script,
    outside.resume,
)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel was asked to restart, in the middle of a cell, before it ended."""
    return kernel_requests.was_asked(evidence, "restart", "restarted")
