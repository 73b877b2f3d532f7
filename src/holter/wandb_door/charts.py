"""W&B's charts by the names of their descriptions, and the small types around media."""

from typing import Any

from holter.client.media.plot import Chart
from holter.client.media.table import Table
from holter.wandb_door.saying import say

# W&B's descriptions, what they are here, and whose column is what.
_KNOWN: dict[str, tuple[str, dict[str, str]]] = {
    "line": ("line", {"x": "x", "y": "y", "stroke": "series"}),
    "scatter": ("scatter", {"x": "x", "y": "y"}),
    "bar": ("bar", {"label": "label", "value": "value"}),
    "histogram": ("histogram", {"value": "value"}),
    "lineseries": ("line", {"step": "x", "lineVal": "y", "lineKey": "series"}),
    "area-under-curve": ("line", {"x": "x", "y": "y", "class": "series"}),
    "confusion_matrix": (
        "confusion",
        {"Actual": "actual", "Predicted": "predicted", "nPredictions": "count"},
    ),
}


def plot_table(
    vega_spec_name: str, data_table: Any, fields: Any, string_fields: Any = None, split_table: bool = False
) -> Any:
    """A chart by the name of W&B's description; with another's the table itself is what is recorded."""
    if not isinstance(data_table, Table):
        say("plot_table", f"plot_table() takes a Table, got {type(data_table).__name__}: it is logged as it is")
        return data_table
    name = vega_spec_name.removeprefix("wandb/").partition("/")[0]
    if name not in _KNOWN or not vega_spec_name.startswith("wandb/"):
        say(f"chart {name}", f"{vega_spec_name!r} is no chart that is known here: its table is recorded as a table")
        return data_table
    shape, columns = _KNOWN[name]
    found = {ours: fields[theirs] for theirs, ours in columns.items() if fields.get(theirs)}
    return Chart(data_table, shape, title=(string_fields or {}).get("title", ""), fields=found)


def visualize(id: str, value: Any) -> Any:  # noqa: A002  W&B's word
    """W&B's older word: the table itself is what is recorded."""
    return plot_table(id, value, {})


class Classes:
    """The names of classes in masks and boxes: `[{"id": 0, "name": "road"}]`, for `Image(classes=…)`."""

    def __init__(self, class_set: Any) -> None:
        self._class_set = list(class_set)


def JoinedTable(table1: Any, table2: Any, join_key: str) -> Any:  # noqa: N802  W&B's word
    """Rows of two tables that have the same value in a column, as a table."""
    if not isinstance(table1, Table) or not isinstance(table2, Table):
        say(
            "JoinedTable",
            "JoinedTable() joins two Tables here: paths and artifacts are not read, and nothing is recorded",
        )
        return Table(columns=[join_key])
    place, other = table1.columns.index(join_key), table2.columns.index(join_key)
    right = {row[other]: row for row in table2.data}
    rows = [[*row, *_without(right[row[place]], other)] for row in table1.data if row[place] in right]
    taken = _without(table2.columns, other)
    named = [name if name not in table1.columns else f"{name}_2" for name in taken]
    return Table(columns=[*table1.columns, *named], data=rows)


def _without(row: list[Any], place: int) -> list[Any]:
    return [*row[:place], *row[place + 1 :]]
