"""A run's row as named fields, at one moment. Pure; every engine answers with these."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from holter.model.state import Lateness
from holter.storage.runs import PLAIN_FIELDS, RunRow

NUMBERS = frozenset("attempt rows steps last_step started_at ended_at duration_s heard_at last_row_at".split())
TIMES = frozenset("started_at ended_at heard_at last_row_at".split())
TEXTS = frozenset(PLAIN_FIELDS) - NUMBERS - {"tags"}
PREFIXES = ("config.", "summary.")

Plain = str | float | None


def is_late(row: RunRow, now_ns: int, lateness: Lateness, /) -> bool:
    """Whether so long was nothing heard of a run that it counts as dead."""
    return row.heard_ns is not None and now_ns - row.heard_ns > lateness.crashed_s * 1e9


def is_stale(row: RunRow, now_ns: int, lateness: Lateness, /) -> bool:
    """Whether a running run is late, but not yet so late."""
    if row.heard_ns is None or is_late(row, now_ns, lateness) or row.state != "running":
        return False
    return now_ns - row.heard_ns > lateness.stale_s * 1e9


def plain_fields(row: RunRow, *, now_ns: int, lateness: Lateness) -> dict[str, Any]:
    """All fields but configuration and summary; times are seconds since 1970."""
    late = is_late(row, now_ns, lateness)
    ended_ns = row.late_ended_ns if late else row.ended_ns
    return {
        "id": row.id,
        "name": row.name,
        "project": row.project,
        "entity": row.entity,
        "group": row.group,
        "job_type": row.job_type,
        "notes": row.notes,
        "host": row.host,
        "state": row.late_state if late else row.state,
        "because": row.late_because if late else row.because,
        "cause": row.cause,
        "attempt": row.attempt,
        "rows": row.rows,
        "steps": row.steps,
        "last_step": row.last_step,
        "started_at": row.started_ns / 1e9,
        "ended_at": _seconds(ended_ns),
        "duration_s": max(0, (now_ns - row.ahead_ns if ended_ns is None else ended_ns) - row.started_ns) / 1e9,
        "heard_at": _seconds(row.heard_ns),
        "last_row_at": _seconds(row.last_row_ns),
        "tags": list(row.tags),
    }


def flat_fields(row: RunRow) -> dict[str, Plain]:
    """Configuration and summary as `config.optimizer.lr`: numbers and text as such, anything else as JSON."""
    return dict([*_flat("config", row.config), *_flat("summary", row.summary)])


def shown_fields(row: RunRow, columns: tuple[str, ...], *, now_ns: int, lateness: Lateness) -> dict[str, Any]:
    """What a query answers for a run."""
    plain = plain_fields(row, now_ns=now_ns, lateness=lateness)
    plain["is_stale"] = is_stale(row, now_ns, lateness)
    plain["ahead_s"] = row.ahead_ns / 1e9
    if not columns:
        return {**plain, "config": row.config, "summary": row.summary}
    shown = {}
    for column in columns:
        found = plain.get(column) if column in plain else _lookup(row, column)
        if found is not None:
            shown[column] = found
    return shown


def _lookup(row: RunRow, column: str) -> Any:
    """The value under a name with dots in it, where keys may have dots of their own."""
    head, _, rest = column.partition(".")
    tree: Any = {"config": row.config, "summary": row.summary}.get(head)
    return _dig(tree, rest) if rest else tree


def _dig(tree: Any, path: str) -> Any:
    if not isinstance(tree, Mapping):
        return None
    if path in tree:
        return tree[path]
    for cut in (place for place, letter in enumerate(path) if letter == "."):
        if path[:cut] in tree and (found := _dig(tree[path[:cut]], path[cut + 1 :])) is not None:
            return found
    return None


def _flat(name: str, value: Any) -> Iterator[tuple[str, Plain]]:
    match value:
        case None:
            return
        case bool() | int() | float():
            yield name, _number(value)
        case str():
            yield name, value
        case Mapping():
            for key, inner in value.items():
                yield from _flat(f"{name}.{key}", inner)
        case _:
            yield name, msgspec.json.encode(value, enc_hook=str).decode()


def _number(value: float) -> Plain:
    try:
        number = float(value)
    except OverflowError:  # an integer of hundreds of digits
        return str(value)
    return "NaN" if math.isnan(number) else number


def _seconds(at_ns: int | None) -> float | None:
    return None if at_ns is None else at_ns / 1e9
