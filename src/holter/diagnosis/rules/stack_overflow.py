"""A thread's stack overflowed: native code called itself too deeply, or put too large an array on the stack.

Python stops its own recursion with a RecursionError; this happens in native code, in pickle and deep copies of deeply
nested objects, after a high `sys.setrecursionlimit`, and sooner in threads, whose stacks are small.

Turn the recursion into a loop, lower the recursion limit, or raise the stack (`ulimit -s`, `threading.stack_size`).
"""

import signal

from holter.diagnosis import crashes, words
from holter.diagnosis.grades import COUNTED, INFERRED, LIKELY, NAMED
from holter.diagnosis.remedies.limits import raise_stack
from holter.diagnosis.remedies.program import see_native_stack
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

CAUSE = "stack-overflow"
ADVICE = (raise_stack, see_native_stack)
SEEN, LOGGED, LOGGED_OF_A_THREAD, SILENCED, DEEP = NAMED, COUNTED, LIKELY, INFERRED, INFERRED
DEPTH = 95


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGSEGV beside the stack pointer or in a frame below the stack, where nothing is mapped.

    Less surely where the witness's handler was in place and did not run.
    """
    crash = crashes.crash_of(evidence, signal.SIGSEGV, signal.SIGBUS)
    if crash is None:
        return None
    if crashes.is_beside_the_stack(crash):
        return _verdict(evidence, crash, min(_grade(crash), crash.ending.certainty))
    if crashes.has_silenced_witness(evidence, crash):
        return _verdict(evidence, crash, SILENCED)
    is_deep = crash.address is None and crashes.stack_depth(evidence.subject.fault_log) >= DEPTH
    return _verdict(evidence, crash, DEEP) if is_deep else None


def _grade(crash: crashes.Crash) -> Grade:
    if crash.ending.caught:
        return SEEN
    return LOGGED if crash.line is not None and crash.line.pid else LOGGED_OF_A_THREAD


def _verdict(evidence: Evidence, crash: crashes.Crash, grade: Grade, /) -> Verdict:
    end = evidence.subject
    caught = crash.ending.caught
    is_seen_there = caught is not None and caught.thread not in (0, end.pid)
    # The main thread has another stack for its handlers.
    whose = "a thread's" if is_seen_there or crashes.has_silenced_witness(evidence, crash) else "its"
    around = evidence.surroundings
    size = (
        f" of {words.size(around.stack_limit_bytes)}" if around and around.stack_limit_bytes and whose == "its" else ""
    )
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=words.sentence(f"{words.process(end)} overflowed {whose} stack{size}{crashes.where(evidence, crash)}"),
        because=crashes.because(evidence, crash),
    )
