"""The memory of the program grew steadily until none was left: something holds on to what it should release.

Warm-up and caches grow too, but only for a while. Losses that are kept with their graph, lists that collect outputs,
models that are built again and again, and displayed values in a notebook keep growing.

Keep numbers instead of tensors (`loss.item()`), and compare two points in time with `tracemalloc` or `memray`.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.grades import INFERRED, LIKELY
from holter.diagnosis.kills import lacked_memory
from holter.diagnosis.remedies import memory as against
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, RuledOut, Verdict

ADVICE = (against.detach_losses, against.graph_mode, against.clear_session)
CURVES = ("cgroup-0", "rss", "host-memory")
CONTRIBUTES = True
LEAST_S = 60.0
LEAST_SHARE = 0.2
"""Of what the program held at the end, grown during that time."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires where memory ran out and the program's own had grown steadily for a minute or more."""
    memory = evidence.memory
    if not lacked_memory(evidence) or memory.growth_bytes_per_s is None or not memory.own_bytes:
        return None
    grown = memory.growth_bytes_per_s * memory.growth_s
    held, time = words.size(memory.own_bytes), words.seconds(memory.growth_s)
    if memory.growth_s < LEAST_S or grown < LEAST_SHARE * memory.own_bytes:
        some = f"the program's memory grew by {words.size(grown)} in the last {time} only, to {held}"
        return RuledOut(because=some if grown > 0 else "the program's memory did not grow before the end")
    text = f"the program's memory grew by {words.size(memory.growth_bytes_per_s * 60)} a minute for {time}"
    found = facts.fact(facts.SAMPLES, memory.sampled_ns or evidence.subject.at_ns, f"{text}, to {held}")
    is_long = memory.growth_s >= 5 * LEAST_S
    return Verdict(LIKELY if is_long else INFERRED, text, [found, facts.of_steps(evidence.subject)])
