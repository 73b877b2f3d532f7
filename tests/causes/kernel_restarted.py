"""What is, and what is not, `kernel-restarted`."""

from holter.model.evidence import KernelEvent
from tests.causes.example import Example
from tests.causes.specimens import END_NS, before, evidence, exited, failed, signalled

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
