"""Somebody shut the notebook's kernel down while a cell was running, or the server did so when it was stopped or died.

A shutdown while no cell runs is a normal end and no cause; but if the server dies, the notebook's kernel
dies too, running a cell or not.

Run long trainings as a script: closing a notebook or stopping the Jupyter server ends its notebooks' kernels.
"""

from holter.diagnosis import facts, kernel_requests
from holter.diagnosis.grades import COUNTED
from holter.diagnosis.remedies import memory, outside
from holter.model.evidence import Evidence
from holter.model.state import CRASHED
from holter.model.verdicts import Answer

ADVICE = (memory.run_as_script, outside.resume)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel was asked to shut down, in the middle of a cell, before it ended."""
    gone = kernel_requests.without_server(evidence)
    if gone is None:
        return kernel_requests.was_asked(evidence, "shutdown", "shut down")
    text = "the Jupyter server that had started the notebook's kernel was dead when that ended"
    title = "The Jupyter server died, and the notebook's kernel with it"
    fact = facts.fact("jupyter", gone.at_ns, text)
    return kernel_requests.told(evidence, COUNTED, title, fact, state=CRASHED)
