"""The program asked for memory and was refused: the request was absurdly large, or a limit forbade it.

Nobody killed it. `ulimit -v` limits the address space, which includes memory that is only reserved; with
overcommit_memory=2 Linux promises no more than it has; and a shape with a wrong dimension asks for terabytes.

Check the shape of the array, lift the limit (`ulimit -v unlimited`), or read the data in pieces.
"""

import errno

from holter.diagnosis import errnos, facts, texts, words
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, left_with
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED, OPEN
from holter.diagnosis.limits import ADDRESSES_NEAR
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.remedies import memory
from holter.model.evidence import Evidence
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

ADVICE = (
    memory.raise_address_space,
    memory.check_shape,
    memory.stream_data,
    memory.SMALLER_NUMBERS,
    memory.smaller_batch,
)
CURVES = ("rss", "host-memory")
_TYPES = {"MemoryError", "_ArrayMemoryError"}
_GPUS = ("cuda", "gpu", "hip", "mps")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on MemoryError and its kin, unless the program raised it by hand."""
    raised = evidence.subject.raised
    if raised is None:
        return _by_abort(evidence)
    grade = _grade(evidence, raised)
    if grade is not None:
        return _verdict(evidence, grade, facts.of_exception(raised, is_type_decisive=grade >= COUNTED))
    is_own = "MemoryError" in texts.type_names(raised) and texts.is_own_raise(raised)
    return RuledOut(because="the program's own code raised that MemoryError") if is_own else None


def _grade(evidence: Evidence, raised: Raised) -> Grade | None:
    text = texts.foreign_text(raised)
    is_of_a_gpu = any(name in text.lower() for name in _GPUS)
    if not text or (is_of_a_gpu and not says(text, "array-refused")):
        return None
    names = texts.type_names(raised) if not texts.is_own_raise(raised) else {each.type for each in raised.causes}
    number = errnos.find_errno(raised, errno.ENOMEM)
    is_limited, says_so = _is_limited(evidence), says(text, "no-memory")
    is_likely = is_limited and (says_so or says(text, "no-new-thread"))
    if not names & _TYPES and number is None and not says(text, "memory-refused") and not is_likely:
        return INFERRED if says_so and evidence.subject.role in WITHOUT_CLIENT else None
    asked = asked_bytes(text)
    if is_limited or (asked is not None and is_absurd(evidence, asked)):
        return NAMED
    is_typed = "_ArrayMemoryError" in names or (bool(names & _TYPES) and not raised.message)
    return COUNTED if is_typed or (number is not None and number.is_sure) else CONSISTENT


def _by_abort(evidence: Evidence) -> Verdict | None:
    """C++ ends a program that does not catch `std::bad_alloc`."""
    line, ending = texts.line_near_end(evidence, "memory-refused-natively"), ending_of(evidence)
    if line is None:
        return None
    if ending is not None and ending.signal == 6 and not ending.is_sent:
        grade = COUNTED if _is_limited(evidence) else CONSISTENT
        return _verdict(evidence, grade, facts.of_status(evidence.subject), facts.of_console(line))
    return _verdict(evidence, LIKELY, facts.of_console(line)) if left_with(evidence.subject) else None


def _is_limited(evidence: Evidence) -> bool:
    """A limit of the address space, of data or of what Linux promises was near."""
    around = evidence.around
    used, limit = around.address_space_bytes, around.address_space_limit_bytes
    if used is not None and limit is not None:
        return used >= ADDRESSES_NEAR * limit or used + (_asked(evidence) or 0) >= limit
    return around.data_limit_bytes is not None or around.commit_limit_bytes is not None


def is_absurd(evidence: Evidence, asked: float) -> bool:
    """More than the machine has, with its swap."""
    memory = evidence.memory
    total = memory.total_bytes or evidence.facts.get("memory_total_bytes")
    if not isinstance(total, int | float):
        return asked > 2**43
    return asked > total + (memory.swap_total_bytes or 0)


def _asked(evidence: Evidence) -> float | None:
    return asked_bytes(texts.foreign_text(evidence.subject.raised)) if evidence.subject.raised else None


def asked_bytes(text: str) -> float | None:
    """How much was asked for, where the message says it."""
    array, plain = tags_in(text).get("array-refused"), tags_in(text).get("asked-bytes")
    if array:
        return float(array[1]) * 1024.0 ** " KMGTPE".index(array[2] or " ")
    return float(plain[1]) if plain else None


def _verdict(evidence: Evidence, grade: Grade, /, *found: Fact | None) -> Verdict:
    end, around, asked = evidence.subject, evidence.around, _asked(evidence)
    limit = around.address_space_limit_bytes
    title = f"{words.process(end)} asked for {words.size(asked) if asked else 'more memory'}"
    if asked and is_absurd(evidence, asked):
        than = words.sized(" of {}", evidence.memory.total_bytes)
        title = f"{title} at once, more than the machine's memory{than}, and was refused"
    elif limit is not None and _is_limited(evidence):
        title = f"{title} and was refused: its address space is limited to {words.size(limit)}"
    else:
        title = f"{title} and was refused"
    used = f"{words.size(around.address_space_bytes)} of " if around.address_space_bytes is not None else ""
    text = f"{used}the address space's limit of {words.size(limit or 0)} (RLIMIT_AS) was in use"
    limited = facts.fact(facts.LIMITS, facts.when(end), text) if limit is not None else None
    return Verdict(grade, title, [*found, limited, facts.of_available(evidence), facts.of_status(end)])


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program may say it at its end and nobody looked; a thread is refused for want of room for its stack as well."""
    if verdict.is_vague and texts.says_at_its_end(evidence, "memory-lacking"):
        return OPEN
    is_seen = any(fact.source == facts.LIMITS for fact in verdict.facts)
    if verdict.cause != "too-many-processes" or evidence.subject.role not in WITHOUT_CLIENT or is_seen:
        return None
    return OPEN if texts.in_exception(evidence, "no-new-thread") else None
