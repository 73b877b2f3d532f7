"""The machine was so short of memory that everything waited for pages to come back from disk.

Steps become many times slower, and the run may look stuck; often it is then killed for
memory.

Use less memory than the machine has, or lower the number of workers; more swap only makes it last longer.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.grades import LIKELY
from holter.diagnosis.remedies import memory as against
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Verdict

ADVICE = (
    "use less memory than the machine has: each step waited for the disk to bring memory back",
    against.smaller_batch,
)
CURVES = ("cgroup-0", "rss", "host-memory")
CONTRIBUTES = True
PRESSURE_PERCENT = 20.0
SWAP_BYTES_PER_S = 5 * 2**20
FAULTS_PER_S = 500.0


def diagnose(evidence: Evidence) -> Answer:
    """Fires on two signs of three: time lost to memory, pages written to swap, pages read back."""
    memory, signs = evidence.memory, []
    if (memory.full_pressure_percent or 0) >= PRESSURE_PERCENT:
        signs.append(f"everything waited for memory {memory.full_pressure_percent:.0f} % of the time")
    if (memory.swap_out_bytes_per_s or 0) >= SWAP_BYTES_PER_S:
        signs.append(f"{words.size(memory.swap_out_bytes_per_s or 0)}/s went to swap")
    if (memory.major_faults_per_s or 0) >= FAULTS_PER_S:
        signs.append(f"{memory.major_faults_per_s:,.0f} pages a second came back from the disk")
    if len(signs) < 2:
        return None
    texts = [words.listed(signs)]
    if memory.swap_total_bytes and memory.swap_free_bytes is not None:
        texts.append(f"{words.size(memory.swap_free_bytes)} of {words.size(memory.swap_total_bytes)} swap was left")
    at_ns = memory.sampled_ns or evidence.subject.at_ns
    found = [facts.fact(facts.SAMPLES, at_ns, text) for text in texts]
    return Verdict(LIKELY, f"The machine was busy swapping: {texts[0]}", found)
