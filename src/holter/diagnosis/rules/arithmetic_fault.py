"""Native code divided an integer by zero, or the smallest one by -1, and Linux ended the process.

Floating-point numbers become infinite or NaN instead, unless the program or a library has asked for traps
(`feenableexcept`). An empty batch, a length or stride of 0 and a modulus of 0 are the usual reasons. Python's own
division raises ZeroDivisionError.

Check for sizes of 0 before the call into the library that the stack names.
"""

import signal

from holter.diagnosis import crashes
from holter.diagnosis.grades import EVEN
from holter.diagnosis.remedies import program
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer

ADVICE = (
    "check for integer division by zero in native code: an empty array or a length of 0",
    program.see_native_stack,
)
_OF_INTEGERS = "divided integers by zero"
WHAT = {
    1: _OF_INTEGERS,
    2: _OF_INTEGERS,
    3: "divided floating-point numbers by zero, which it had asked to trap,",
    4: "had a floating-point overflow, which it had asked to trap,",
    7: "had an invalid floating-point operation, which it had asked to trap,",
}
"""By the code of the signal."""
hides_behind = crashes.behind_a_kill(signal.SIGFPE, EVEN)
"""Linux writes down a division of integers; floating point, for which a program has to ask, traps in silence."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGFPE that a fault raised."""
    crash = crashes.crash_of(evidence, signal.SIGFPE)
    if crash is None:
        return None
    caught = crash.ending.caught
    what = WHAT.get(caught.code) if caught is not None and not caught.is_sent else None
    return crashes.told(evidence, crash, f"{what or 'divided by zero'} in native code{crashes.where(evidence, crash)}")
