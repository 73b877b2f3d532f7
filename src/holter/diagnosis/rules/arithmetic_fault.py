"""Native code divided an integer by zero, or the smallest one by -1, and the kernel ended the process.

Floating-point numbers become infinite or NaN instead; only integers do this. An empty batch, a length or stride of 0
and a modulus of 0 are the usual reasons. Python's own division raises ZeroDivisionError.

Check for sizes of 0 before the call into the library that the stack names.
"""

import signal

from holter.diagnosis import crashes, words
from holter.diagnosis.advice import advise
from holter.diagnosis.specimens import caught, evidence, failed, signalled
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Example, Verdict

CAUSE = "arithmetic-fault"


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGFPE that a fault raised."""
    crash = crashes.crash_of(evidence, signal.SIGFPE)
    if crash is None:
        return None
    who = words.process(evidence.subject)
    return Verdict(
        cause=CAUSE,
        confidence=crash.confidence,
        title=words.sentence(f"{who} divided integers by zero in native code{crashes.where(evidence, crash)}"),
        because=crashes.because(evidence, crash),
        advice=advise(CAUSE, evidence),
    )


EXAMPLES = [
    Example(evidence(signalled(8, signals=(caught(8, code=1, address=0x5000, stack_pointer=0x7FFD),))), fires=True),
    Example(evidence(signalled(8)), fires=True),
    Example(evidence(signalled(8, signals=(caught(8, sender_pid=77),))), fires=False),
    Example(evidence(failed("ZeroDivisionError", "division by zero")), fires=False),
]
