"""Xid numbers and the words of GPU libraries: which speak of the program, and which of the hardware."""

from collections.abc import Iterator

from holter.diagnosis.phrases.tags import says
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
    return says(foreign_text(end.raised), "gpu-spoken-of")
