"""The process ended itself with `abort()`: a library found something that it could not go on with.

C++ does so for an exception that nobody catches, the C library for a damaged heap (`free(): invalid pointer`), Python
for a fatal error of its own, CUDA and NCCL for failures on other threads. What was printed last says which.

Read the last lines that were printed; for a damaged heap run once with `MALLOC_CHECK_=3`.
"""

import signal

from holter.diagnosis import crashes, facts, words
from holter.diagnosis.grades import CONSISTENT, INFERRED, NAMED
from holter.diagnosis.remedies.program import UPDATE_NATIVE_LIBRARY, check_heap, look_at_output, see_native_stack
from holter.diagnosis.texts import last_words
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Verdict

CAUSE = "aborted"
GENERALITY = 1
ADVICE = (look_at_output, see_native_stack, check_heap, UPDATE_NATIVE_LIBRARY)
SEEN, EXPLAINED, BYPASSED, BY_STATUS = NAMED, CONSISTENT, CONSISTENT, INFERRED
"""Where the witness saw it; where its last words are known, after which anybody may still have sent the signal; where
the witness was there and did not see it arrive, since an interpreter that gives up takes all handlers down first, and
who sends a signal does not; by the exit status alone."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGABRT that the process raised itself."""
    crash = crashes.crash_of(evidence, signal.SIGABRT)
    if crash is None:
        return None
    end, line = evidence.subject, last_words(evidence, "aborts")
    unexplained = BYPASSED if crash.ending.is_bypassed else BY_STATUS
    grade = SEEN if crash.ending.caught else EXPLAINED if line else unexplained
    because = [*crashes.because(evidence, crash), *([facts.of_console(line)] if line else [])]
    said = f": {words.quote(line.text, 160)}" if line else crashes.where(evidence, crash)
    return Verdict(
        cause=CAUSE,
        grade=min(grade, crash.ending.certainty),
        title=words.sentence(f"{words.process(end)} aborted itself{said}"),
        because=tuple(because)[:5],
    )
