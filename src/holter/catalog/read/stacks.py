"""Where the program was when it died, as everybody who tells of it shows it: `holter why`, `show`, page and card."""

import signal
from collections.abc import Sequence

import msgspec

from holter.diagnosis.fault_stacks import lines_at_fault
from holter.model.cell_names import shown
from holter.model.evidence import End, Evidence
from holter.model.state import FINISHED, RUNNING
from holter.model.verdicts import Stack

MOST_LINES = 8
FAULTS = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT})
STACK, TRACEBACK = "Where it was", "Traceback, its end"
NATIVE = frozenset("segmentation-fault stack-overflow aborted bus-error arithmetic-fault illegal-instruction".split())


def stack_of(evidence: Evidence, cause: str | None) -> Stack:
    """Python's stack at a fault, of the program or of the worker that the cause is about; else the traceback's end."""
    if evidence.state in (RUNNING, FINISHED):
        return Stack()
    end = evidence.subject
    faulted = (
        [end]
        if end.signal is not None
        else [child for child in evidence.children if child.fault_log and cause in NATIVE]
    )
    lines = [line for each in faulted[-1:] for line in lines_at_fault(each.fault_log, MOST_LINES)]
    if lines:
        return Stack(STACK, tuple(lines))
    if end.raised is None:
        return Stack()
    text = shown(end.raised.traceback)
    return Stack(TRACEBACK, tuple(text.rstrip().splitlines()[-MOST_LINES:]))


def share_faults(subject: End, children: Sequence[End]) -> tuple[End, list[End]]:
    """A forked child writes its stacks into the program's file: they are its own where it faulted and the program did
    not."""
    faulted = [each for each in children if _has_faulted(each)]
    if not subject.fault_log or subject.status is None or subject.signal in FAULTS or not faulted:
        return subject, list(children)
    theirs = msgspec.structs.replace(faulted[-1], fault_log=subject.fault_log)
    return msgspec.structs.replace(subject, fault_log=""), [
        theirs if each is faulted[-1] else each for each in children
    ]


def _has_faulted(child: End) -> bool:
    return child.signal in FAULTS or (child.status is None and any(each.signal in FAULTS for each in child.signals))
