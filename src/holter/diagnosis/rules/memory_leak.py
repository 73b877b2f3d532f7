"""The memory of the program grew steadily until none was left: something holds on to what it should release.

Warm-up and caches grow too, but only for a while. Losses that are kept with their graph, lists that collect outputs,
models that are built again and again, and displayed values in a notebook keep growing.

Keep numbers instead of tensors (`loss.item()`), and compare two points in time with `tracemalloc` or `memray`.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.grades import INFERRED, LIKELY
from holter.diagnosis.remedies.memory import clear_session, detach_losses, graph_mode
from holter.diagnosis.scarcity import lacked_memory
from holter.model.evidence import Evidence, Memory
from holter.model.verdicts import Answer, RuledOut, Verdict

CAUSE = "memory-leak"
ADVICE = (detach_losses, graph_mode, clear_session)
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
    share = grown / memory.own_bytes
    rate = f"{words.size(memory.growth_bytes_per_s * 60)} a minute"
    if memory.growth_s < LEAST_S or share < LEAST_SHARE:
        return RuledOut(cause=CAUSE, because=_flat(memory, grown))
    text = (
        f"the program's memory grew by {rate} for {words.seconds(memory.growth_s)}, to {words.size(memory.own_bytes)}"
    )
    found = [
        facts.fact(facts.SAMPLES, memory.sampled_ns or evidence.subject.at_ns, text),
        *testimony.of_steps(evidence.subject),
    ]
    return Verdict(
        cause=CAUSE,
        grade=LIKELY if memory.growth_s >= 5 * LEAST_S else INFERRED,
        title=f"The program's memory grew by {rate} for {words.seconds(memory.growth_s)}",
        because=testimony.few(found),
    )


def _flat(memory: Memory, grown: float) -> str:
    over = words.seconds(memory.growth_s)
    if grown <= 0:
        return "the program's memory did not grow before the end"
    held = words.size(memory.own_bytes or 0)
    return f"the program's memory grew by {words.size(grown)} in the last {over} only, to {held}"
