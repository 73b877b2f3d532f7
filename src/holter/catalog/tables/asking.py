"""A page of a logged table: sorted, filtered, and what its columns hold."""

import importlib
import json
import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec

from holter.catalog.tables.ranges import Range, ranges_of, ranges_told
from holter.catalog.tables.reading import PARQUET, TableFile, open_parquet, pyarrow, read_whole
from holter.errors import NotReadable, UsageError

KEPT_BYTES = 512 << 20
MOST_CELL = 2000
BINS, TOP = 20, 5
EMPTY = "empty"
"""What a column without a cell is called in its file: in another part of the table it may be anything."""
OPERATORS = {"=": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
Condition = tuple[str, str, str | float | bool | None]
"""A column (empty for any text), an operator of those above or `contains`, and a value."""


class TableQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows."""

    offset: int = 0
    limit: int = 50
    sort: str = ""
    is_descending: bool = False
    where: tuple[Condition, ...] = ()
    with_stats: bool = False


class ColumnStats(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a column holds, over all rows that the filter leaves."""

    name: str
    missing: int = 0
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    counts: list[int] = []
    """How many numbers lie in each of equal parts from the lowest to the highest."""
    distinct: int | None = None
    top: list[tuple[str, int]] = []
    """The most frequent texts, and how often they come."""


class TablePage(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a table. Cells of the type `media` are maps with a `path`; NaN and ±Infinity are texts."""

    columns: list[dict[str, str]]
    """`name` and `type` of each: number, text, boolean, time, json or media."""
    rows: list[list[Any]]
    total: int
    """All rows that the filter leaves."""
    stats: list[ColumnStats] = []
    ranges: dict[str, tuple[float, float]] = {}
    """The least and the largest number of each column of numbers, over all rows, whatever the filter leaves."""


class Tables:
    """Answers questions about tables, and keeps those that were asked about last. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Any, dict[str, Range]]] = OrderedDict()
        self._lock = threading.Lock()

    def ask(self, name: str, files: Sequence[TableFile], query: TableQuery, /) -> TablePage:
        """A page of the table that these files are; `name` stands for them. Raises UsageError, NotReadable."""
        columns = _columns(files)
        if not (query.sort or query.where or query.with_stats) and len(files) == 1 and files[0].ext == PARQUET:
            total, rows, ranges = _some_rows(files[0], query)
            return TablePage(columns=columns, rows=_shown(rows, columns), total=total, ranges=ranges)
        table, ranges = self._whole(name, files, columns)
        columns = [each for each in columns if each["name"] in table.column_names]
        table = _filtered(table, query.where)
        stats = [_stats(table, each) for each in columns] if query.with_stats else []
        page = _sorted(table, query) if query.sort else table.slice(query.offset, query.limit)
        rows = _shown(page, columns)
        return TablePage(columns=columns, rows=rows, total=table.num_rows, stats=stats, ranges=ranges)

    def _whole(
        self, name: str, files: Sequence[TableFile], columns: Sequence[dict[str, str]], /
    ) -> tuple[Any, dict[str, Range]]:
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        table = read_whole(files)
        found = table, ranges_of(table, columns)
        with self._lock:
            self._kept[name] = found
            while len(self._kept) > 1 and sum(each.nbytes for each, _ in self._kept.values()) > KEPT_BYTES:
                self._kept.popitem(last=False)
        return found


def _columns(files: Sequence[TableFile]) -> list[dict[str, str]]:
    found: dict[str, str] = {}
    for file in files:
        for each in file.columns:
            kind = found.setdefault(each["name"], each["type"])
            kinds = {kind, each["type"]} - {EMPTY}
            found[each["name"]] = kinds.pop() if len(kinds) == 1 else "text" if kinds else EMPTY
    return [{"name": name, "type": "text" if kind == EMPTY else kind} for name, kind in found.items()]


def _some_rows(file: TableFile, query: TableQuery) -> tuple[int, Any, dict[str, Range]]:
    """Only the parts of the file that hold these rows, and what it tells of all."""
    arrow = pyarrow()
    opened = open_parquet(file)
    try:
        total, first, start = opened.metadata.num_rows, 0, 0
        wanted: list[int] = []
        for group in range(opened.metadata.num_row_groups):
            count = opened.metadata.row_group(group).num_rows
            if first + count > query.offset and first < query.offset + query.limit:
                start = start if wanted else first
                wanted.append(group)
            first += count
        table = opened.read_row_groups(wanted) if wanted else opened.schema_arrow.empty_table()
        ranges = ranges_told(opened, file.columns)
    except (arrow.ArrowInvalid, OSError) as error:
        raise NotReadable(f"the table can't be read: {error}") from error
    return total, table.slice(max(0, query.offset - start), query.limit), ranges


