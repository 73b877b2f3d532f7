"""Somebody shut the notebook's kernel down while a cell was running, or the server did so when it was stopped or died.

A shutdown while no cell runs is a normal end and no cause; but if the server dies, the notebook's kernel
dies too, running a cell or not.

Run long trainings as a script: closing a notebook or stopping the Jupyter server ends its notebooks' kernels.
"""

from holter.diagnosis import facts
from holter.diagnosis.grades import COUNTED
from holter.diagnosis.kernel_requests import last_request, verdict_of, was_asked, without_server
from holter.diagnosis.remedies.memory import run_as_script
from holter.diagnosis.remedies.outside import resume
from holter.model.evidence import Evidence, KernelEvent
from holter.model.state import CRASHED
from holter.model.verdicts import Answer, Verdict

CAUSE = "kernel-shut-down"
ADVICE = (run_as_script, resume)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the kernel was asked to shut down, in the middle of a cell, before it ended."""
    if (gone := without_server(evidence)) is not None:
        return _left_alone(evidence, gone)
    asked = last_request(evidence)
    if asked is None or asked.kind != "shutdown" or not asked.is_busy:
        return None
    return was_asked(CAUSE, evidence, asked=asked, done="shut down")


def _left_alone(evidence: Evidence, gone: KernelEvent) -> Verdict:
    title = "The Jupyter server died, and the notebook's kernel with it"
    text = "the Jupyter server that had started the notebook's kernel was dead when that ended"
    fact = facts.fact("jupyter", gone.at_ns, text)
    return verdict_of(CAUSE, evidence, fact=fact, title=title, state=CRASHED, grade=COUNTED)
