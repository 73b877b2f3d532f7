"""Filters and orders in W&B's words, which are MongoDB's, as holter's filter texts. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from holter.errors import UsageError

_FIELDS = {
    "name": "id",
    "display_name": "name",
    "displayName": "name",
    "created_at": "started_at",
    "createdAt": "started_at",
    "inserted_at": "started_at",
    "updated_at": "last_row_at",
    "updatedAt": "last_row_at",
    "heartbeat_at": "heard_at",
    "heartbeatAt": "heard_at",
    "jobType": "job_type",
    "duration": "duration_s",
    "description": "notes",
    "historyLineCount": "rows",
    "runHistoryLineCount": "rows",
}
_COMPARED = {"$eq": "=", "$ne": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_JOINED = {"$and": " and ", "$or": " or ", "$nor": " or "}
_PLAIN_REGEX = re.compile(r"[\w\s/:,@%&=<>!~'-]*")


def filter_text(filters: Mapping[str, Any]) -> str:
    """The filter that W&B's dict means. Raises UsageError for what can't be said here."""
    return " and ".join(_clause(name, value) for name, value in filters.items())


def sort_text(order: str) -> str:
    """`-created_at` and the like."""
    parts = [part.strip() for part in order.split(",") if part.strip()]
    return ", ".join(f"{'-' if part.startswith('-') else ''}{field(part.lstrip('+-'))}" for part in parts)


def field(name: str) -> str:
    """What W&B calls a field is called here."""
    for theirs, ours in (("summary_metrics.", "summary."), ("summaryMetrics.", "summary."), ("config.", "config.")):
        if name.startswith(theirs):
            rest = name.removeprefix(theirs)
            # W&B keeps a value of the configuration beside a description, and some name that.
            return ours + (rest.removesuffix(".value") if ours == "config." else rest)
    return _FIELDS.get(name, name)


def _clause(name: str, value: Any) -> str:
    if name in _JOINED:
        text = _JOINED[name].join(f"({filter_text(part)})" for part in value)
        return f"not ({text})" if name == "$nor" else f"({text})"
    if name == "$not":
        return f"not ({filter_text(value)})"
    if name.startswith("$"):
        raise UsageError(f"the operator {name} of a filter is not supported: there are {', '.join(_known())}")
    ours = field(name)
    if isinstance(value, Mapping) and value and all(str(each).startswith("$") for each in value):
        return " and ".join(_operation(ours, operator, operand) for operator, operand in value.items())
    return f"{_quoted(ours)} = {_value(value)}"


def _operation(name: str, operator: str, operand: Any) -> str:
    quoted = _quoted(name)
    if operator in _COMPARED:
        return f"{quoted} {_COMPARED[operator]} {_value(operand)}"
    if operator in ("$in", "$nin"):
        values = [_value(each) for each in operand]
        if not values:
            return f"{'not ' if operator == '$in' else ''}(id != null)"
        return f"{quoted} {'not ' if operator == '$nin' else ''}in ({', '.join(values)})"
    if operator == "$exists":
        return f"{quoted} {'!=' if operand else '='} null"
    if operator == "$not":
        inner = operand if isinstance(operand, Mapping) else {"$eq": operand}
        return f"not ({' and '.join(_operation(name, each, value) for each, value in inner.items())})"
    if operator == "$regex":
        return _matching(quoted, str(getattr(operand, "pattern", operand)))
    raise UsageError(f"the operator {operator} of a filter is not supported: there are {', '.join(_known())}")


def _matching(name: str, pattern: str) -> str:
    text = pattern.removeprefix(".*").removesuffix(".*")
    is_whole = text.startswith("^") and text.endswith("$")
    text = text.removeprefix("^") if is_whole else text
    text = text.removesuffix("$") if is_whole else text
    if not _PLAIN_REGEX.fullmatch(text):
        raise UsageError(
            f"$regex {pattern!r} can't be asked for: a plain text is searched for, `^text$` compared; for more, go"
            " through the runs and use `re`"
        )
    return f"{name} {'=' if is_whole else '~'} {_value(text)}"


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _quoted(name: str) -> str:
    return f'"{name}"' if re.search(r"""[\s"'=!<>~(),]""", name) else name


def _known() -> list[str]:
    return [*_JOINED, "$not", *_COMPARED, "$in", "$nin", "$exists", "$regex"]
