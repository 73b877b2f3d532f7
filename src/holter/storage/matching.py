"""Whether a run fits a filter. Pure; says what engines that translate filters must agree with."""

from collections.abc import Mapping
from typing import Any as Whatever
from typing import assert_never

from holter.storage.filters import All, Among, Any, Compare, Filter, Not, Value

_UPPER_TO_LOWER = {code: code + 32 for code in range(65, 91)}


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
        case _:
            assert_never(filtered)


def ascii_lower(text: str) -> str:
    """As databases do it."""
    return text.translate(_UPPER_TO_LOWER)


def _compares(found: Whatever, operator: str, value: Value) -> bool:
    if operator.startswith("!"):
        return not _compares(found, operator[1:], value)
    if isinstance(found, list):
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
