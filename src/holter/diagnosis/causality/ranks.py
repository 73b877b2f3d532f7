"""Ranks of one run: who died first, who was dragged along, and in a hang, who kept the others waiting."""

import signal
from collections.abc import Sequence

import msgspec

from holter.diagnosis import words
from holter.diagnosis.causality.ends import at_step, call, died_ns, ended_well, lost_a_peer, waited_in_vain
from holter.diagnosis.phrases.tags import tags_in
from holter.model.evidence import End, Evidence
from holter.model.verdicts import Fact

FOLLOWS_WITHIN_S = 90.0
"""How long after the first death the rest may still be ended: an agent sends SIGTERM, waits 30 s, sends SIGKILL."""
NOTICED_WITHIN_S = 2.0
"""A death may be written down this much later than that of a process that followed it."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of a run by their deaths."""

    first: End
    """Who died first of itself; by the time of death, not by the order in which they reported."""
    followers: tuple[End, ...] = ()
    """Who was ended by that, or because of it."""
    bystanders: tuple[End, ...] = ()
    """Who left in order, or lives on."""


def order_of_death(ranks: Sequence[End]) -> Order | None:
    """Who of several died first; None where fewer than two ranks are known or all are well."""
    dead = sorted((end for end in ranks if not ended_well(end)), key=died_ns)
    if len(ranks) < 2 or not dead:
        return None
    first = min(dead, key=_innocence)  # the first of the equal ones, and they are in the order of their deaths
    followers = [end for end in dead if end is not first and _follows(end, first)]
    others = [end for end in ranks if end is not first and not any(end is each for each in followers)]
    return Order(first=first, followers=tuple(followers), bystanders=tuple(others))


def _innocence(end: End) -> int:
    """The lower, the more likely it died of itself."""
    if not _is_like_a_follower(end):
        is_known = end.status is not None or end.raised is not None or bool(end.signals)
        return 0 if is_known else 2
    return 1 if waited_in_vain(end) else 3


def _is_like_a_follower(end: End) -> bool:
    is_term = end.signal == signal.SIGTERM or (end.status is None and end.caught(signal.SIGTERM) is not None)
    was_sent_term = not end.raised and (is_term or signal.SIGTERM in end.handled)
    return was_sent_term or lost_a_peer(end) or waited_in_vain(end)


def _follows(end: End, first: End) -> bool:
    late_s = (died_ns(end) - died_ns(first)) / 1e9
    if not -NOTICED_WITHIN_S <= late_s <= FOLLOWS_WITHIN_S:
        return waited_in_vain(end) and late_s > 0
    was_ended = end.signal == signal.SIGKILL and end.caught(signal.SIGTERM) is not None
    return was_ended or _is_like_a_follower(end)


def find_laggard(evidence: Evidence) -> End | None:
    """The rank that kept the others waiting; None where nothing tells it from them.

    In this order: the least work given to NCCL, the lowest last step, the only one that did not report a timeout,
    the earliest last row.
    """
    ranks = [end for end in evidence.ranks if end.rank is not None]
    work = {
        int(match[1]): int(match[2]) for line in evidence.said if (match := tags_in(line.text).get("work-enqueued"))
    }
    told = [work.get(end.rank) for end in ranks if end.rank is not None]
    silent = [end for end in ranks if not waited_in_vain(end)]
    return (
        _only_lowest(ranks, told)
        or _only_lowest(ranks, [end.last_step for end in ranks])
        or (silent[0] if len(silent) == 1 < len(ranks) else None)
        or _only_lowest(ranks, [end.last_row_ns for end in ranks])
    )


def _only_lowest(ranks: Sequence[End], numbers: Sequence[int | None]) -> End | None:
    """The one with the lowest number; None where not all have one, or two share it."""
    known = sorted((number, place) for place, number in enumerate(numbers) if number is not None)
    if len(known) < len(ranks) or len(ranks) < 2 or known[0][0] == known[1][0]:
        return None
    return ranks[known[0][1]]


def tell_order(evidence: Evidence) -> tuple[Fact, ...]:
    """The deaths of the ranks in sentences, the first first; nothing where there is but one."""
    order = order_of_death(evidence.ranks)
    if order is None:
        return ()
    first, followers = order.first, order.followers
    told = f"{call(first)} died first, {_manner(first)}{at_step(first)}"
    if followers:
        late_s = (min(map(died_ns, followers)) - died_ns(first)) / 1e9
        manners = {_manner(end) for end in followers}
        told += f"; {_call_all(followers)} followed {f'{words.seconds(late_s)} later' if late_s > 0 else 'at once'}"
        told += f", {manners.pop()}" if len(manners) == 1 else ""
    steps = [f"{call(end)} at step {end.last_step:,}" for end in order.bystanders if end.last_step is not None]
    well = [Fact("journal", evidence.ended_ns / 1e9, f"ended normally or alive: {words.listed(steps)}")]
    return (Fact("exit status", died_ns(first) / 1e9, told), *(well if steps else ()))


def tell_laggard(evidence: Evidence) -> tuple[Fact, ...]:
    """How far each rank got, where one of them kept the others waiting."""
    laggard = find_laggard(evidence)
    ranks = sorted((end for end in evidence.ranks if end.rank is not None), key=lambda end: end.rank or 0)
    steps = [f"{call(end)} at {end.last_step:,}" for end in ranks if end.last_step is not None]
    facts = []
    if len(steps) > 1:
        facts.append(Fact("journal", evidence.ended_ns / 1e9, f"last steps: {words.listed(steps)}"))
    victims = [end for end in ranks if waited_in_vain(end)]
    if laggard is not None and victims:
        told = f"{_call_all(victims)} gave up waiting; {call(laggard)} was the one waited for"
        source = "console" if victims[0].raised and victims[0].raised.where == "printed" else "exception"
        facts.append(Fact(source, victims[0].at_ns / 1e9, told))
    return tuple(facts)


def _call_all(ends: Sequence[End]) -> str:
    numbers = [str(end.rank) for end in ends if end.rank is not None]
    if len(numbers) < 2 or len(numbers) < len(ends):
        return words.listed([call(end) for end in ends])
    return f"ranks {words.listed(sorted(numbers, key=int))}"


def _manner(end: End) -> str:
    if end.signal is None and end.raised is not None:
        return f"with {end.raised.type.rpartition('.')[2]}"
    return words.exit_words(end)
