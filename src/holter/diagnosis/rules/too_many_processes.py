"""The program, or its user, had as many processes and threads as are allowed, and could not start another.

Each data-loader worker starts its own threads for OpenMP and BLAS; `ulimit -u` counts all threads of the user on the
machine, `pids.max` those of the container.

Set `OMP_NUM_THREADS=1` in the workers, start fewer of them, or raise the limit (`ulimit -u`, `--pids-limit`).
"""

import errno

from holter.diagnosis import errnos, facts, words
from holter.diagnosis.causality.ends import left_with
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY, NAMED
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies.limits import fewer_threads
from holter.diagnosis.remedies.memory import fewer_workers
from holter.diagnosis.rivals import OPEN, UNLIKELY
from holter.diagnosis.texts import foreign_text, last_words, line_near_end, may_be_error, says_at_its_end
from holter.model.evidence import Evidence, Said
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, Verdict

CAUSE = "too-many-processes"
ADVICE = (fewer_threads, fewer_workers)
CURVES = ("processes",)
SEEN, BY_NUMBER, BY_WORDS, PRINTED_AND_SEEN, PRINTED = NAMED, COUNTED, CONSISTENT, COUNTED, LIKELY
NEAR = 0.9
"""Of the limit in use, as it was when somebody looked: some threads have ended by then."""
ADDRESSES_NEAR = 0.75
"""A stack is asked for at once: a large part of the address space may be left, and still too little."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires where a fork or a thread was refused."""
    raised = evidence.subject.raised
    if raised is None:
        line = _said(evidence) if left_with(evidence.subject) else None
        if line is None:
            return None
        return _verdict(evidence, PRINTED_AND_SEEN if _is_near(evidence) else PRINTED, [facts.of_console(line)])
    grade = _grade(evidence, raised)
    if grade is None:
        return None
    return _verdict(evidence, grade, [facts.of_exception(raised, is_type_decisive=grade != BY_WORDS)])


def _said(evidence: Evidence) -> Said | None:
    """On stderr; or as its last words, where both streams are one."""
    line = line_near_end(evidence, "start-refused")
    if line is not None and line.is_error:
        return line
    last = last_words(evidence, "start-refused")
    return last if last is not None and may_be_error(evidence, last) else None


def _grade(evidence: Evidence, raised: Raised) -> Grade | None:
    """None where it is about something else: a socket that would block, or a stack for which there is no memory."""
    if says(foreign_text(raised), "thread-refused"):
        if _is_near(evidence):
            return SEEN
        return None if _is_out_of_addresses(evidence) else BY_WORDS
    number = errnos.find_errno(raised, errno.EAGAIN)
    if number is None or not number.is_sure or not says(raised.traceback, "in-a-fork"):
        return None
    return SEEN if _is_near(evidence) else BY_NUMBER


def _is_near(evidence: Evidence) -> bool:
    around = evidence.surroundings
    if around is None or around.threads is None or not around.threads_limit:
        return False
    return around.threads >= NEAR * around.threads_limit or around.threads_limit - around.threads <= 2


def _is_out_of_addresses(evidence: Evidence) -> bool:
    around = evidence.surroundings
    if around is None or around.address_space_bytes is None or not around.address_space_limit_bytes:
        return False
    return around.address_space_bytes >= ADDRESSES_NEAR * around.address_space_limit_bytes


def _verdict(evidence: Evidence, grade: Grade, found: list[Fact], /) -> Verdict:
    end, around = evidence.subject, evidence.surroundings
    seen, limit = [], ""
    if around is not None and around.threads is not None and around.threads_limit is not None:
        is_near = _is_near(evidence)
        limit = f": {around.threads:,} of {around.threads_limit:,} were in use" if is_near else ""
        when = "" if is_near else " when they were last counted"
        text = f"{around.threads:,} of {around.threads_limit:,} processes and threads were in use{when}"
        seen = [facts.fact(facts.LIMITS, end.raised.at_ns if end.raised else end.at_ns, text)]
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=words.sentence(f"{words.process(end)} could not start another process or thread{limit}"),
        because=(*found, *seen, facts.of_status(end)),
    )


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program may say it at its end and nobody looked; native code that leaves by itself says so on a console that
    nobody kept."""
    has_left_unseen = verdict.cause == "nonzero-exit" and evidence.subject.finished is None and not evidence.said
    is_busy = errnos.find_errno(evidence.subject.raised, errno.EAGAIN) is not None  # a socket that would block
    if verdict.is_vague and not is_busy and says_at_its_end(evidence, "tasks-lacking"):
        return OPEN
    return UNLIKELY if has_left_unseen else None
