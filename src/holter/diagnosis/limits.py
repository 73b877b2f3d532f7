"""Limits of a process: how near one must be to be the reason, and whether the CPU time that it may have is used up."""

from holter.model.evidence import Evidence

NEAR = 0.9
"""Of files, processes or threads, as they were when somebody looked: some are gone on the way out."""
ADDRESSES_NEAR = 0.75
"""Of the address space: a stack or an array is asked for at once, and may be more than a large part that is left."""
STARTS_WITHIN_S = 10.0
"""Between the beginning of a run and that of a child that then does all the work."""
ALMOST = 0.8
"""Of the limit, as whoever waited for both was told: it counts otherwise than the limit does."""


def may_have_used_all(evidence: Evidence) -> bool:
    """A child of which nobody read the CPU time: its parent has a limit, and both used about as much or, where nobody
    knows that, the run was just as old as that."""
    end, limit_s = evidence.subject, evidence.around.cpu_limit_s
    if end.role != "child" or end.pid in evidence.surroundings_of or end.cpu_s is not None or limit_s is None:
        return False
    used_s = max((each.cpu_s for each in evidence.ranks if each.cpu_s is not None), default=None)
    if used_s is not None:
        return ALMOST * limit_s <= used_s <= limit_s + STARTS_WITHIN_S
    began_ns = min((each.began_ns for each in evidence.ranks if each.began_ns), default=0)
    return bool(began_ns) and 0 <= (end.at_ns - began_ns) / 1e9 - limit_s + STARTS_WITHIN_S <= 2 * STARTS_WITHIN_S


def has_no_cpu_limit(evidence: Evidence) -> bool:
    """Somebody read the limits of the process, and there was none of CPU time."""
    end, around = evidence.subject, evidence.around
    if end.role == "child" and end.pid not in evidence.surroundings_of:
        return False
    return around.open_files_limit is not None and around.cpu_limit_s is None
