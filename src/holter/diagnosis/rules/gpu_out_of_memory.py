"""The GPU had no memory left for what the program asked of it.

The program itself, a second process on the same GPU, memory that is reserved in pieces too small to use, or a framework
that takes the whole GPU at the start: the message and the list of the GPU's processes tell which.

Lower the batch size, use mixed precision, accumulate gradients; end what else runs on the GPU; in TensorFlow call
`set_memory_growth`, in JAX set `XLA_PYTHON_CLIENT_PREALLOCATE=false`.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import left_with
from holter.diagnosis.grades import CONSISTENT, INFERRED, LIKELY, NAMED
from holter.diagnosis.memory_reading import unused_in_pieces
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.remedies.memory import (
    SMALLER_NUMBERS,
    clear_session,
    detach_losses,
    free_the_gpu,
    less_fragmentation,
    memory_growth,
    restart_kernel,
    smaller_batch_on_gpu,
)
from holter.diagnosis.texts import foreign_text, is_own_raise, line_near_end
from holter.model.evidence import Evidence
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, Verdict

CAUSE = "gpu-out-of-memory"
ADVICE = (
    free_the_gpu,
    smaller_batch_on_gpu,
    memory_growth,
    less_fragmentation,
    SMALLER_NUMBERS,
    detach_losses,
    clear_session,
    restart_kernel,
)
CURVES = ("gpu-memory",)
BY_TYPE, BY_WORDS, BY_LIBRARY, PRINTED = NAMED, CONSISTENT, INFERRED, LIKELY


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the exception's type, less surely on its words."""
    raised = evidence.subject.raised
    if raised is None:
        line = line_near_end(evidence, "gpu-memory-refused") if left_with(evidence.subject) else None
        return _verdict(evidence, PRINTED, [facts.of_console(line)]) if line else None
    grade = _grade(raised)
    if grade is None:
        return None
    return _verdict(evidence, grade, [facts.of_exception(raised, is_type_decisive=grade == BY_TYPE)])


def _grade(raised: Raised) -> Grade | None:
    """None where it is about something else, such as the host's memory."""
    text = foreign_text(raised)
    if not text or says(text, "memory-of-cpu"):
        return None
    if says(text, "gpu-memory-refused-by-type") or (
        says(text, "exception-of-accelerator") and says(text, "gpu-memory-refused")
    ):
        return BY_TYPE
    if says(text, "gpu-memory-refused") and not is_own_raise(raised):
        return BY_WORDS
    return BY_LIBRARY if says(text, "gpu-memory-refused-to-library") else None


def _verdict(evidence: Evidence, grade: Grade, found: list[Fact], /) -> Verdict:
    others = _others(evidence)
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=_title(evidence, others),
        because=(*found, *_holder_facts(evidence), *_shared_facts(evidence), facts.of_status(evidence.subject))[:5],
        contributing=("gpu-shared",) if others else (),
    )


def _title(evidence: Evidence, others: list[str]) -> str:
    raised = evidence.subject.raised
    asked = tags_in(raised.message).get("gpu-memory-asked") if raised else None
    size = asked[1] if asked else ""
    size = words.size(int(size)) if size.isdigit() else size
    what = f" when {words.process(evidence.subject)} asked for {size} more" if size else ""
    shared = f"; {words.listed(others[:2])} of it" if others else ""
    return words.sentence(f"the GPU was out of memory{what}{shared}")


def _others(evidence: Evidence) -> list[str]:
    """`process 400 holds 110.60 GiB`, for each that is not of the run."""
    holders = (evidence.surroundings.gpu_holders if evidence.surroundings else None) or ()
    known = [f"{each.name} ({each.pid}) held {words.size(each.rss_bytes)}" for each in holders if not each.is_ours]
    raised = evidence.subject.raised
    own = {end.pid for end in (*evidence.ranks, *evidence.children, evidence.subject)}
    said = [each.groups() for each in tags_in(raised.message).every("gpu-holder")] if raised else []
    return known or [f"process {pid} held {size} {unit}" for pid, size, unit in said if int(pid) not in own]


def _holder_facts(evidence: Evidence) -> list[Fact]:
    holders = (evidence.surroundings.gpu_holders if evidence.surroundings else None) or ()
    if not holders:
        return []
    names = [f"{each.name} ({each.pid}) {words.size(each.rss_bytes)}" for each in holders[:3]]
    at_ns = evidence.subject.raised.at_ns if evidence.subject.raised else evidence.subject.at_ns
    return [facts.fact(facts.GPU, at_ns, "the GPU's memory was held by " + ", ".join(names))]


def _shared_facts(evidence: Evidence) -> list[Fact]:
    raised = evidence.subject.raised
    unused = unused_in_pieces(raised.message) if raised else ""
    if raised is None or not unused:
        return []
    return [facts.fact(facts.EXCEPTION, raised.at_ns, f"{unused} was reserved by PyTorch but not in use")]
