"""Which runs fit a question, and in which order. Pure; says what engines that translate it must agree with."""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any as Whatever
from typing import assert_never

from holter.model.run_row import RunRow
from holter.storage.filters import All, Among, Any, Compare, Filter, Mentions, Not, Value
from holter.storage.run_fields import flat_fields, plain_fields
from holter.storage.runs import RunPage, RunQuery, SortKey

SEARCHED = ("id", "name", "notes", "host")
"""Fields that a search looks at, beside tags and configuration."""
_UPPER_TO_LOWER = {code: code + 32 for code in range(65, 91)}


Named = tuple[RunRow, Mapping[str, Whatever]]


def select(rows: Iterable[RunRow], query: RunQuery) -> RunPage:
    """The page of a question, of rows as they are at its moment."""
    found: list[Named] = [(row, plain_fields(row) | flat_fields(row)) for row in sorted(rows, key=lambda row: row.id)]
    found = [(row, fields) for row, fields in found if query.where is None or matches(query.where, fields)]
    for key in reversed(query.sort):
        found = _sorted(found, key)
    page = [row for row, _ in found[query.start : query.start + query.count]]
    return RunPage(page, len(found) if query.is_counted else None)


def matches(filtered: Filter, fields: Mapping[str, Whatever]) -> bool:
    """Fields are those of `plain_fields` and `flat_fields`."""
    match filtered:
        case Compare():
            return _compares(fields.get(filtered.field), filtered.operator, filtered.value)
        case Among():
            return any(_compares(fields.get(filtered.field), "=", value) for value in filtered.values)
        case Not():
            return not matches(filtered.inner, fields)
        case All():
            return all(matches(part, fields) for part in filtered.parts)
        case Any():
            return any(matches(part, fields) for part in filtered.parts)
        case Mentions():
            return _mentions(fields, filtered)
        case _:
            assert_never(filtered)


def ascii_lower(text: str) -> str:
    """As databases do it."""
    return text.translate(_UPPER_TO_LOWER)


def _mentions(fields: Mapping[str, Whatever], said: Mentions) -> bool:
    configured = [value for name, value in fields.items() if name.startswith("config.")]
    texts = [*(fields[name] for name in SEARCHED), *fields["tags"], *(each for each in configured if type(each) is str)]
    needle = ascii_lower(said.text)
    return any(needle in ascii_lower(text) for text in texts) or (said.number is not None and said.number in configured)


def _compares(found: Whatever, operator: str, value: Value) -> bool:
    if operator.startswith("!"):
        return not _compares(found, operator[1:], value)
    if isinstance(found, tuple):
        return not found if value is None else any(_compares(each, operator, value) for each in found)
    if found is None or value is None:
        return operator == "=" and found is None and value is None
    if operator == "~":
        return isinstance(found, str) and ascii_lower(str(value)) in ascii_lower(found)
    if isinstance(found, str) != isinstance(value, str):
        return False
    return _holds(found, operator, value)


def _holds(found: Whatever, operator: str, value: Whatever) -> bool:
    match operator:
        case "=":
            return bool(found == value)
        case "<":
            return bool(found < value)
        case "<=":
            return bool(found <= value)
        case ">":
            return bool(found > value)
        case _:
            return bool(found >= value)


def _sorted(found: list[Named], key: SortKey) -> list[Named]:
    """Finite numbers, infinite ones, texts, each upwards or downwards; then runs without a value."""

    def value(pair: Named) -> Whatever:
        held = pair[1].get(key.field)
        return "".join(f"\n{tag}\n" for tag in held) if isinstance(held, tuple) else held

    numbers = [pair for pair in found if isinstance(value(pair), int | float)]
    finite = [pair for pair in numbers if math.isfinite(value(pair))]
    infinite = [pair for pair in numbers if not math.isfinite(value(pair))]
    texts = [pair for pair in found if isinstance(value(pair), str)]
    without = [pair for pair in found if value(pair) is None]
    # Python keeps equal ones in order also when it sorts downwards.
    ordered = [sorted(part, key=value, reverse=key.is_descending) for part in (finite, infinite, texts)]
    return [*itertools.chain(*ordered), *without]
