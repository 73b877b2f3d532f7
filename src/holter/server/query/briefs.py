"""A run in a line of a table, as every listing and every live change has it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holter.model.state import UNREADABLE, Lateness
from holter.storage.opening import Storage
from holter.storage.run_fields import shown_fields
from holter.storage.runs import RunRow
from holter.wire.odd_numbers import in_words

BRIEF = (
    "id name project state is_stale cause started_at ended_at duration_s steps last_step host tags group job_type"
    " attempt rows last_row_at ahead_s"
).split()
# The sentence that `with_mark` makes; only runs that have it are looked up.
_MARKED = " (holter's own verdict: "


class Mark(msgspec.Struct, frozen=True):
    """A person's word on how a run ended, or on what it died of (`cause`): when, who, why."""

    state: str
    reason: str
    by: str
    at: float
    cause: str | None = None


class RunBrief(msgspec.Struct, kw_only=True):
    """A run in short. Times are seconds since 1970; `values` has the columns that were asked for.

    There, and in configuration and summary, NaN and the infinities are the words `NaN`, `Infinity` and `-Infinity`.
    """

    id: str
    name: str = ""
    project: str = ""
    state: str = "running"
    is_stale: bool = False
    cause: str | None = None
    started_at: float = 0.0
    ended_at: float | None = None
    duration_s: float = 0.0
    steps: int = 0
    last_step: int | None = None
    host: str = ""
    tags: list[str] = []
    group: str = ""
    job_type: str = ""
    attempt: int = 1
    rows: int = 0
    last_row_at: float | None = None
    ahead_s: float = 0.0
    """By how much the server's clock is ahead of the one by which a running run says when it began."""
    trouble: str = ""
    """Why the run can't be shown, where its state is `unreadable`."""
    mark: Mark | None = None
    values: dict[str, Any] = {}


def brief_of(storage: Storage, row: RunRow, *, now_ns: int, lateness: Lateness) -> RunBrief:
    """A run's row at one moment."""
    fields = shown_fields(row, (*BRIEF, "because"), now_ns=now_ns, lateness=lateness)
    return brief_from(storage, fields)


def brief_from(storage: Storage, fields: Mapping[str, Any], *, columns: Sequence[str] = ()) -> RunBrief:
    """What a query that asked for BRIEF, `because` and some columns answered for a run."""
    known = {name: fields[name] for name in BRIEF if name in fields}
    if fields.get("state") == UNREADABLE:
        known["trouble"] = fields.get("because", "")
    mark = last_mark(storage, fields["id"]) if _MARKED in fields.get("because", "") else None
    values = {name: in_words(fields[name]) for name in columns if name in fields}
    return RunBrief(**known, mark=mark, values=values)


def marks_of(storage: Storage, run: str) -> list[Mark]:
    """All that people said about a run's end, the oldest first; an empty state or cause took the word before back."""
    return [
        Mark(said.get("state", ""), said["reason"], said["by"], event.at_ns / 1e9, said.get("cause"))
        for event in storage.console.events(run, ["Marked", "CauseMarked"])
        for said in [event.fields]
    ]


def last_mark(storage: Storage, run: str) -> Mark | None:
    """The word on the state that holds."""
    marks = [each for each in marks_of(storage, run) if each.cause is None]
    return marks[-1] if marks and marks[-1].state else None
