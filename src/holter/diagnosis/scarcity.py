"""Whether a run can have died for want of memory at all: else what contributes to that is not worth a word."""

from holter.diagnosis.kills import has_reached_limit, is_scarce, kill_of
from holter.diagnosis.texts import type_names
from holter.model.evidence import Evidence

MEMORY_ERRORS = frozenset({"MemoryError", "OutOfMemoryError", "ResourceExhaustedError", "_ArrayMemoryError"})


def lacked_memory(evidence: Evidence) -> bool:
    """The host, a cgroup or the program itself says that there was no memory left."""
    kill = kill_of(evidence)
    if kill is not None and kill.is_not_for_memory:
        return False
    levels = evidence.memory.levels
    raised = evidence.subject.raised
    was_refused = raised is not None and bool(type_names(raised) & MEMORY_ERRORS)
    return (
        was_refused or bool(is_scarce(evidence)) or has_reached_limit(evidence) or any(level.kills for level in levels)
    )


def lacked_gpu_memory(evidence: Evidence) -> bool:
    """The program was refused memory of a GPU."""
    raised = evidence.subject.raised
    if raised is None:
        return False
    text = f"{raised.type}: {raised.message}"
    return "CUDA out of memory" in text or "RESOURCE_EXHAUSTED" in text or "torch.OutOfMemoryError" in text
