"""A run's row from the digests of its journals. Pure, but for a look at processes of this host."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holter.catalog.read.loaded_run import (
    awaited_processes,
    counted_marks,
    last_seen_ns,
    newest_clients,
    process_of,
    row_of,
    witnesses,
)
from holter.catalog.read.rules_stamp import rules_stamp
from holter.journal.digest import Digest
from holter.model.bounds import LARGEST, within
from holter.model.run_row import RunRow
from holter.model.state import RUNNING, Lateness, Witness, settle

_FAR_AWAY_NS = 1 << 62
# Clocks that differ by less are the same: what is said may take so long to come.
SAME_CLOCK_NS = 60_000_000_000
_BOUNDED = [name for name in RunRow.__struct_fields__ if name not in ("id", "config", "summary")]
# Of a name, a reason or notes; of one tag, and how many there may be.
MOST_TEXT, MOST_WORD, MOST_WORDS = 20_000, 1000, 1000
SILENT = "nothing more was heard from it, and its process can't be seen from here"


class Moment(msgspec.Struct, frozen=True):
    """What is known beside the journals.

    `heard_ns` has, by journal, the time by our own clock at which its process was last heard of: clocks of other hosts
    may be wrong by hours. `version` says how much of the journals was read.
    """

    now_ns: int
    lateness: Lateness
    heard_ns: Mapping[str, int]
    version: int


class Projected(msgspec.Struct, frozen=True):
    """A row, and whether somebody may still add to the run."""

    row: RunRow
    is_open: bool


def project_run(run: str, digests: Sequence[Digest], *, moment: Moment) -> Projected | None:
    """The row of a run, None where no program has written yet."""
    ordered = sorted(digests, key=lambda each: (each.opened.at_ns, each.journal))
    # Somebody is about to say how these ended.
    seen = witnesses(ordered, {each.journal for each in awaited_processes(ordered, moment.now_ns)})
    marks = counted_marks(ordered)
    # The same evidence at two moments: before anybody can be late, and when everybody is who can be.
    early_ns = min((each.last_seen_ns for each in _all(seen)), default=moment.now_ns)
    early = settle(seen, marks, now_ns=early_ns, lateness=moment.lateness)
    late = settle(seen, marks, now_ns=_FAR_AWAY_NS, lateness=moment.lateness)
    awaited = awaited_journals(ordered, seen)
    heard_ns = min((moment.heard_ns.get(journal, moment.now_ns) for journal in awaited), default=None)
    row = row_of(
        run,
        ordered,
        state=early.state,
        because=early.because if early.state != RUNNING else "",
        ended_ns=early.ended_at_ns,
        late_state=late.state,
        late_because=late.because if late.is_final else SILENT,
        late_ended_ns=late.ended_at_ns,
        heard_ns=heard_ns,
        ahead_ns=0 if heard_ns is None else _ahead_ns(ordered, awaited, heard_ns=heard_ns),
        version=moment.version,
        rules=rules_stamp(),
    )
    return Projected(row, is_open=early.state == RUNNING and not awaited) if row is not None else None


def _ahead_ns(digests: list[Digest], awaited: list[str], *, heard_ns: int) -> int:
    """By how much our clock is ahead of theirs: what was said last was said when we heard it, or a moment before."""
    last_words = [last_seen_ns(each, digests) for each in digests if each.journal in awaited]
    ahead_ns = heard_ns - min(last_words, default=heard_ns)
    return ahead_ns if abs(ahead_ns) > SAME_CLOCK_NS else 0


def bounded(row: RunRow) -> RunRow:
    """The row with no number that a store can't hold, and no text that a table can't show."""
    changed = {name: kept for name in _BOUNDED if (kept := _cut(value := getattr(row, name))) is not value}
    return msgspec.structs.replace(row, **changed) if changed else row


def _cut(value: Any) -> Any:
    if type(value) is int:
        return value if -LARGEST <= value <= LARGEST else within(value)
    if type(value) is str:
        return value if len(value) <= MOST_TEXT else f"{value[:MOST_TEXT]}…"
    if type(value) is tuple and (len(value) > MOST_WORDS or any(len(word) > MOST_WORD for word in value)):
        return tuple(word[:MOST_WORD] for word in value[:MOST_WORDS])
    return value


def awaited_journals(digests: Sequence[Digest], seen: Sequence[Witness]) -> list[str]:
    """The journals of processes that can only be told dead by their silence."""
    silent = {
        (each.pid, each.began_ns)
        for each in _all(seen)
        if each.is_alive is None and each.exited is None and (each.finished is None or each.finished.is_leaving)
    }
    newest = newest_clients(list(digests))
    return [each.journal for each in newest if (process_of(each).pid, each.opened.at_ns) in silent]


def by_their_clock(now_ns: int, digests: Sequence[Digest], *, heard_ns: int | None) -> int:
    """The time as the machine of a run has it, which may be wrong by days: from its last word, and when we heard that.

    For a run that can only be told dead by its silence; for any other, our own time.
    """
    if heard_ns is None:
        return now_ns
    found = list(digests)
    awaited = awaited_journals(found, witnesses(found))
    last_words = [last_seen_ns(each, found) for each in found if each.journal in awaited]
    return min(last_words) + now_ns - heard_ns if last_words else now_ns


def _all(seen: Sequence[Witness]) -> list[Witness]:
    return [each for witness in seen for each in (witness, *witness.joined)]
