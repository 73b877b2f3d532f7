"""Other processes held memory on the same GPU when the run asked for more than was left.

A forgotten notebook, a run that died badly, a colleague, or a framework that takes the whole card at the start.

End what is left over (`nvidia-smi` lists it), or choose another GPU with `CUDA_VISIBLE_DEVICES`.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.grades import COUNTED, LIKELY
from holter.diagnosis.kills import lacked_gpu_memory
from holter.diagnosis.memory_reading import told_bytes
from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.remedies import memory
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, RuledOut, Verdict

ADVICE = (memory.free_the_gpu, memory.memory_growth)
CONTRIBUTES = True
LEAST_BYTES = 512 * 2**20
"""Less is a context that some desktop or monitor holds."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the GPU's memory ran out while other processes held a good part of it."""
    end, error, holders = evidence.subject, evidence.subject.raised, evidence.around.gpu_holders
    if not lacked_gpu_memory(evidence) or error is None:
        return None
    title = "Other processes held {} of the GPU's memory"
    others = [holder for holder in holders or () if not holder.is_ours and holder.rss_bytes >= LEAST_BYTES]
    if others:
        text = words.listed([f"{each.name} ({each.pid}) {words.size(each.rss_bytes)}" for each in others[:3]])
        found = facts.fact(facts.GPU, end.at_ns, f"others held GPU memory: {text}")
        return Verdict(COUNTED, words.sized(title, sum(each.rss_bytes for each in others)), [found])
    # PyTorch names the others in its message, where it can.
    told = [match.groups() for match in tags_in(error.message).every("gpu-holder")]
    held = sum(told_bytes(size, unit) for pid, size, unit in told if int(pid) != end.pid)
    if held >= LEAST_BYTES:
        text = f"process {words.listed([pid for pid, _, _ in told])} had {words.size(held)} of the GPU in use"
        return Verdict(LIKELY, words.sized(title, held), [facts.fact(facts.EXCEPTION_TEXT, error.at_ns, text)])
    return RuledOut(because="no other process held GPU memory") if holders is not None else None
