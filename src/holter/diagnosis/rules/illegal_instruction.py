"""The processor met an instruction that it does not have, and Linux ended the process.

The library was built for a newer processor (AVX2, AVX-512, AMX), or the program jumped to where no code is. Compilers
also put such an instruction where code must never arrive.

Install a build for this processor, or set the variable with which the library chooses its instructions.
"""

import signal

from holter.diagnosis import crashes, words
from holter.diagnosis.advice import advise
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Verdict

CAUSE = "illegal-instruction"


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGILL that a fault raised."""
    crash = crashes.crash_of(evidence, signal.SIGILL)
    if crash is None:
        return None
    who = words.process(evidence.subject)
    title = f"{who} met an instruction that this processor does not have{crashes.where(evidence, crash)}"
    return Verdict(
        cause=CAUSE,
        confidence=crash.confidence,
        title=words.sentence(title),
        because=crashes.because(evidence, crash),
        advice=advise(CAUSE, evidence),
    )
