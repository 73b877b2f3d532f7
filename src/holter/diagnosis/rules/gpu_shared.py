"""Other processes held memory on the same GPU when the run asked for more than was left.

A forgotten notebook, a run that died badly, a colleague, or a framework that takes the whole card at the start.

End what is left over (`nvidia-smi` lists it), or choose another GPU with `CUDA_VISIBLE_DEVICES`.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.grades import COUNTED, LIKELY
from holter.diagnosis.memory_reading import told_bytes
from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.remedies.memory import free_the_gpu, memory_growth
from holter.diagnosis.scarcity import lacked_gpu_memory
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

CAUSE = "gpu-shared"
ADVICE = (free_the_gpu, memory_growth)
CONTRIBUTES = True
LEAST_BYTES = 512 * 2**20
"""Less is a context that some desktop or monitor holds."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the GPU's memory ran out while other processes held a good part of it."""
    if not lacked_gpu_memory(evidence):
        return None
    holders = evidence.surroundings.gpu_holders if evidence.surroundings else None
    others = [holder for holder in holders or () if not holder.is_ours and holder.rss_bytes >= LEAST_BYTES]
    if others:
        held = sum(holder.rss_bytes for holder in others)
        text = words.listed([f"{holder.name} ({holder.pid}) {words.size(holder.rss_bytes)}" for holder in others[:3]])
        found = facts.fact(facts.GPU, evidence.subject.at_ns, f"others held GPU memory: {text}")
        return _verdict(evidence, COUNTED, held, found)
    told = _told(evidence)
    if told:
        return told
    if holders is not None:
        return RuledOut(cause=CAUSE, because="no other process held GPU memory")
    return None


def _told(evidence: Evidence) -> Verdict | None:
    """PyTorch names the others in its message, where it can."""
    error = evidence.subject.raised
    matches = [] if error is None else [match.groups() for match in tags_in(error.message).every("gpu-holder")]
    held = sum(told_bytes(size, unit) for pid, size, unit in matches if int(pid) != evidence.subject.pid)
    if error is None or held < LEAST_BYTES:
        return None
    pids = words.listed([pid for pid, _, _ in matches])
    found = facts.fact(facts.EXCEPTION_TEXT, error.at_ns, f"process {pids} had {words.size(held)} of the GPU in use")
    return _verdict(evidence, LIKELY, held, found)


def _verdict(evidence: Evidence, grade: Grade, held: float, found: Fact, /) -> Verdict:
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=f"Other processes held {words.size(held)} of the GPU's memory",
        because=testimony.few([found]),
    )
