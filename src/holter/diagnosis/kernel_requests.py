"""What a notebook's kernel was asked before it ended; what comes after is the server tidying up, and no cause."""

from holter.model.evidence import Evidence, KernelEvent

SOON_S = 60.0
"""A kernel that does not listen is given some seconds, then it is ended."""


def last_request(evidence: Evidence) -> KernelEvent | None:
    """The last restart or shutdown that it was asked for, if it ended soon after."""
    end_ns = evidence.subject.at_ns
    asked = [
        event
        for event in evidence.kernel_events
        if event.kind in ("restart", "shutdown") and 0 <= (end_ns - event.at_ns) / 1e9 <= SOON_S
    ]
    return asked[-1] if asked else None
