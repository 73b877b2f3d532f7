"""From the program back to the process that died first, and whether the program only passed the news on."""

import msgspec

from holter.diagnosis.causality.children import about, find_lost_child
from holter.diagnosis.causality.console import find_task
from holter.diagnosis.causality.ends import died_ns, ended_well, lost_a_child, lost_a_peer, waited_in_vain
from holter.diagnosis.causality.ranks import NOTICED_WITHIN_S, order_of_death
from holter.model.evidence import End, Evidence

MOST_GENERATIONS = 4


def find_origin(evidence: Evidence) -> Evidence:
    """The same evidence about the process that died first, and whose death led to that of the subject."""
    task = find_task(evidence)
    if task is not None:
        return task
    order = order_of_death(evidence.ranks)
    if order is not None and _came_first(order.first, evidence.subject):
        evidence = msgspec.structs.replace(evidence, subject=order.first)
    seen = {evidence.subject.pid}
    for _ in range(MOST_GENERATIONS):
        child = find_lost_child(evidence)
        if child is None or child.pid in seen:
            break
        seen.add(child.pid)
        evidence = about(evidence, child)
    return evidence


def _came_first(first: End, subject: End) -> bool:
    """Not later than the subject, of which may be known when it was last seen, but not when it died."""
    is_known = subject.status is not None or subject.finished is not None or bool(subject.signals)
    return not is_known or died_ns(first) <= died_ns(subject) + NOTICED_WITHIN_S * 1e9


def only_passed_on(evidence: Evidence) -> bool:
    """Whether what the subject says, or left with, only tells of another process that died before it."""
    end, order = evidence.subject, order_of_death(evidence.ranks)
    child = find_lost_child(evidence)
    if end.raised is not None:
        if lost_a_child(end) or child is not None:
            return True
        is_of_others = waited_in_vain(end) or lost_a_peer(end)
        return is_of_others and order is not None and order.first.pid != end.pid and not waited_in_vain(order.first)
    if child is not None and (child.signal is not None or child.raised is not None):
        return True
    if end.role in ("command", "watched"):
        return any(
            other.pid != end.pid and other.at_ns <= end.at_ns and not ended_well(other) for other in evidence.ranks
        )
    return order is not None and any(other.pid == end.pid for other in order.followers)
