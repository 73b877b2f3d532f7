"""What a piece of a journal says, as the storage ports take it: rows as columns, records as events."""

from collections.abc import Iterator

import msgspec
import numpy as np

from holter.catalog.read.loaded_run import PROGRAM
from holter.journal.columns import read_packed
from holter.journal.decoding import Told
from holter.journal.rows import Schema
from holter.model.media_records import MediaLost
from holter.model.records import LASTING, Flushed, Opened
from holter.storage.console import Event
from holter.storage.series import Floats, Rows

SYSTEM = "system/"
"""What a sidecar measured under `system/process/rss_bytes` is the series `system/<host>/process/rss_bytes`."""
_MS = 1_000_000


def rows_of(told: Told) -> list[Rows]:
    """The numbers of all rows, key set by key set."""
    found: dict[tuple[str, ...], Rows] = {}
    for rows in (*_packed(told), *_loose(told)):
        known = found.get(rows.keys)
        found[rows.keys] = rows if known is None else _joined(known, rows)
    return list(found.values())


def highest_step(told: Told, rows: list[Rows]) -> int | None:
    """As `told.highest_step()` has it, from the columns that were made of it."""
    return max([*(int(each.steps.max()) for each in rows), *(row.step for _, row in told.loose)], default=None)


def rows_up_to(rows: list[Rows], step: int) -> list[Rows]:
    """Without those behind a step."""
    found = []
    for each in rows:
        kept = each.steps <= step
        if kept.all():
            found.append(each)
        elif kept.any():
            found.append(Rows(each.keys, each.steps[kept], each.at_ns[kept], each.offsets[kept], each.values[:, kept]))
    return found


def series_of(rows: list[Rows], opened: Opened | None) -> tuple[Rows, ...]:
    """Rows under the keys of their series: what a sidecar measured is apart from what the program logged."""
    if opened is None or opened.writer in PROGRAM:
        return tuple(rows)
    return tuple(_measured(each, opened.host) for each in rows)


def events_of(journal: str, told: Told) -> list[Event]:
    """The lasting records of a piece, and where the program made sure of its rows."""
    return [
        Event(record.at_ns, journal, told.piece.offset + at, type(record).__name__, msgspec.to_builtins(record))
        for at, record in told.records
        if isinstance(record, (*LASTING, Flushed, MediaLost))
    ]


def _packed(told: Told) -> Iterator[Rows]:
    for schema, stretches in told.packed:
        places, words = read_packed(told.piece.data, stretches)
        steps, at_ns = words[0].view(np.int64), words[1].view(np.int64)
        yield Rows(schema.declared.keys, steps, at_ns, places + told.piece.offset, _numbers(words[2:], schema))


def _numbers(words: "np.typing.NDArray[np.uint64]", schema: Schema) -> Floats:
    types = schema.declared.types
    if set(types) <= {"d"}:
        return words.view(np.float64)
    columns = [
        line.view(np.float64) if code == "d" else line.view(np.int64).astype(np.float64)
        for code, line in zip(types, words, strict=True)
    ]
    return np.stack(columns)


def _loose(told: Told) -> Iterator[Rows]:
    """Numbers in rows that were not packed, key by key: such rows may all have different keys."""
    by_key: dict[str, list[tuple[int, int, int, float]]] = {}
    for at, row in told.loose:
        for key, value in row.values.items():
            if (number := _as_number(value)) is not None:
                by_key.setdefault(key, []).append((row.step, row.at_ns, told.piece.offset + at, number))
    for key, found in by_key.items():
        steps, times, offsets, values = zip(*found, strict=True)
        yield Rows(
            (key,),
            np.array(steps, np.int64),
            np.array(times, np.uint64).view(np.int64),
            np.array(offsets, np.int64),
            np.array([values], np.float64),
        )


def _joined(one: Rows, other: Rows) -> Rows:
    offsets = np.concatenate([one.offsets, other.offsets])
    order = np.argsort(offsets)
    return Rows(
        one.keys,
        np.concatenate([one.steps, other.steps])[order],
        np.concatenate([one.at_ns, other.at_ns])[order],
        offsets[order],
        np.concatenate([one.values, other.values], axis=1)[:, order],
    )


def _measured(rows: Rows, host: str) -> Rows:
    return Rows(
        tuple(f"{SYSTEM}{host}/{key.removeprefix(SYSTEM)}" for key in rows.keys),
        # Its own count begins anew with each attempt; milliseconds go on.
        rows.at_ns // _MS,
        rows.at_ns,
        rows.offsets,
        rows.values,
    )


def _as_number(value: object) -> float | None:
    if not isinstance(value, bool | int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None
