"""A run in a line of a table, as every listing and every live change has it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from holter.model.run_row import COLOURS, Mark, RunRow
from holter.model.state import RUNNING
from holter.storage.opening import Storage
from holter.storage.run_fields import value_of
from holter.wire.odd_numbers import in_words


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
    tags: tuple[str, ...] = ()
    group: str = ""
    job_type: str = ""
    attempt: int = 1
    rows: int = 0
    last_row_at: float | None = None
    ahead_s: float = 0.0
    """By how much the server's clock is ahead of the one by which a running run says when it began."""
    trouble: str = ""
    """Why the run can't be shown, where its state is `unreadable`."""
    warning: str = ""
    """What a guard of a running one warned of that still holds."""
    mark: Mark | None = None
    colour: int | None = None
    """The slot of the palette that its lines have, from 0 to 7; None where the one that was told before holds."""
    values: dict[str, Any] = {}


_SAME = [name for name in RunBrief.__struct_fields__ if name not in ("mark", "colour", "values")]


def brief_of(row: RunRow, columns: Sequence[str] = ()) -> RunBrief:
    """A run as it is at a moment, with some columns."""
    values = {name: in_words(value) for name in columns if (value := value_of(row, name)) is not None}
    mark = row.mark if row.state != RUNNING else None
    slot = row.slot if row.colour is None else row.colour
    return RunBrief(**row.told(_SAME), mark=mark, colour=None if slot is None else slot % COLOURS, values=values)


def marks_of(storage: Storage, run: str) -> list[Mark]:
    """All that people said about a run's end, the oldest first; an empty state or cause took the word before back."""
    return [
        Mark(said.get("state", ""), said["reason"], said["by"], event.at_ns / 1e9, said.get("cause"))
        for event in storage.console.events(run, ["Marked", "CauseMarked"])
        for said in [event.fields]
    ]
