"""The program, or its user, had as many processes and threads as are allowed, and could not start another.

Each data-loader worker starts its own threads for OpenMP and BLAS; `ulimit -u` counts all threads of the user on the
machine, `pids.max` those of the container.

Set `OMP_NUM_THREADS=1` in the workers, start fewer of them, or raise the limit (`ulimit -u`, `--pids-limit`).
"""

import errno

from holter.diagnosis import errnos, facts, texts, words
from holter.diagnosis.causality.ends import left_with
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY, NAMED, OPEN, UNLIKELY
from holter.diagnosis.limits import ADDRESSES_NEAR, NEAR
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies import limits, memory
from holter.model.evidence import Evidence, Said
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, Verdict

ADVICE = (limits.fewer_threads, memory.fewer_workers)
CURVES = ("processes",)


def diagnose(evidence: Evidence) -> Answer:
    """Fires where a fork or a thread was refused."""
    raised = evidence.subject.raised
    if raised is None:
        line = _said(evidence) if left_with(evidence.subject) else None
        grade = COUNTED if _is_near(evidence) else LIKELY
        return _verdict(evidence, grade, facts.of_console(line)) if line is not None else None
    of_error = _grade(evidence, raised)
    if of_error is None and texts.type_names(raised) & {
        "CalledProcessError"
    }:  # a command of its own says so, on the same console
        line = texts.line_near_end(evidence, "start-refused")
        return _verdict(evidence, LIKELY, facts.of_console(line)) if line is not None else None
    if of_error is None:
        return None
    return _verdict(evidence, of_error, facts.of_exception(raised, is_type_decisive=of_error != CONSISTENT))


def _said(evidence: Evidence) -> Said | None:
    """On stderr; or as its last words, where both streams are one."""
    line = texts.line_near_end(evidence, "start-refused")
    if line is not None and line.is_error:
        return line
    last = texts.last_words(evidence, "start-refused")
    return last if last is not None and texts.may_be_error(evidence, last) else None


def _grade(evidence: Evidence, raised: Raised) -> Grade | None:
    """None where it is about something else: a socket that would block, or a stack for which there is no memory."""
    is_near, around = _is_near(evidence), evidence.around
    if texts.in_exception(evidence, "thread-refused"):
        used, most = around.address_space_bytes, around.address_space_limit_bytes
        is_out_of_addresses = used is not None and bool(most) and used >= ADDRESSES_NEAR * (most or 0)
        return NAMED if is_near else None if is_out_of_addresses else CONSISTENT
    number = errnos.find_errno(raised, errno.EAGAIN)
    if number is None or not number.is_sure or not says(raised.traceback, "in-a-fork"):
        return None
    return NAMED if is_near else COUNTED


def _is_near(evidence: Evidence) -> bool:
    count, limit = evidence.around.threads, evidence.around.threads_limit
    return count is not None and bool(limit) and (count >= NEAR * (limit or 0) or (limit or 0) - count <= 2)


def _verdict(evidence: Evidence, grade: Grade, said: Fact | None, /) -> Verdict:
    end, count, most = evidence.subject, evidence.around.threads, evidence.around.threads_limit
    is_known, is_near = count is not None and most is not None, _is_near(evidence)
    limit = f": {count:,} of {most:,} were in use" if is_near else ""
    when = "" if is_near else " when they were last counted"
    text = f"{count or 0:,} of {most or 0:,} processes and threads were in use{when}"
    seen = facts.fact(facts.LIMITS, facts.when(end), text) if is_known else None
    title = f"{words.process(end)} could not start another process or thread{limit}"
    return Verdict(grade, title, [said, seen, facts.of_status(end)])


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program may say it at its end and nobody looked; native code that leaves by itself says so on a console that
    nobody kept."""
    has_left_unseen = verdict.cause == "nonzero-exit" and evidence.subject.finished is None and not evidence.said
    is_busy = errnos.find_errno(evidence.subject.raised, errno.EAGAIN) is not None  # a socket that would block
    if verdict.is_vague and not is_busy and texts.says_at_its_end(evidence, "tasks-lacking"):
        return OPEN
    return UNLIKELY if has_left_unseen else None
