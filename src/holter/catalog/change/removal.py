"""Which runs may go. Pure: gets what is known of them, returns the choice."""

from collections.abc import Collection, Sequence

import msgspec

from holter.model.run_row import RunRow
from holter.model.state import RUNNING

UNTOUCHED_S = 60.0


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A run with what speaks for and against its removal."""

    row: RunRow
    bytes: int
    touched_at: float
    """When anything in its directory last changed, in seconds since 1970."""
    is_settled: bool
    """Nobody is left who would add to it."""
    is_link: bool = False
    """It lies elsewhere, and only a link to it is here."""

    @property
    def ended_at(self) -> float:
        """When it ended; its start, where nobody knows."""
        return self.row.ended_at or self.row.started_at


class Criteria(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to be rid of; None and empty ask for nothing."""

    older_than_s: float | None = None
    keep_bytes: int | None = None
    states: Collection[str] = ()

    @property
    def is_empty(self) -> bool:
        """Nothing was asked for."""
        return self.older_than_s is None and self.keep_bytes is None and not self.states


class Choice(msgspec.Struct, frozen=True):
    """The runs to remove, oldest first; and those that were asked for and stay nevertheless, with the reason."""

    removed: list[Candidate]
    kept: list[tuple[Candidate, str]]


def choose(candidates: Sequence[Candidate], criteria: Criteria, *, now: float) -> Choice:
    """The states say which runs may go at all; of those go the old ones, then the oldest until all runs fit the size.

    With states alone, all runs in them go; without any criterion, none.
    """
    choice = Choice([], [])
    left = sum(each.bytes for each in candidates)
    for each in sorted(candidates, key=lambda each: (each.ended_at, each.row.id)):
        is_too_much = criteria.keep_bytes is not None and left > criteria.keep_bytes
        if not _may_go(each, criteria) or not (is_too_much or _is_asked_for(each, criteria, now=now)):
            continue
        if because := protection(each, now):
            choice.kept.append((each, because))
        else:
            choice.removed.append(each)
            left -= each.bytes
    return choice


def protection(each: Candidate, now: float) -> str:
    """Why a run must stay; empty where it may go."""
    if each.row.state == RUNNING:
        return "it is running"
    if not each.is_settled:
        return "it is not certain that it has ended"
    if each.is_link:
        return "its directory is a link to another place"
    return "it changed less than a minute ago" if now - each.touched_at < UNTOUCHED_S else ""


def _may_go(each: Candidate, criteria: Criteria) -> bool:
    return not criteria.states or each.row.state in criteria.states


def _is_asked_for(each: Candidate, criteria: Criteria, *, now: float) -> bool:
    if criteria.older_than_s is not None:
        return now - each.ended_at > criteria.older_than_s
    return bool(criteria.states) and criteria.keep_bytes is None
