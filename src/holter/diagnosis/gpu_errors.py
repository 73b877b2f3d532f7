"""Xid numbers and the words of GPU libraries: which speak of the program, and which of the hardware."""

import re
from collections.abc import Iterator

from holter.diagnosis.texts import foreign_text
from holter.model.evidence import End, Evidence, KernelLine

PROGRAM_XIDS = {
    13: "an exception in GPU code",
    31: "an access to memory that is not there",
    43: "GPU code that stopped with an error",
}
HARDWARE_XIDS = {
    48: "an uncorrectable memory error",
    62: "an internal halt of a micro-controller",
    63: "a row of its memory that had to be remapped",
    64: "a row of its memory that could not be remapped",
    74: "an NVLink error",
    79: "it fell off the bus",
    92: "many corrected memory errors",
    94: "a contained memory error",
    95: "an uncontained memory error",
    109: "a context that could not be switched",
    119: "its system processor did not answer",
    120: "its system processor failed",
    140: "an unrecovered memory error",
    154: "it needs a reset",
}
OF_GPU = re.compile(r"CUDA|cuda|CUDNN|cuDNN|CUBLAS|cublas|NCCL|GPU|HIP error|AcceleratorError|XlaRuntimeError|NVML")
PROGRAM_FAULT = re.compile(
    r"device-side assert(?!ions)|illegal memory access|ILLEGAL_ADDRESS|unspecified launch failure"
    r"|CUDA_ERROR_LAUNCH_FAILED|misaligned address|illegal instruction was encountered|invalid program counter"
    r"|CUDA_ERROR_ASSERT|an illegal address"
    r"|hardware stack error|warp (?:out-of-range|illegal)"
)
"""Below each of its errors PyTorch says how `to enable device-side assertions`."""
HARDWARE_FAULT = re.compile(
    r"GPU is lost|fallen off the bus|uncorrectable ECC|ECC error|CUDA_ERROR_ECC|Unable to determine the device handle"
    r"|device (?:is )?unavailable due to|CUDA_ERROR_SYSTEM_NOT_READY|GPU requires reset"
)
NEAR_S = 300.0


def xids_near_end(evidence: Evidence, numbers: dict[int, str]) -> Iterator[KernelLine]:
    """Xids of these numbers in the last minutes of the subject, the latest first, each once."""
    end_ns = evidence.subject.at_ns
    own = (evidence.gpu.xids if evidence.gpu else ()) + (evidence.kernel_log.lines if evidence.kernel_log else ())
    seen = set()
    for line in sorted(own, key=lambda line: (-line.at_ns, not line.pid)):
        is_near = -5 <= (end_ns - line.at_ns) / 1e9 <= NEAR_S
        if line.number in numbers and is_near and line.number not in seen and line.kind == "xid":
            seen.add(line.number)
            yield line


def is_about_gpu(end: End) -> bool:
    """The exception that ended it speaks of a GPU; true also where it died without one."""
    if end.raised is None:
        return end.signal is not None
    return OF_GPU.search(foreign_text(end.raised)) is not None
