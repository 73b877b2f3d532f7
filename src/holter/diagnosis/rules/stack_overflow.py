"""A thread's stack overflowed: native code called itself too deeply, or put too large an array on the stack.

Python stops its own recursion with a RecursionError; this happens in native code, in pickle and deep copies of deeply
nested objects, after a high `sys.setrecursionlimit`, and sooner in threads, whose stacks are small.

Turn the recursion into a loop, lower the recursion limit, or raise the stack (`ulimit -s`, `threading.stack_size`).
"""

import signal

from holter.diagnosis import crashes, words
from holter.diagnosis.grades import COUNTED, INFERRED, LIKELY, NAMED
from holter.diagnosis.remedies import limits, program
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, Verdict

ADVICE = (limits.raise_stack, program.see_native_stack)
DEPTH = 95


def diagnose(evidence: Evidence) -> Answer:
    """Fires on SIGSEGV beside the stack pointer or in a frame below the stack, where nothing is mapped.

    Less surely where the witness's handler was in place and did not run.
    """
    crash = crashes.crash_of(evidence, signal.SIGSEGV, signal.SIGBUS)
    if crash is None:
        return None
    if crashes.is_beside_the_stack(crash):
        by_line = COUNTED if crash.line is not None and crash.line.pid else LIKELY
        return _verdict(evidence, crash, NAMED if crash.ending.caught else by_line)
    is_deep = crash.address is None and crashes.stack_depth(evidence.subject.fault_log) >= DEPTH
    return _verdict(evidence, crash, INFERRED) if is_deep or crashes.has_silenced_witness(evidence, crash) else None


def _verdict(evidence: Evidence, crash: crashes.Crash, grade: Grade, /) -> Verdict:
    caught = crash.ending.caught
    is_seen_there = caught is not None and caught.thread not in (0, evidence.subject.pid)
    # The main thread has another stack for its handlers.
    is_of_a_thread = is_seen_there or crashes.has_silenced_witness(evidence, crash)
    own = f"its stack{words.sized(' of {}', evidence.around.stack_limit_bytes)}"
    whose = "a thread's stack" if is_of_a_thread else own
    return crashes.told(evidence, crash, f"overflowed {whose}{crashes.where(evidence, crash)}", grade)
