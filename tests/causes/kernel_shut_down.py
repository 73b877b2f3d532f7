"""What is, and what is not, `kernel-shut-down`."""

from holter.model.evidence import KernelEvent
from tests.causes.example import Example
from tests.causes.specimens import END_NS, before, evidence, exited, signalled

_GONE = KernelEvent(at_ns=END_NS, kind="server-gone")

_BUSY = KernelEvent(at_ns=before(3), kind="shutdown", is_busy=True)

EXAMPLES = [
    Example(evidence(exited(0), is_notebook=True, kernel_events=(_BUSY,)), fires=True),
    Example(evidence(signalled(9), is_notebook=True, kernel_events=(_BUSY,)), fires=True),
    Example(evidence(exited(1), is_notebook=True, kernel_events=(_GONE,)), fires=True),
    # Somebody killed all of them at once: then that is the cause.
    Example(evidence(signalled(9), is_notebook=True, kernel_events=(_GONE,)), fires=False),
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
