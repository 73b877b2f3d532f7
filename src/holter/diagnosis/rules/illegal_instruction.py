"""The processor met an instruction that it does not have, and Linux ended the process.

The library was built for a newer processor (AVX2, AVX-512, AMX), or the program jumped to where no code is. Compilers
also put such an instruction where code must never arrive.

Install a build for this processor, or set the variable with which the library chooses its instructions.
"""

import signal

from holter.diagnosis import crashes
from holter.diagnosis.grades import UNLIKELY
from holter.diagnosis.remedies import program
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer

ADVICE = (
    "install a build for this processor: wheels with AVX-512 or AVX2 fail on an older one (see lscpu)",
    program.match_versions,
)
hides_behind = crashes.behind_a_kill(signal.SIGILL, UNLIKELY)
"""Linux is silent about a fault for which there is a handler, and one may have been set in the last moment."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGILL that a fault raised."""
    crash = crashes.crash_of(evidence, signal.SIGILL)
    if crash is None:
        return None
    what = "met an instruction that this processor does not have"
    return crashes.told(evidence, crash, f"{what}{crashes.where(evidence, crash)}")
