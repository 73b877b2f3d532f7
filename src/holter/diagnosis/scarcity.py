"""Whether a run can have died for want of memory at all: else what contributes to that is not worth a word."""

from holter.diagnosis.kills import has_reached_limit, is_scarce, kill_of
from holter.diagnosis.texts import type_names
from holter.model.evidence import Evidence

MEMORY_ERRORS = frozenset({"MemoryError", "OutOfMemoryError", "ResourceExhaustedError", "_ArrayMemoryError"})
STARTS_WITHIN_S = 10.0
"""Between the beginning of a run and that of a child that then does all the work."""


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


def may_have_used_all(evidence: Evidence) -> bool:
    """A child of which nobody read the CPU time: its parent has a limit, and the run was just as old as that."""
    end, around = evidence.subject, evidence.surroundings
    limit_s = around.cpu_limit_s if around is not None else None
    if end.role != "child" or end.pid in evidence.surroundings_of or end.cpu_s is not None or limit_s is None:
        return False
    began_ns = min((each.began_ns for each in evidence.ranks if each.began_ns), default=0)
    return bool(began_ns) and 0 <= (end.at_ns - began_ns) / 1e9 - limit_s + STARTS_WITHIN_S <= 2 * STARTS_WITHIN_S


def has_no_cpu_limit(evidence: Evidence) -> bool:
    """Somebody read the limits of the process, and there was none of CPU time."""
    end, around = evidence.subject, evidence.surroundings
    if around is None or (end.role == "child" and end.pid not in evidence.surroundings_of):
        return False
    return around.open_files_limit is not None and around.cpu_limit_s is None
