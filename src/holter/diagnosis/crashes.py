"""Reads a fault of native code: where it was, whether somebody only sent the signal, and what was printed about it."""

import signal
from collections.abc import Callable

import msgspec

from holter.diagnosis import facts, words
from holter.diagnosis.endings import Ending, ending_of
from holter.diagnosis.fault_stacks import stack_at_fault
from holter.diagnosis.grades import CONSISTENT, INFERRED, NAMED
from holter.diagnosis.phrases.tags import tags_in
from holter.model.evidence import Caught, End, Evidence, KernelLine
from holter.model.verdicts import Fact, Grade, Verdict

SEEN, LOGGED, LOGGED_OF_A_THREAD, BY_STATUS = NAMED, NAMED, CONSISTENT, INFERRED
"""With the witness inside the process; with Linux's line about the fault, or about one of some thread; with the
exit status and Python's stacks alone: anybody can send such a signal, and a stack that ran over looks the same."""
STACK_NEAR = 64 * 1024
NULL_PAGE = 64 * 1024
THREAD_HEAD = 2048
"""At least so much of its own lies between a thread's first frame and the upper end of its stack."""
LARGEST_FRAME = 2**30
NEAR_NS = 10_000_000_000
THREAD_NEAR_NS = 1_000_000_000
TOLD = frozenset({signal.SIGSEGV, signal.SIGFPE, signal.SIGILL})
"""Faults that Linux writes down, where it does so at all."""
_TOLD_BY = {
    "segfault at": signal.SIGSEGV,
    "general protection": signal.SIGSEGV,
    "divide error": signal.SIGFPE,
    "invalid opcode": signal.SIGILL,
}


class Crash(msgspec.Struct, frozen=True, kw_only=True):
    """A fatal signal that a fault in the process raised, as far as can be seen."""

    ending: Ending
    grade: Grade
    address: int | None = None
    stack_pointer: int | None = None
    library: str = ""
    """The file of the code that faulted."""
    is_past_the_stack: bool | None = None
    """Whether the stack pointer of the first thread was lower than its stack may reach; None where that is unknown, or
    another thread's."""
    line: KernelLine | None = None


def crash_of(evidence: Evidence, *signals: int) -> Crash | None:
    """A fault of one of these signals; None where another end is known, or another process sent the signal."""
    ending = ending_of(evidence)
    if ending is None or ending.signal not in signals or ending.is_sent or is_untold(evidence, ending):
        return None
    caught = ending.caught
    if caught is not None:
        return Crash(
            ending=ending,
            grade=min(BY_STATUS if ending.is_raised_again else SEEN, ending.certainty),
            address=caught.address,
            stack_pointer=caught.stack_pointer or None,
            library="".join(caught.instruction_mapping.split(None, 5)[5:]).strip(),
        )
    return _without_witness(evidence, ending)


def is_untold(evidence: Evidence, ending: Ending) -> bool:
    """Linux would have written down a fault, and has not: somebody sent the signal."""
    log, around = evidence.kernel_log, evidence.surroundings
    if ending.caught is not None or ending.signal not in TOLD or log is None or not log.tells_faults:
        return False
    has_no_handler = around is not None and around.heeded is not None and ending.signal not in around.heeded
    return has_no_handler and not evidence.subject.fault_log and _kernel_line(evidence) is None


def _without_witness(evidence: Evidence, ending: Ending) -> Crash:
    line = _kernel_line(evidence)
    found = tags_in(line.text).get("segfault") if line else None
    by_line = LOGGED if line and line.pid else LOGGED_OF_A_THREAD
    return Crash(
        ending=ending,
        grade=min(by_line if line else BY_STATUS, ending.certainty),
        address=int(found[1], 16) if found else None,
        stack_pointer=int(found[2], 16) if found else None,
        library=(found[3] or "") if found else "",
        is_past_the_stack=_is_past_the_stack(evidence, line.text, int(found[2], 16)) if line and found else None,
        line=line,
    )


def _is_past_the_stack(evidence: Evidence, text: str, stack_pointer: int, /) -> bool | None:
    around = evidence.surroundings
    is_of_the_first_thread = f"[{evidence.subject.pid}]" in text
    if not is_of_the_first_thread or around is None or not around.stack_start or not around.stack_limit_bytes:
        return None
    deep_bytes = around.stack_start - stack_pointer
    if not 0 <= deep_bytes <= around.stack_limit_bytes + LARGEST_FRAME:
        return None
    return deep_bytes >= around.stack_limit_bytes - STACK_NEAR


def is_beside_the_stack(crash: Crash) -> bool:
    """The address is just outside of the stack, or in a frame that was too large for it: it ran over."""
    if crash.address is None or not crash.stack_pointer or crash.address < NULL_PAGE:
        return False
    caught = crash.ending.caught
    is_free = caught is None or not caught.mapping or _is_guard(caught)
    is_near = abs(crash.address - crash.stack_pointer) < STACK_NEAR and crash.is_past_the_stack is not False
    is_near = is_near and not (_is_above(caught) if caught is not None else _may_be_above(crash))
    is_in_a_frame = _is_in_a_frame(caught) if caught is not None else bool(crash.is_past_the_stack)
    return is_free and (is_near or is_in_a_frame)


