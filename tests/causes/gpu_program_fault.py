"""What is, and what is not, `gpu-program-fault`."""

from holter.model.evidence import GpuEvents, KernelLine
from tests.causes.example import Example
from tests.causes.specimens import PID, before, evidence, failed, said, signalled

_XID_31 = KernelLine(at_ns=before(1), kind="xid", number=31, pid=PID, text="NVRM: Xid (PCI:0000:00:06): 31, pid=812")

_XID_79 = KernelLine(at_ns=before(1), kind="xid", number=79, text="NVRM: Xid (PCI:0000:00:06): 79, GPU has fallen off")

EXAMPLES = [
    Example(evidence(failed("torch.AcceleratorError", "CUDA error: device-side assert triggered")), fires=True),
    Example(
        evidence(failed("RuntimeError", "CUDA error: an illegal memory access"), gpu=GpuEvents(xids=(_XID_31,))),
        fires=True,
    ),
    Example(evidence(signalled(6), said=(said("what():  CUDA error: device-side assert triggered"),)), fires=True),
    # The card itself failed.
    Example(evidence(failed("RuntimeError", "CUDA error: unknown error"), gpu=GpuEvents(xids=(_XID_79,))), fires=False),
    # The words of a test, an hour before a kill.
    Example(
        evidence(signalled(9), said=(said("CUDA error: device-side assert triggered", before_s=3600),)), fires=False
    ),
    Example(
        evidence(failed("RuntimeError", "device-side assert triggered", statement="raise RuntimeError(text)")),
        fires=False,
    ),
    # What PyTorch says below each of its errors.
    Example(
        evidence(
            failed(
                "torch.AcceleratorError",
                "CUDA error: invalid device ordinal\nCompile with "
                "`TORCH_USE_CUDA_DSA` to enable device-side assertions.",
            )
        ),
        fires=False,
    ),
    Example(evidence(failed("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB")), fires=False),
]
