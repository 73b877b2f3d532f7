"""The program asked for memory and was refused: the request was absurdly large, or a limit forbade it.

Nobody killed it. `ulimit -v` limits the address space, which includes memory that is only reserved; with
overcommit_memory=2 Linux promises no more than it has; and a shape with a wrong dimension asks for terabytes.

Check the shape of the array, lift the limit (`ulimit -v unlimited`), or read the data in pieces.
"""

import errno

from holter.diagnosis import errnos, facts, words
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, left_with
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.remedies.memory import (
    SMALLER_NUMBERS,
    check_shape,
    raise_address_space,
    smaller_batch,
    stream_data,
)
from holter.diagnosis.rivals import OPEN
from holter.diagnosis.texts import foreign_text, is_own_raise, line_near_end, says_at_its_end, type_names
from holter.model.evidence import Evidence
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

CAUSE = "allocation-refused"
ADVICE = (raise_address_space, check_shape, stream_data, SMALLER_NUMBERS, smaller_batch)
CURVES = ("rss", "host-memory")
LIMITED, ABSURD, BY_TYPE, BARE, BY_WORDS = NAMED, NAMED, COUNTED, COUNTED, CONSISTENT
ABORTED, PRINTED, UNSEEN = COUNTED, LIKELY, INFERRED
NEAR = 0.75
"""Of the address space in use: what is asked for at once may be more than what is left."""
_GPUS = ("cuda", "gpu", "hip", "mps")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on MemoryError and its kin, unless the program raised it by hand."""
    raised = evidence.subject.raised
    if raised is None:
        return _by_abort(evidence)
    grade = _grade(evidence, raised)
    if grade is None:
        if "MemoryError" in type_names(raised) and is_own_raise(raised):
            return RuledOut(cause=CAUSE, because="the program's own code raised that MemoryError")
        return None
    return _verdict(evidence, grade, [facts.of_exception(raised, is_type_decisive=grade >= BARE)])


def _grade(evidence: Evidence, raised: Raised) -> Grade | None:
    text = foreign_text(raised)
    is_of_a_gpu = any(name in text.lower() for name in _GPUS)
    if not text or (is_of_a_gpu and not says(text, "array-refused")):
        return None
    names = type_names(raised) if not is_own_raise(raised) else {each.type for each in raised.causes}
    is_typed = bool(names & {"MemoryError", "_ArrayMemoryError"})
    number = errnos.find_errno(raised, errno.ENOMEM)
    is_limited = _is_limited(evidence)
    says_so = says(text, "no-memory")
    is_likely = is_limited and (says_so or says(text, "no-new-thread"))
    if not is_typed and number is None and not says(text, "memory-refused") and not is_likely:
        return UNSEEN if says_so and evidence.subject.role in WITHOUT_CLIENT else None
    if is_limited:
        return LIMITED
    asked = asked_bytes(text)
    if asked is not None and is_absurd(evidence, asked):
        return ABSURD
    if "_ArrayMemoryError" in names or (number is not None and number.is_sure):
        return BY_TYPE
    return BARE if is_typed and not raised.message else BY_WORDS


def _by_abort(evidence: Evidence) -> Verdict | None:
    """C++ ends a program that does not catch `std::bad_alloc`."""
    line = line_near_end(evidence, "memory-refused-natively")
    ending = ending_of(evidence)
    if line is None:
        return None
    if ending is not None and ending.signal == 6 and not ending.is_sent:
        found = [facts.of_status(evidence.subject), facts.of_console(line)]
        return _verdict(evidence, ABORTED if _is_limited(evidence) else BY_WORDS, found)
    return _verdict(evidence, PRINTED, [facts.of_console(line)]) if left_with(evidence.subject) else None


def _is_limited(evidence: Evidence) -> bool:
    """A limit of the address space, of data or of what the kernel promises was near."""
    around = evidence.surroundings
    if around is None:
        return False
    raised = evidence.subject.raised
    asked = (asked_bytes(foreign_text(raised)) if raised else None) or 0
    used, limit = around.address_space_bytes, around.address_space_limit_bytes
    if used is not None and limit is not None:
        return used >= NEAR * limit or used + asked >= limit
    return around.data_limit_bytes is not None or around.commit_limit_bytes is not None


def is_absurd(evidence: Evidence, asked: float) -> bool:
    """More than the machine has, with its swap."""
    memory = evidence.memory
    total = memory.total_bytes or evidence.facts.get("memory_total_bytes")
    if not isinstance(total, int | float):
        return asked > 2**43
    return asked > total + (memory.swap_total_bytes or 0)


def asked_bytes(text: str) -> float | None:
    """How much was asked for, where the message says it."""
    array, plain = tags_in(text).get("array-refused"), tags_in(text).get("asked-bytes")
    if array:
        return float(array[1]) * 1024.0 ** " KMGTPE".index(array[2] or " ")
    return float(plain[1]) if plain else None


def _verdict(evidence: Evidence, grade: Grade, found: list[Fact], /) -> Verdict:
    status = facts.of_status(evidence.subject)
    because = dict.fromkeys([*found, *_limit_facts(evidence), *facts.of_available(evidence), status])
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=_title(evidence),
        because=tuple(because)[:5],
    )


def _title(evidence: Evidence) -> str:
    raised, around = evidence.subject.raised, evidence.surroundings
    asked = asked_bytes(foreign_text(raised)) if raised else None
    what = words.size(asked) if asked else "more memory"
    who = words.process(evidence.subject)
    if asked and is_absurd(evidence, asked):
        total = evidence.memory.total_bytes
        than = f" of {words.size(total)}" if total else ""
        return words.sentence(f"{who} asked for {what} at once, more than the machine's memory{than}, and was refused")
    if around and around.address_space_limit_bytes is not None and _is_limited(evidence):
        limit = words.size(around.address_space_limit_bytes)
        return words.sentence(f"{who} asked for {what} and was refused: its address space is limited to {limit}")
    return words.sentence(f"{who} asked for {what} and was refused")


def _limit_facts(evidence: Evidence) -> list[Fact]:
    around = evidence.surroundings
    if around is None or around.address_space_limit_bytes is None:
        return []
    at_ns = evidence.subject.raised.at_ns if evidence.subject.raised else evidence.subject.at_ns
    used = f"{words.size(around.address_space_bytes)} of " if around.address_space_bytes is not None else ""
    limit = words.size(around.address_space_limit_bytes)
    return [facts.fact(facts.LIMITS, at_ns, f"{used}the address space's limit of {limit} (RLIMIT_AS) was in use")]


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program may say it at its end and nobody looked; a thread is refused for want of room for its stack as well."""
    end, raised = evidence.subject, evidence.subject.raised
    if verdict.is_vague and says_at_its_end(evidence, "memory-lacking"):
        return OPEN
    is_seen = any(fact.source == facts.LIMITS for fact in verdict.because)
    if verdict.cause != "too-many-processes" or end.role not in WITHOUT_CLIENT or raised is None or is_seen:
        return None
    return OPEN if says(foreign_text(raised), "no-new-thread") else None
