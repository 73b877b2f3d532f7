"""Native code touched memory that is not its own, and Linux ended the process.

Python code alone can't do that: it was a library in C, C++ or CUDA, or ctypes. The stack of Python at that moment names
the call that led into it.

Look at that call, update or pin the library, and try it without its GPU or thread pool.
"""

import signal

from holter.diagnosis import crashes, words
from holter.diagnosis.crashes import may_be_untold
from holter.diagnosis.grades import CONSISTENT, REMOTE
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.remedies.program import UPDATE_NATIVE_LIBRARY, match_versions, see_native_stack
from holter.diagnosis.rivals import UNLIKELY
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, RuledOut, Verdict

CAUSE = "segmentation-fault"
GENERALITY = 1
ADVICE = (see_native_stack, UPDATE_NATIVE_LIBRARY, match_versions, resume)
IN_A_FRAME, SILENCED = CONSISTENT, REMOTE
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
        grade=_grade(evidence, crash),
        title=words.sentence(
            f"{words.process(evidence.subject)} crashed in native code{_how(crash)}{crashes.where(evidence, crash)}"
        ),
        because=crashes.because(evidence, crash),
    )


def _grade(evidence: Evidence, crash: crashes.Crash) -> Grade:
    if crashes.has_silenced_witness(evidence, crash):
        return min(crash.grade, SILENCED)
    return min(crash.grade, IN_A_FRAME) if crashes.may_be_in_a_frame(crash) else crash.grade


def _how(crash: crashes.Crash) -> str:
    if crash.address is None:
        return " (segmentation fault)"
    if crash.address < crashes.NULL_PAGE:
        return f" by using a null pointer (address {crash.address:#x})"
    return f" by touching memory that is not its own (address {crash.address:#x})"


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Linux is silent about a fault for which there is a handler, and one may have been set in the last moment."""
    return UNLIKELY if verdict.cause == "killed" and may_be_untold(evidence, signal.SIGSEGV) else None
