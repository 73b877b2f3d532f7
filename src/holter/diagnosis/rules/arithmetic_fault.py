"""Native code divided an integer by zero, or the smallest one by -1, and Linux ended the process.

Floating-point numbers become infinite or NaN instead, unless the program or a library has asked for traps
(`feenableexcept`). An empty batch, a length or stride of 0 and a modulus of 0 are the usual reasons. Python's own
division raises ZeroDivisionError.

Check for sizes of 0 before the call into the library that the stack names.
"""

import signal

from holter.diagnosis import crashes, words
from holter.diagnosis.crashes import may_be_untold
from holter.diagnosis.remedies.program import see_native_stack
from holter.diagnosis.rivals import EVEN
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

CAUSE = "arithmetic-fault"
ADVICE = ("check for integer division by zero in native code: an empty array or a length of 0", see_native_stack)
OF_INTEGERS = (1, 2)
OF_FLOATS: dict[int | None, str] = {
    3: "divided floating-point numbers by zero, which it had asked to trap,",
    4: "had a floating-point overflow, which it had asked to trap,",
    7: "had an invalid floating-point operation, which it had asked to trap,",
}
"""By the code of the signal."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGFPE that a fault raised."""
    crash = crashes.crash_of(evidence, signal.SIGFPE)
    if crash is None:
        return None
    who = words.process(evidence.subject)
    return Verdict(
        cause=CAUSE,
        grade=crash.grade,
        title=words.sentence(f"{who} {_what(crash)} in native code{crashes.where(evidence, crash)}"),
        because=crashes.because(evidence, crash),
    )


def _what(crash: crashes.Crash) -> str:
    caught = crash.ending.caught
    code = caught.code if caught is not None and not caught.is_sent else None
    return "divided integers by zero" if code in OF_INTEGERS else OF_FLOATS.get(code, "divided by zero")


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Linux writes down a division of integers; floating point, for which a program has to ask, traps in silence."""
    return EVEN if verdict.cause == "killed" and may_be_untold(evidence, signal.SIGFPE) else None