def _sorted(table: Any, query: TableQuery) -> Any:
    compute = importlib.import_module("pyarrow.compute")
    if query.sort not in table.column_names:
        raise UsageError(f"the table has no column {query.sort[:100]!r}: it has {', '.join(table.column_names[:50])}")
    order = "descending" if query.is_descending else "ascending"
    column = table[query.sort].combine_chunks()
    stop = query.offset + query.limit
    if stop <= 10_000 and not column.null_count and column.type != pyarrow().bool_():
        # The first pages of a million rows need no whole order.
        one = pyarrow().table({"c": column, "n": _numbered(column)})
        keys = [("c", order), ("n", "ascending")]
        places = compute.select_k_unstable(one, k=min(stop, len(column)), sort_keys=keys)
    else:
        places = compute.array_sort_indices(column, order=order)
    return table.take(places.slice(query.offset, query.limit))


def _numbered(column: Any) -> Any:
    import numpy as np

    return np.arange(len(column))


def _filtered(table: Any, where: Sequence[Condition]) -> Any:
    compute = importlib.import_module("pyarrow.compute")
    arrow = pyarrow()
    for name, operator, value in where:
        try:
            if operator == "contains":
                named = [name] if name else table.column_names
                masks = [_contains(arrow, compute, table[each], str(value)) for each in named]
                mask = masks[0] if masks else None
                for other in masks[1:]:
                    mask = compute.or_kleene(mask, other)
            elif operator in OPERATORS:
                column = table[name]
                given = arrow.scalar(value) if value is not None else arrow.scalar(None, column.type)
                if value is None:
                    mask = compute.is_null(column) if operator == "=" else compute.is_valid(column)
                else:
                    is_text = arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type)
                    given = arrow.scalar(str(value)) if is_text else given
                    mask = getattr(compute, OPERATORS[operator])(column, given)
            else:
                raise UsageError(f"a filter has one of {', '.join([*OPERATORS, 'contains'])}; got {operator[:20]!r}")
        except KeyError:
            raise UsageError(f"the table has no column {name[:100]!r}") from None
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError) as error:
            raise UsageError(f"the column {name[:100]!r} can't be compared with {str(value)[:50]!r}: {error}") from None
        table = table.filter(mask) if mask is not None else table
    return table


def _contains(arrow: Any, compute: Any, column: Any, text: str, /) -> Any:
    texts = column if arrow.types.is_string(column.type) else column.cast(arrow.string())
    return compute.fill_null(compute.match_substring(texts, text, ignore_case=True), False)


def _stats(table: Any, column: dict[str, str]) -> ColumnStats:
    compute = importlib.import_module("pyarrow.compute")
    cells = table[column["name"]]
    if column["type"] == "number":
        return _numbers(cells, column["name"])
    if column["type"] not in ("text", "boolean"):
        return ColumnStats(name=column["name"], missing=cells.null_count)
    counted = compute.value_counts(cells.drop_null())
    counts = counted.field("counts")
    best = compute.array_sort_indices(counts, order="descending").slice(0, TOP)
    top = [(str(counted[place.as_py()]["values"])[:200], counted[place.as_py()]["counts"].as_py()) for place in best]
    return ColumnStats(name=column["name"], missing=cells.null_count, distinct=len(counted), top=top)


def _numbers(cells: Any, name: str) -> ColumnStats:
    import numpy as np

    values = cells.drop_null().to_numpy().astype(float)
    finite = values[np.isfinite(values)]
    if not finite.size:
        return ColumnStats(name=name, missing=cells.null_count)
    low, high = float(finite.min()), float(finite.max())
    counts, _ = np.histogram(finite, BINS, (low, high if high > low else low + 1))
    return ColumnStats(
        name=name, missing=cells.null_count, low=low, high=high, mean=float(finite.mean()), counts=counts.tolist()
    )


def _shown(table: Any, columns: Sequence[dict[str, str]]) -> list[list[Any]]:
    """Row by row, as JSON can say it."""
    kinds = {each["name"]: each["type"] for each in columns}
    lists = [
        [_cell(cell, kinds.get(name, "text")) for cell in table.column(place).to_pylist()]
        for place, name in enumerate(table.column_names)
    ]
    return [list(row) for row in zip(*lists, strict=True)]


def _cell(cell: Any, kind: str) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return str(cell)
    if isinstance(cell, int) and abs(cell) > 1 << 53:
        return str(cell)  # more than a number of JavaScript holds
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    if kind == "media":
        try:
            return json.loads(cell)
        except (ValueError, TypeError, RecursionError):
            return None
    return str(cell)[:MOST_CELL]
