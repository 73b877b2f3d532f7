"""Memory was about to be gone, and a guard interrupted the program before Linux would have killed it.

Its user had asked for that (`init(guard="interrupt")`): MemoryPressure was raised in the main thread, and nobody caught
it. In a notebook all variables are still there.

Save what you need, free memory (`%holter vars` shows what holds it), then go on with less: a smaller batch, numbers
instead of tensors in lists, fewer workers.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.grades import NAMED
from holter.diagnosis.remedies import memory as against
from holter.diagnosis.texts import type_names
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Verdict

ADVICE = (against.detach_losses, against.smaller_batch)
CURVES = ("cgroup-0", "rss", "host-memory")


def diagnose(evidence: Evidence) -> Answer:
    """Fires where our own exception ended the program."""
    end = evidence.subject
    if end.raised is None or not any(name.rpartition(".")[2] == "MemoryPressure" for name in type_names(end.raised)):
        return None
    title = f"memory was about to be gone, and holter's guard interrupted {words.process(end)} as its user had asked"
    return Verdict(
        NAMED, title, [facts.of_exception(end.raised), facts.of_status(end), facts.of_steps(end)], state="failed"
    )
