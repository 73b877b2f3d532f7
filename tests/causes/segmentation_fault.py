"""What is, and what is not, `segmentation-fault`."""

from holter.model.evidence import KernelLine, KernelLog
from tests.causes.example import Example
from tests.causes.specimens import END_NS, PID, caught, evidence, exited, gone, in_a_large_frame, signalled

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