def may_be_in_a_frame(crash: Crash) -> bool:
    """The address lies above the stack pointer, where large arrays of a function are, and nobody saw what is there."""
    if crash.address is None or not crash.stack_pointer or crash.ending.caught is not None:
        return False
    return crash.is_past_the_stack is None and 0 <= crash.address - crash.stack_pointer <= LARGEST_FRAME


def has_silenced_witness(evidence: Evidence, crash: Crash) -> bool:
    """The witness's handler was in place and did not run: a thread whose stack is full has no room for it.

    It was gone where Linux wrote the fault down, which it does where there is no handler, and where Python was
    on its way out, which takes all handlers for faults along.
    """
    end, around = evidence.subject, evidence.surroundings
    has_been = around is not None and around.heeded is not None and crash.ending.signal in around.heeded
    is_told = crash.line is not None and bool(crash.line.pid)
    return crash.ending.is_bypassed and has_been and not (is_told or end.finished or end.fault_log)


def told(evidence: Evidence, crash: Crash, what: str, grade: Grade | None = None, /, *more: Fact | None) -> Verdict:
    """That the subject did this; `what` follows its name."""
    end = evidence.subject
    found = [facts.of_signal(crash.ending.caught), facts.of_kernel_line(crash.line)]
    found += [facts.of_status(end) if end.status is not None else None, _python_place(end)]
    because = [*(found if any(found) else [facts.of_status(end)]), *more]
    return Verdict(min(grade or crash.grade, crash.ending.certainty), f"{words.process(end)} {what}", because)


def behind_a_kill(number: int, left: Grade) -> Callable[[Verdict, Evidence], Grade | None]:
    """What `killed` is where such a fault would have ended it the same way, and Linux need not have written it down."""

    def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
        ending = ending_of(evidence)
        is_such = verdict.cause == "killed" and ending is not None and ending.signal == number
        return left if is_such and ending is not None and is_untold(evidence, ending) else None

    return hides_behind


def where(evidence: Evidence, crash: Crash) -> str:
    """` in libfoo.so, called from step (train.py:41)`, as far as it is known."""
    stack = stack_at_fault(evidence.subject.fault_log)
    library = crash.library.rpartition("/")[2]
    inside = f" in {library}" if library and not library.startswith("python") else ""
    how = "called from" if stack.is_of_the_dead else "while the first thread was at"
    return f"{inside}{f', {how} {stack.place}' if stack.place else ''}"


def _python_place(end: End) -> Fact | None:
    stack = stack_at_fault(end.fault_log)
    if not stack.frames:
        return None
    innermost = stack.frames[0].text
    called = f", called from {stack.place}" if stack.place != innermost else ""
    return facts.fact(facts.FAULT_LOG, end.at_ns, f"Python was at {innermost}{called}")


def stack_depth(fault_log: str) -> int:
    """How many frames of the thread that faulted the log shows; Python stops at 100."""
    return len(stack_at_fault(fault_log).frames)


def _is_in_a_frame(caught: Caught) -> bool:
    """Below the stack that Linux lets grow, but not below the stack pointer."""
    return not caught.mapping and caught.mapping_above.endswith("[stack]") and caught.address >= caught.stack_pointer


def _is_above(caught: Caught) -> bool:
    """Behind the stack's upper end, where nothing is mapped: a stack runs over at its lower end, and has a guard there
    unless Linux lets it grow."""
    is_growing = caught.mapping_above.endswith("[stack]")
    return not caught.mapping and not is_growing and caught.address > caught.stack_pointer


def _may_be_above(crash: Crash) -> bool:
    """Linux's line does not say what is mapped; beside the stack of a thread others' memory begins."""
    is_of_main = crash.line is not None and f"[{crash.line.pid}]" in crash.line.text
    return not is_of_main and (crash.address or 0) - (crash.stack_pointer or 0) >= THREAD_HEAD


def _is_guard(caught: Caught) -> bool:
    parts = caught.mapping.split()
    return len(parts) > 1 and parts[1].startswith("---")


def _fits(line: KernelLine, number: int | None) -> bool:
    """Whether such a line goes with this signal, where one is known: others' faults are in the log, too."""
    told = next((each for words_of_it, each in _TOLD_BY.items() if words_of_it in line.text), None)
    return number is None or told is None or told == number


def _kernel_line(evidence: Evidence) -> KernelLine | None:
    end, log = evidence.subject, evidence.kernel_log
    faults = [each for each in log.lines if each.kind == "fault" and _fits(each, end.signal)] if log else []
    own = [each for each in faults if each.pid == end.pid and abs(each.at_ns - end.at_ns) <= NEAR_NS]
    of_threads = [each for each in faults if not each.pid and abs(each.at_ns - end.at_ns) <= THREAD_NEAR_NS]
    return next(iter([*own, *of_threads]), None)
