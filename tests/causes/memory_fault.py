"""What is, and what is not, `memory-fault`."""

from holter.model.evidence import KernelLine, KernelLog
from tests.causes.example import Example
from tests.causes.specimens import PID, before, caught, evidence, exited, signalled


def _hardware(text: str, *, before_s: float = 0.5, pid: int = 0) -> KernelLog:
    return KernelLog(lines=(KernelLine(at_ns=before(before_s), kind="hardware", pid=pid, text=text),))


_KILLING = "Memory failure: 0x1f2e3: Killing python:812 due to hardware memory corruption"

EXAMPLES = [
    Example(evidence(signalled(7, signals=(caught(7, code=4, address=0x7F0000001000),))), fires=True),
    Example(evidence(signalled(7), kernel_log=_hardware(_KILLING, pid=PID)), fires=True),
    # A truncated file or a full /dev/shm.
    Example(evidence(signalled(7, signals=(caught(7, code=2, address=0x7F0000001000),))), fires=False),
    # Corrected errors, and a death of another kind.
    Example(evidence(signalled(7), kernel_log=_hardware("EDAC MC0: 1 CE memory read error on DIMM_A1")), fires=False),
    Example(
        evidence(signalled(11, signals=(caught(11, code=1),)), kernel_log=_hardware(_KILLING, before_s=4000)),
        fires=False,
    ),
    Example(evidence(signalled(7)), fires=False),
    Example(evidence(exited(1), kernel_log=_hardware(_KILLING)), fires=False),
]
