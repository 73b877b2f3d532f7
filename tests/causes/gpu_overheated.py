"""What is, and what is not, `gpu-overheated`."""

from holter.model.evidence import GpuEvents, KernelLine
from tests.causes.example import Example
from tests.causes.specimens import before, evidence, exited, failed

_LOST = failed("RuntimeError", "CUDA error: unknown error")

_XID = KernelLine(at_ns=before(1), kind="xid", number=79, text="GPU has fallen off the bus.")

EXAMPLES = [
    Example(
        evidence(_LOST, gpu=GpuEvents(xids=(_XID,), lost=(0,), hottest_c=97, slowdown_c=92, thermal_slowdown_s=600)),
        fires=True,
    ),
    # It fell off the bus while cool.
    Example(evidence(_LOST, gpu=GpuEvents(xids=(_XID,), lost=(0,), hottest_c=61, slowdown_c=92)), fires=False),
    # It was hot, and the program failed for a reason of its own.
    Example(evidence(failed("KeyError", "'lr'"), gpu=GpuEvents(lost=(1,), hottest_c=95, slowdown_c=92)), fires=False),
    Example(evidence(_LOST, gpu=GpuEvents(hottest_c=95, slowdown_c=92, thermal_slowdown_s=600)), fires=False),
    Example(evidence(exited(0), gpu=GpuEvents(hottest_c=97, slowdown_c=92)), fires=False),
]
