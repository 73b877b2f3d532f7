"""Native code touched memory that is not its own, and Linux ended the process.

Python code alone can't do that: it was a library in C, C++ or CUDA, or ctypes. The stack of Python at that moment names
the call that led into it.

Look at that call, update or pin the library, and try it without its GPU or thread pool.
"""

import signal

from holter.diagnosis import crashes, words
from holter.diagnosis.advice import advise
from holter.diagnosis.specimens import END_NS, PID, caught, evidence, exited, gone, in_a_large_frame, signalled
from holter.model.evidence import Evidence, KernelLine, KernelLog
from holter.model.verdicts import Answer, Example, RuledOut, Verdict

CAUSE = "segmentation-fault"
IN_A_FRAME, SILENCED = 0.85, 0.5
"""Where it may as well have been the stack that ran over."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGSEGV that a fault raised and that no overflow of the stack explains."""
    crash = crashes.crash_of(evidence, signal.SIGSEGV)
    if crash is None:
        return None
    if crashes.is_beside_the_stack(crash):
        return RuledOut(cause=CAUSE, because="the address lies just beside the stack pointer: the stack overflowed")
    return Verdict(
        cause=CAUSE,
        confidence=_confidence(evidence, crash),
        title=words.sentence(
            f"{words.process(evidence.subject)} crashed in native code{_how(crash)}{crashes.where(evidence, crash)}"
        ),
        because=crashes.because(evidence, crash),
        advice=advise(CAUSE, evidence),
    )


def _confidence(evidence: Evidence, crash: crashes.Crash) -> float:
    if crashes.has_silenced_witness(evidence, crash):
        return min(crash.confidence, SILENCED)
    return min(crash.confidence, IN_A_FRAME) if crashes.may_be_in_a_frame(crash) else crash.confidence


def _how(crash: crashes.Crash) -> str:
    if crash.address is None:
        return " (segmentation fault)"
    if crash.address < crashes.NULL_PAGE:
        return f" by using a null pointer (address {crash.address:#x})"
    return f" by touching memory that is not its own (address {crash.address:#x})"


_STACK = (
    "Fatal Python error: Segmentation fault\n\nCurrent thread 0x01 (most recent call first):\n"
    '  File "/home/ada/train.py", line 41 in step\n'
)
_NULL = caught(11, code=1, address=0, stack_pointer=0x7FFD_0000_0000)
_LINE = KernelLine(
    at_ns=END_NS,
    kind="fault",
    pid=PID,
    text=f"python3[{PID}]: segfault at 10 ip 0f sp 7ffd00 error 4 in libfoo.so[7f0]",
)
EXAMPLES = [
    Example(evidence(signalled(11, signals=(_NULL,), fault_log=_STACK)), fires=True),
    Example(evidence(signalled(11), kernel_log=KernelLog(lines=(_LINE,))), fires=True),
    Example(evidence(signalled(139)), fires=True),
    # Nobody could read the status, but the witness saw it arrive last.
    Example(evidence(gone(signals=(_NULL,), has_signal_witness=True)), fires=True),
    Example(evidence(signalled(11, signals=(caught(11, sender_pid=77, sender="bash"),))), fires=False),
    Example(
        evidence(signalled(11, signals=(caught(11, code=1, address=0x7FFD_0000, stack_pointer=0x7FFD_0100),))),
        fires=False,
    ),
    # An array on the stack that is larger than the stack.
    Example(evidence(signalled(11, signals=(in_a_large_frame(),))), fires=False),
    # A Java virtual machine in the process lives on such signals.
    Example(evidence(exited(1, signals=(caught(11, code=1, is_handled=True),))), fires=False),
    Example(evidence(signalled(9)), fires=False),
]
