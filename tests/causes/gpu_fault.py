"""What is, and what is not, `gpu-fault`."""

from holter.model.evidence import GpuEvents, KernelLine, KernelLog
from tests.causes.example import Example
from tests.causes.specimens import PID, before, evidence, exited, failed, said, signalled


def _xid(number: int, *, before_s: float = 1.0, pid: int = 0) -> KernelLine:
    return KernelLine(
        at_ns=before(before_s), kind="xid", number=number, pid=pid, text=f"Xid (PCI:0000:00:06): {number}"
    )


_UNKNOWN = failed("RuntimeError", "CUDA error: unknown error")

EXAMPLES = [
    Example(evidence(_UNKNOWN, gpu=GpuEvents(xids=(_xid(79),), lost=(0,))), fires=True),
    Example(evidence(_UNKNOWN, kernel_log=KernelLog(lines=(_xid(48, pid=PID),))), fires=True),
    Example(evidence(failed("RuntimeError", "CUDA error: uncorrectable ECC error encountered")), fires=True),
    # The program's own mistake.
    Example(
        evidence(failed("torch.AcceleratorError", "CUDA error: device-side assert"), gpu=GpuEvents(xids=(_xid(43),))),
        fires=False,
    ),
    # A row was remapped hours ago; this exception is about something else.
    Example(evidence(failed("KeyError", "'lr'"), gpu=GpuEvents(xids=(_xid(63, before_s=9000),))), fires=False),
    Example(evidence(_UNKNOWN), fires=False),
    # Another job's card, and a kill by hand.
    Example(evidence(signalled(9), gpu=GpuEvents(xids=(_xid(94, pid=77),))), fires=False),
    Example(evidence(exited(0), gpu=GpuEvents(lost=(3,))), fires=False),
    Example(evidence(signalled(9), said=(said("NVRM: Xid (PCI:0000:00:06): 79"),)), fires=False),
]
