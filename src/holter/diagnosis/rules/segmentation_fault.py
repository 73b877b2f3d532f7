"""Native code touched memory that is not its own, and Linux ended the process.

Python code alone can't do that: it was a library in C, C++ or CUDA, or ctypes. The stack of Python at that moment names
the call that led into it.

Look at that call, update or pin the library, and try it without its GPU or thread pool.
"""

import signal

from holter.diagnosis import crashes
from holter.diagnosis.grades import CONSISTENT, REMOTE, UNLIKELY
from holter.diagnosis.remedies import outside, program
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, RuledOut

GENERALITY = 1
ADVICE = (program.see_native_stack, program.UPDATE_NATIVE_LIBRARY, program.match_versions, outside.resume)
hides_behind = crashes.behind_a_kill(signal.SIGSEGV, UNLIKELY)
"""Linux is silent about a fault for which there is a handler, and one may have been set in the last moment."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGSEGV that a fault raised and that no overflow of the stack explains."""
    crash = crashes.crash_of(evidence, signal.SIGSEGV)
    if crash is None:
        return None
    if crashes.is_beside_the_stack(crash):
        return RuledOut(because="the address lies just beside the stack pointer: the stack overflowed")
    grade = crash.grade  # where it may as well have been the stack that ran over, less
    if crashes.has_silenced_witness(evidence, crash):
        grade = REMOTE
    elif crashes.may_be_in_a_frame(crash):
        grade = min(grade, CONSISTENT)
    what = f"crashed in native code{_how(crash.address)}{crashes.where(evidence, crash)}"
    return crashes.told(evidence, crash, what, grade)


def _how(address: int | None) -> str:
    if address is None:
        return " (segmentation fault)"
    null = address < crashes.NULL_PAGE
    return f" by {'using a null pointer' if null else 'touching memory that is not its own'} (address {address:#x})"
