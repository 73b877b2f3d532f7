"""Translates filters and sort orders of runs into SQL. Pure; means the same as `storage/matching.py`."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, assert_never

from holter.storage.filters import All, Among, Any, Compare, Filter, Mentions, Not, Value
from holter.storage.matching import ascii_lower
from holter.storage.run_fields import NUMBERS, PREFIXES
from holter.storage.runs import RunQuery, SortKey

_IS_LATE = "(r.heard_ns IS NOT NULL AND :now_ns - r.heard_ns > :crashed_ns)"
_ENDED_NS = f"(CASE WHEN {_IS_LATE} THEN r.late_ended_ns ELSE r.ended_ns END)"
_PASSED_NS = f"(COALESCE({_ENDED_NS}, :now_ns - r.ahead_ns) - r.started_ns)"


def _seconds(column: str) -> str:
    return f"(CAST({column} AS DOUBLE PRECISION) / 1e9)"


_FIELDS = {
    "group": "r.group_name",
    "state": f"(CASE WHEN {_IS_LATE} THEN r.late_state ELSE r.state END)",
    "because": f"(CASE WHEN {_IS_LATE} THEN r.late_because ELSE r.because END)",
    "started_at": _seconds("r.started_ns"),
    "ended_at": _seconds(_ENDED_NS),
    "duration_s": f"(CASE WHEN {_PASSED_NS} > 0 THEN {_seconds(_PASSED_NS)} ELSE 0 END)",
    "heard_at": _seconds("r.heard_ns"),
    "last_row_at": _seconds("r.last_row_ns"),
}

_MOST_IN_A_ROW = 200
_NEVER_MISSING = ("id", "project")

NumberOfKey = Callable[[str], int]


class Driver(NamedTuple):
    """A condition that every run must meet, as one range of an index of `kv d`, and what they must meet beside it."""

    condition: str
    others: str


class RunSql:
    """The pieces of one query, and the parameters that they name."""

    def __init__(self, query: RunQuery, number_of_key: NumberOfKey) -> None:
        self.parameters: dict[str, str | float | int | None] = {
            "now_ns": query.now_ns,
            "crashed_ns": int(query.lateness.crashed_s * 1e9),
            "infinity": math.inf,
        }
        self._number_of_key = number_of_key
        self.is_search = False
        """Whether all texts are looked at: then once, for all pages and their number."""
        parts = list(_conditions(query.where))
        written = [self._filter(part) for part in parts]
        self.where = " AND ".join(written) or "TRUE"
        self._sort(query.sort)
        self.drivers: list[Driver] = []
        self.walked = ""
        """Conditions that the value sorted by first, `s0.num`, must meet."""
        for place, part in enumerate(parts):
            self._add_driver(part, query.sort, others=" AND ".join(written[:place] + written[place + 1 :]) or "TRUE")

    def _name(self, value: Value) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = float(value) if isinstance(value, bool) else value
        return f":{name}"

    def _filter(self, filtered: Filter) -> str:
        match filtered:
            case Compare():
                return self._compare(filtered.field, filtered.operator, filtered.value)
            case Among():
                return _joined([self._compare(filtered.field, "=", value) for value in filtered.values], "OR")
            case Not():
                return f"(NOT {self._filter(filtered.inner)})"
            case All():
                return _joined([self._filter(part) for part in filtered.parts], "AND")
            case Any():
                return _joined([self._filter(part) for part in filtered.parts], "OR")
            case Mentions():
                return self._mentions(filtered)
            case _:
                assert_never(filtered)

    def _mentions(self, said: Mentions) -> str:
        # One look at all texts, and a set of runs, cost less than to look each run up.
        self.is_search = True
        needle = self._name(ascii_lower(said.text))
        found = f"r.number IN (SELECT w.run FROM words w WHERE INSTR(w.text, {needle}) > 0)"
        if said.number is None:
            return f"({found})"
        equal = f"v.key = k.number AND v.num = {self._name(said.number)}"
        keys = f"key k CROSS JOIN kv v INDEXED BY kv_num ON {equal} WHERE k.name LIKE 'config.%'"
        return f"({found} OR r.number IN (SELECT v.run FROM {keys}))"

    def _compare(self, field: str, operator: str, value: Value) -> str:
        if operator.startswith("!"):
            return f"(NOT {self._compare(field, operator[1:], value)})"
        if field.startswith(PREFIXES):
            return self._compare_kv(self._number_of_key(field), operator, value)
        if field == "tags":
            return self._compare_tags(operator, value)
        column = column_of(field)
        if value is None:
            return f"({column} IS NULL)" if operator == "=" else "FALSE"
        is_text = field not in NUMBERS
        if operator == "~":
            return self._contains(column, value) if is_text else "FALSE"
        if is_text != isinstance(value, str):
            return "FALSE"
        compared = f"{column} {operator} {self._name(value)}"
        # An index serves a condition that is as plain as this.
        return f"({compared})" if field in _NEVER_MISSING else f"COALESCE({compared}, FALSE)"

    def _compare_kv(self, key: int, operator: str, value: Value) -> str:
        place = f"SELECT 1 FROM kv v WHERE v.key = {key} AND v.run = r.number"
        if value is None:
            return f"(NOT EXISTS ({place}))" if operator == "=" else "FALSE"
        if operator == "~":
            return f"EXISTS ({place} AND {self._contains('v.text', value)})"
        column = "text" if isinstance(value, str) else "num"
        return f"EXISTS ({place} AND v.{column} {operator} {self._name(value)})"

    def _add_driver(self, part: Filter, sort: tuple[SortKey, ...], *, others: str) -> None:
        if not isinstance(part, Compare) or part.value is None or part.operator not in ("=", "<", "<=", ">", ">="):
            return
        if part.field.startswith(PREFIXES):
            column = "text" if isinstance(part.value, str) else "num"
            compared = f"{part.operator} {self._name(part.value)}"
            self.drivers.append(Driver(f"d.key = {self._number_of_key(part.field)} AND d.{column} {compared}", others))
            if column == "num" and sort and sort[0].field == part.field:
                self.walked += f" AND s0.num {compared}"

    def _compare_tags(self, operator: str, value: Value) -> str:
        if value is None:
            return "(r.tags = '')" if operator == "=" else "FALSE"
        if not isinstance(value, str):
            return "FALSE"
        if operator == "=":
            between = f"\n{value}\n"
            return f"(INSTR(r.tags, {self._name(between)}) > 0)"
        if operator == "~":
            return self._contains("r.tags", value)
        compared = f"t.value {operator} {self._name(value)}"
        return f"EXISTS (SELECT 1 FROM JSON_EACH(r.tags_json) t WHERE {compared})"

    def _contains(self, column: str, value: Value) -> str:
        return f"COALESCE(INSTR(LOWER({column}), {self._name(ascii_lower(str(value)))}) > 0, FALSE)"

    def _sort(self, keys: tuple[SortKey, ...]) -> None:
        joins, order = [], []
        for number, key in enumerate(keys):
            down = " DESC" if key.is_descending else ""
            if key.field.startswith(PREFIXES):
                joins.append(
                    f" LEFT JOIN kv s{number} ON s{number}.run = r.number"
                    f" AND s{number}.key = {self._number_of_key(key.field)}"
                )
                value, text = f"s{number}.num", f"s{number}.text"
                kind = f"CASE WHEN {value} IS NULL THEN 2 WHEN ABS({value}) = :infinity THEN 1 ELSE 0 END"
                order.append(f"{kind}, {value}{down}, {text} IS NULL, {text}{down}")
            elif key.field == "started_at":
                joins.append("")
                order.append(f"r.started_ns{down}")  # never missing, and there is an index
            else:
                column = column_of(key.field)
                joins.append("")
                order.append(f"{column} IS NULL, {column}{down}")
        self.joins, self.order = "".join(joins), ", ".join([*order, "r.id"])
        self.other_joins = "".join(joins[1:])
        down = " DESC" if keys and keys[0].is_descending else ""
        self.walked_order = ", ".join([f"s0.num{down}", *order[1:], "r.id"])


def column_of(field: str) -> str:
    """What a field that is no prefix's is in SQL; with the parameters of a `RunSql`."""
    return _FIELDS.get(field, f"r.{field}")


def _conditions(filtered: Filter | None) -> Iterator[Filter]:
    """What must all hold."""
    if isinstance(filtered, All):
        for part in filtered.parts:
            yield from _conditions(part)
    elif filtered is not None:
        yield filtered


def _joined(parts: list[str], word: str) -> str:
    """In groups, where they are many: SQLite takes no expression that is a thousand deep."""
    if len(parts) > _MOST_IN_A_ROW:
        parts = [_joined(parts[at : at + _MOST_IN_A_ROW], word) for at in range(0, len(parts), _MOST_IN_A_ROW)]
    return f"({f' {word} '.join(parts)})" if parts else "FALSE"
