"""A run's row as named fields, to filter and sort by. Pure."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from holter.model.run_row import RunRow
from holter.storage.runs import PLAIN_FIELDS

NUMBERS = frozenset("attempt rows steps last_step started_at ended_at duration_s heard_at last_row_at".split())
TIMES = frozenset("started_at ended_at heard_at last_row_at".split())
TEXTS = frozenset(PLAIN_FIELDS) - NUMBERS - {"tags"}
PREFIXES = ("config.", "summary.")
COLUMNS = (*PLAIN_FIELDS, "config", "summary", "is_stale", "ahead_s")
"""What a table can have beside what is under the prefixes."""

Plain = str | float | None


def plain_fields(row: RunRow) -> dict[str, Any]:
    """All fields but configuration and summary."""
    return row.told(PLAIN_FIELDS)


def flat_fields(row: RunRow) -> dict[str, Plain]:
    """Configuration and summary as `config.optimizer.lr`: numbers and text as such, anything else as JSON."""
    return dict([*_flat("config", row.config), *_flat("summary", row.summary)])


def value_of(row: RunRow, name: str) -> Any:
    """What a run has under a name such as `config.net.depth`, None for nothing. Keys may have dots of their own."""
    if name in COLUMNS:
        return getattr(row, name)
    head, _, rest = name.partition(".")
    return _dig(getattr(row, head), rest) if head in ("config", "summary") else None


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
