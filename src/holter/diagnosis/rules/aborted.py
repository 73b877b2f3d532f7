"""The process ended itself with `abort()`: a library found something that it could not go on with.

C++ does so for an exception that nobody catches, the C library for a damaged heap (`free(): invalid pointer`), Python
for a fatal error of its own, CUDA and NCCL for failures on other threads. What was printed last says which.

Read the last lines that were printed; for a damaged heap run once with `MALLOC_CHECK_=3`.
"""

import signal

from holter.diagnosis import crashes, facts, texts, words
from holter.diagnosis.grades import CONSISTENT, INFERRED, NAMED
from holter.diagnosis.remedies import program
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer

GENERALITY = 1
ADVICE = (program.look_at_output, program.see_native_stack, program.check_heap, program.UPDATE_NATIVE_LIBRARY)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGABRT that the process raised itself."""
    crash = crashes.crash_of(evidence, signal.SIGABRT)
    if crash is None:
        return None
    line = texts.last_words(evidence, "aborts")
    # An interpreter that gives up takes all handlers down first, so that the witness does not see the signal arrive.
    # Who sends one does not; but after last words that are known, anybody may still have.
    grade = NAMED if crash.ending.caught else CONSISTENT if line or crash.ending.is_bypassed else INFERRED
    said = f": {words.quote(line.text, 160)}" if line else crashes.where(evidence, crash)
    return crashes.told(evidence, crash, f"aborted itself{said}", grade, facts.of_console(line))
