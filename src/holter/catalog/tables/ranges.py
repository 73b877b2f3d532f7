"""The least and the largest number of each column of a table; NaN and infinities are none."""

import importlib
import math
from collections.abc import Sequence
from typing import Any

Range = tuple[float, float]


def ranges_of(table: Any, columns: Sequence[dict[str, str]]) -> dict[str, Range]:
    """Of each column of numbers that has one."""
    found = {name: _range_of(table[name]) for name in _numeric(columns) if name in table.column_names}
    return {name: each for name, each in found.items() if each}


def ranges_told(opened: Any, columns: Sequence[dict[str, str]]) -> dict[str, Range]:
    """The same of a Parquet file, which tells them without being read. Raises what pyarrow raises."""
    metadata = opened.metadata
    places = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
    found: dict[str, Range] = {}
    for name in _numeric(columns):
        if name not in places:
            continue
        told = [metadata.row_group(group).column(places[name]).statistics for group in range(metadata.num_row_groups)]
        ends = [float(end) for each in told if each is not None and each.has_min_max for end in (each.min, each.max)]
        # One by one: pyarrow 26 crashes where statistics are compared with None.
        if any(each is None for each in told) or not all(map(math.isfinite, ends)):
            # An infinity hides the others: they have to be looked at.
            ends = list(_range_of(opened.read(columns=[name])[name]) or ())
        if ends:
            found[name] = min(ends), max(ends)
    return found


def _numeric(columns: Sequence[dict[str, str]]) -> list[str]:
    return [each["name"] for each in columns if each["type"] == "number"]


def _range_of(cells: Any) -> Range | None:
    compute = importlib.import_module("pyarrow.compute")
    ends = compute.min_max(cells).as_py()
    if ends["min"] is None or not math.isfinite(ends["min"]) or not math.isfinite(ends["max"]):
        ends = compute.min_max(cells.filter(compute.is_finite(cells))).as_py()
    return None if ends["min"] is None else (float(ends["min"]), float(ends["max"]))
