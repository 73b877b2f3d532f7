"""What is, and what is not, `stack-overflow`."""

import msgspec

from holter.model.evidence import KernelLine, KernelLog, Surroundings
from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import END_NS, PID, caught, evidence, failed, in_a_large_frame, signalled

_OVER = caught(11, code=1, address=0x7FFD_0000_0F00, stack_pointer=0x7FFD_0000_1000)

_THREAD = caught(
    11, code=2, thread=813, address=0x7F10_0000_0F00, stack_pointer=0x7F10_0000_1000, mapping="7f1-7f2 ---p 0 0 0"
)

_LINE = f"python3[{PID}]: segfault at 7ffd00000f00 ip 00 sp 7ffd00001000 error 6 in libfoo.so[7f0]"

_AT_NULL = f"python3[{PID}]: segfault at 10 ip 00 sp 7ffd00001000 error 6 in libfoo.so[7f0]"

_IN_FRAME = f"python3[{PID}]: segfault at 7ffd00800ff8 ip 00 sp 7ffd00000000 error 6 in libfoo.so[7f0]"

_BOUNDS = Surroundings(stack_limit_bytes=2**23, stack_start=0x7FFD_0081_0000)

_FRAMES = "".join('  File "/home/ada/train.py", line 9 in walk\n' for _ in range(100))

EXAMPLES = [
    Example(evidence(signalled(11, signals=(_OVER,)), surroundings=Surroundings(stack_limit_bytes=2**23)), fires=True),
    Example(evidence(signalled(11, signals=(_THREAD,))), fires=True),
    # An array that is larger than what is left of the stack; and a wild pointer into the same place.
    Example(evidence(signalled(11, signals=(in_a_large_frame(),))), fires=True),
    Example(
        evidence(signalled(11, signals=(msgspec.structs.replace(in_a_large_frame(), stack_pointer=0x7FFD_00A0_0000),))),
        fires=False,
    ),
    # A thread of C has no other stack for a handler; and a program that has taken the handler away.
    Example(evidence(signalled(11, has_signal_witness=True), surroundings=Surroundings(heeded=(2, 11))), fires=True),
    Example(evidence(signalled(11, has_signal_witness=True), surroundings=Surroundings(heeded=(2,))), fires=False),
    # A handler that was gone: Python had taken it down at its exit, or the kernel would not have written of the fault.
    Example(
        evidence(
            signalled(11, has_signal_witness=True, finished=Finished(at_ns=END_NS, how="atexit")),
            surroundings=Surroundings(heeded=(2, 11)),
        ),
        fires=False,
    ),
    Example(
        evidence(
            signalled(11, has_signal_witness=True),
            surroundings=Surroundings(heeded=(2, 11)),
            kernel_log=KernelLog(lines=(KernelLine(at_ns=END_NS, kind="fault", pid=PID, text=_AT_NULL),)),
        ),
        fires=False,
    ),
    Example(
        evidence(
            signalled(11), kernel_log=KernelLog(lines=(KernelLine(at_ns=END_NS, kind="fault", pid=PID, text=_LINE),))
        ),
        fires=True,
    ),
    # An array on the stack, of which the kernel's line tells how deep it reached; and one that reached less deep.
    Example(
        evidence(
            signalled(11),
            kernel_log=KernelLog(lines=(KernelLine(at_ns=END_NS, kind="fault", pid=PID, text=_IN_FRAME),)),
            surroundings=_BOUNDS,
        ),
        fires=True,
    ),
    Example(
        evidence(
            signalled(11),
            kernel_log=KernelLog(lines=(KernelLine(at_ns=END_NS, kind="fault", pid=PID, text=_LINE),)),
            surroundings=Surroundings(stack_limit_bytes=2**23, stack_start=0x7FFD_0000_F000),
        ),
        fires=False,
    ),
    # Some thread's, of this process or of another that is gone as well.
    Example(
        evidence(signalled(11), kernel_log=KernelLog(lines=(KernelLine(at_ns=END_NS, kind="fault", text=_LINE),))),
        fires=True,
    ),
    Example(evidence(signalled(11, fault_log=f"Current thread 0x01 (most recent call first):\n{_FRAMES}")), fires=True),
    Example(evidence(signalled(11, signals=(caught(11, code=1, address=8, stack_pointer=0x7FFD),))), fires=False),
    Example(evidence(signalled(11, signals=(caught(11, sender_pid=77),))), fires=False),
    Example(evidence(failed("RecursionError", "maximum recursion depth exceeded")), fires=False),
]
