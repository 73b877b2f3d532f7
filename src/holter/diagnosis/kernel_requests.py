"""What a notebook's kernel was asked before it ended; what comes after is the server tidying up, and no cause."""

from holter.diagnosis import facts
from holter.diagnosis.causality.ends import at_step
from holter.diagnosis.grades import NAMED
from holter.model.evidence import Evidence, KernelEvent
from holter.model.state import FAILED, KERNEL_LEFT_ALONE
from holter.model.verdicts import Fact, Grade, Verdict

SOON_S = 60.0
"""A kernel that does not listen is given some seconds, then it is ended."""


AFTER_INTERRUPT_S = 3.0
"""A server that ends a kernel interrupts it first, which may end a run before the kernel is told."""


def last_request(evidence: Evidence) -> KernelEvent | None:
    """The last restart or shutdown that it was asked for, if it ended soon after."""
    end = evidence.subject
    was_interrupted = end.raised is not None and end.raised.type == "KeyboardInterrupt"
    least_s = -AFTER_INTERRUPT_S if was_interrupted else 0.0
    asked = [
        event
        for event in evidence.kernel_events
        if event.kind in ("restart", "shutdown") and least_s <= (end.at_ns - event.at_ns) / 1e9 <= SOON_S
    ]
    return asked[-1] if asked else None


def without_server(evidence: Evidence) -> KernelEvent | None:
    """That the Jupyter server was dead when the kernel left with the code that kernels then leave with."""
    gone = [event for event in evidence.kernel_events if event.kind == "server-gone"]
    return gone[-1] if gone and evidence.subject.code == KERNEL_LEFT_ALONE else None


def was_asked(evidence: Evidence, kind: str, done: str, /) -> Verdict | None:
    """That the user asked for this in the middle of a cell, as with Ctrl-C: `done` is `restarted` or `shut down`."""
    asked = last_request(evidence)
    if asked is None or asked.kind != kind or not asked.is_busy:
        return None
    title = f"The notebook's kernel was {done} while a cell was running"
    fact = facts.fact("jupyter", asked.at_ns, f"somebody had the notebook's kernel {done} while a cell was running")
    return told(evidence, NAMED, title, fact, state=FAILED)


def told(evidence: Evidence, grade: Grade, title: str, fact: Fact, /, *, state: str) -> Verdict:
    """That the kernel ended because of what this fact says."""
    end = evidence.subject
    found = [fact, facts.of_status(end), facts.of_steps(end)]
    return Verdict(grade, f"{title}{at_step(end)}", found, state=state)
