"""Several processes of a run in a few words: who died first, who was dragged along, who kept the others waiting."""

from collections.abc import Iterator

from holter.catalog.read.journal_account import wait_status
from holter.diagnosis.causality.ranks import find_laggard, order_of_death
from holter.model.evidence import End, Evidence
from holter.model.verdicts import RankEnd

MOST_RANKS = 16


def ranks_of(evidence: Evidence) -> tuple[RankEnd, ...]:
    """Each rank by the time of its end, the first to die before all; none for a run of one process. Pure."""
    ranks = [end for end in evidence.ranks if end.rank is not None]
    if len(ranks) < 2:
        return ()
    order = order_of_death(evidence.ranks)
    laggard = find_laggard(evidence)
    first = order.first if order else None
    dragged = order.followers if order else ()
    return tuple(
        _told(end, first, is_dragged=end in dragged, is_laggard=end is laggard)
        for end in sorted(ranks, key=lambda end: (end is not first, end.at_ns))
    )


def _told(end: End, first: End | None, /, *, is_dragged: bool, is_laggard: bool) -> RankEnd:
    step = f"step {end.last_step:,}" if end.last_step is not None else "no step"
    roles = list(_roles(end, first, is_dragged=is_dragged, is_laggard=is_laggard))
    role = f": {', '.join(roles)}" if roles else ""
    return RankEnd(rank=end.rank or 0, host=end.host, at=end.at_ns / 1e9, text=f"{step}, {_how(end)}{role}")


def _roles(end: End, first: End | None, /, *, is_dragged: bool, is_laggard: bool) -> Iterator[str]:
    if end is first:
        yield "died first"
    if is_dragged and first is not None:
        yield f"dragged along {max(0.0, (end.at_ns - first.at_ns) / 1e9):.1f} s later"
    if is_laggard:
        yield "the others waited for it"


def _how(end: End) -> str:
    if end.status is not None:
        return wait_status(end.status)
    if end.finished is not None and not end.finished.is_leaving:
        return "ended the run"
    return "still there" if end.is_alive else "nobody saw how it ended"
