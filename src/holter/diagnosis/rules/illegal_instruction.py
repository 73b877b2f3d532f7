"""The processor met an instruction that it does not have, and Linux ended the process.

The library was built for a newer processor (AVX2, AVX-512, AMX), or the program jumped to where no code is. Compilers
also put such an instruction where code must never arrive.

Install a build for this processor, or set the variable with which the library chooses its instructions.
"""

import signal

from holter.diagnosis import crashes, words
from holter.diagnosis.crashes import may_be_untold
from holter.diagnosis.remedies.program import match_versions
from holter.diagnosis.rivals import UNLIKELY
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

CAUSE = "illegal-instruction"
ADVICE = (
    "install a build for this processor: wheels with AVX-512 or AVX2 fail on an older one (see lscpu)",
    match_versions,
)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGILL that a fault raised."""
    crash = crashes.crash_of(evidence, signal.SIGILL)
    if crash is None:
        return None
    who = words.process(evidence.subject)
    title = f"{who} met an instruction that this processor does not have{crashes.where(evidence, crash)}"
    return Verdict(
        cause=CAUSE,
        grade=crash.grade,
        title=words.sentence(title),
        because=crashes.because(evidence, crash),
    )


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Linux is silent about a fault for which there is a handler, and one may have been set in the last moment."""
    return UNLIKELY if verdict.cause == "killed" and may_be_untold(evidence, signal.SIGILL) else None
