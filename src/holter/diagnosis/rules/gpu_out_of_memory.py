"""The GPU had no memory left for what the program asked of it.

The program itself, a second process on the same GPU, memory that is reserved in pieces too small to use, or a framework
that takes the whole GPU at the start: the message and the list of the GPU's processes tell which.

Lower the batch size, use mixed precision, accumulate gradients; end what else runs on the GPU; in TensorFlow call
`set_memory_growth`, in JAX set `XLA_PYTHON_CLIENT_PREALLOCATE=false`.
"""

from holter.diagnosis import facts, texts, words
from holter.diagnosis.causality.ends import left_with
from holter.diagnosis.grades import CONSISTENT, INFERRED, LIKELY, NAMED
from holter.diagnosis.memory_reading import last_refusal, unused_in_pieces
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.remedies import memory
from holter.model.evidence import Evidence
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, Verdict

ADVICE = (
    memory.free_the_gpu,
    memory.smaller_batch_on_gpu,
    memory.memory_growth,
    memory.less_fragmentation,
    memory.SMALLER_NUMBERS,
    memory.detach_losses,
    memory.clear_session,
    memory.restart_kernel,
)
CURVES = ("gpu-memory",)


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the exception's type, less surely on its words."""
    raised = evidence.subject.raised
    if raised is None:
        line = texts.line_near_end(evidence, "gpu-memory-refused") if left_with(evidence.subject) else None
        return _verdict(evidence, LIKELY, facts.of_console(line)) if line else None
    grade = _grade(raised)
    if grade is None:
        return None
    return _verdict(evidence, grade, facts.of_exception(raised, is_type_decisive=grade == NAMED))


def _grade(raised: Raised) -> Grade | None:
    """None where it is about something else, such as the host's memory."""
    text = texts.foreign_text(raised)
    if not text or says(text, "memory-of-cpu"):
        return None
    is_refused = says(text, "gpu-memory-refused")
    if says(text, "gpu-memory-refused-by-type") or (says(text, "exception-of-accelerator") and is_refused):
        return NAMED
    if is_refused and not texts.is_own_raise(raised):
        return CONSISTENT
    return INFERRED if says(text, "gpu-memory-refused-to-library") else None


def _verdict(evidence: Evidence, grade: Grade, said: Fact | None, /) -> Verdict:
    end, raised, holders = evidence.subject, evidence.subject.raised, evidence.around.gpu_holders
    asked = tags_in(raised.message).get("gpu-memory-asked") if raised else None
    size = asked[1] if asked else ""
    size = words.size(int(size)) if size.isdigit() else size
    what = f" when {words.process(end)} asked for {size} more" if size else ""
    others = _others(evidence)
    shared = f"; {words.listed(others[:2])} of it" if others else ""
    held = f"the GPU's memory was held by {facts.named(holders)}"
    unused = unused_in_pieces(raised.message) if raised else ""
    pieces = f"{unused} was reserved by PyTorch but not in use"
    if unused and (refused := last_refusal(evidence)) is not None and refused.largest_free:
        pieces = f"{pieces}, in pieces of at most {words.size(refused.largest_free)}"
    found = [
        said,
        facts.fact(facts.GPU, facts.when(end), held) if holders else None,
        facts.fact(facts.EXCEPTION, facts.when(end), pieces) if unused else None,
        *_of_refusals(evidence),
        facts.of_status(end),
    ]
    contributing = ("gpu-shared",) if others else ()
    return Verdict(grade, f"the GPU was out of memory{what}{shared}", found, contributing=contributing)


def _of_refusals(evidence: Evidence) -> list[Fact]:
    """What torch's allocator was asked before: those that the program caught, and where it was written down."""
    last, before = last_refusal(evidence), evidence.gpu_refusals[:-1]
    if last is None:
        return []
    found = []
    if before:
        text = f"the program had caught {words.count(len(before), 'refusal')} of GPU memory before"
        found.append(facts.fact(facts.GPU, before[0].at_ns, text))
    if last.snapshot:
        text = f"the state of PyTorch's allocator is in {last.snapshot} (for pytorch.org/memory_viz)"
        found.append(facts.fact(facts.GPU, last.at_ns, text))
    return found


def _others(evidence: Evidence) -> list[str]:
    """`process 400 holds 110.60 GiB`, for each that is not of the run."""
    holders = [each for each in evidence.around.gpu_holders or () if not each.is_ours]
    raised = evidence.subject.raised
    own = {end.pid for end in (*evidence.ranks, *evidence.children, evidence.subject)}
    said = [each.groups() for each in tags_in(raised.message).every("gpu-holder")] if raised else []
    known = [f"{each.name} ({each.pid}) held {words.size(each.rss_bytes)}" for each in holders]
    return known or [f"process {pid} held {size} {unit}" for pid, size, unit in said if int(pid) not in own]
