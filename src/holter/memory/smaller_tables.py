"""What would hold the same tables in less: pandas, polars, Arrow. Only values of exactly their types are asked."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from holter.memory.sampling import sample
from holter.memory.walk import dotted_name

WORTH_BYTES = 1 << 20
MOST_COLUMNS = 500
MOST_TEXT_COLUMNS = 5
MOST_TEXTS = 50
MOST_NAMED = 5


class _Columns(NamedTuple):
    names: list[Any]
    """Empty where there is only one, without a name."""
    float64_bytes: int
    texts: list[tuple[Any, Any]]
    """The names of columns of text, and their values."""


class _Library(NamedTuple):
    """How to look at its tables, and what to write for them: `x` is the table, `columns` some of its names."""

    look: Callable[[Any], _Columns]
    as_category: str
    as_float32: str


def of_table(name: str, table: Any, *, source: str) -> Iterator[str]:
    """Sentences with a statement in them; see `smaller`. The type of the table is one of `LIBRARIES`."""
    library = LIBRARIES[dotted_name(type(table))]
    found = library.look(table)
    few = [column for column, values in found.texts[:MOST_TEXT_COLUMNS] if _repeats_itself(values)]
    if few:
        yield f"`{library.as_category.format(x=name, columns=few)}`: few different values"
    if found.float64_bytes // 2 >= WORTH_BYTES:
        saved = show_mib(found.float64_bytes // 2)
        yield f"`{library.as_float32.format(x=name)}` where 7 digits suffice ({saved} less)"
    yield from _never_named(found.names, source)


def show_mib(size_bytes: float) -> str:
    """In whole MiB."""
    return f"{size_bytes / (1 << 20):,.0f} MiB"


def _look_at_pandas(table: Any) -> _Columns:
    names = list(table.columns[:MOST_COLUMNS]) if table.ndim == 2 else []
    float64_bytes, texts = 0, []
    for block in table._mgr.blocks:
        dtype = str(block.values.dtype)
        if dtype == "float64":
            float64_bytes += block.values.nbytes
        elif dtype in ("object", "str", "string"):
            rows = block.values if block.values.ndim == 2 else [block.values]
            places = block.mgr_locs.as_array if names else [0]
            texts += [(at, row) for at, row in zip(places, rows, strict=table.ndim == 2) if at < max(1, len(names))]
    return _Columns(names, float64_bytes, [(names[at] if names else "", row) for at, row in texts])


def _look_at_polars(table: Any) -> _Columns:
    is_frame = hasattr(table, "columns")
    columns = table.get_columns()[:MOST_COLUMNS] if is_frame else [table]
    float64_bytes = sum(8 * len(column) for column in columns if str(column.dtype) == "Float64")
    texts = [(column.name, column) for column in columns if str(column.dtype) == "String"]
    return _Columns([column.name for column in columns] if is_frame else [], float64_bytes, texts)


def _look_at_arrow(table: Any) -> _Columns:
    names = table.column_names[:MOST_COLUMNS]
    types = dict(zip(names, map(str, table.schema.types), strict=False))
    texts = [(name, _Plain(table.column(name))) for name in names if types[name] in ("string", "large_string")]
    float64_bytes = sum(8 * table.num_rows for name in names if types[name] == "double")
    return _Columns(names, float64_bytes, texts)


class _Plain:
    """An Arrow column whose values are those of Python."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, at: int) -> Any:
        return self._column[at].as_py()


def _repeats_itself(values: Any) -> bool:
    count = len(values)
    items = [values[at] for at in sample(count)[:MOST_TEXTS]]
    texts = [item for item in items if type(item) is str]
    return count > 10 * MOST_TEXTS and len(texts) > len(items) / 2 and len(set(texts)) <= len(texts) / 2


def _never_named(columns: list[Any], source: str) -> Iterator[str]:
    """Only where other columns are named: code that takes all of them names none."""
    if not source or not all(type(column) is str for column in columns):
        return
    words = set(re.findall(r"\w+", source))
    unnamed = [column for column in columns if column not in words and column not in source]
    if unnamed and len(unnamed) < len(columns):
        shown = ", ".join(map(repr, unnamed[:MOST_NAMED])) + (", …" if len(unnamed) > MOST_NAMED else "")
        yield f"no code so far uses {len(unnamed)} of its {len(columns)} columns ({shown}): keep only the others"


_FRAME = _Library(
    _look_at_pandas,
    "{x} = {x}.astype(dict.fromkeys({columns}, 'category'))",
    "{x} = {x}.astype(dict.fromkeys({x}.select_dtypes('float64'), 'float32'))",
)
_SERIES = _Library(_look_at_pandas, "{x} = {x}.astype('category')", "{x} = {x}.astype('float32')")
LIBRARIES = {
    "pandas.DataFrame": _FRAME,
    "pandas.core.frame.DataFrame": _FRAME,
    "pandas.Series": _SERIES,
    "pandas.core.series.Series": _SERIES,
    "polars.dataframe.frame.DataFrame": _Library(
        _look_at_polars,
        "{x} = {x}.cast(dict.fromkeys({columns}, polars.Categorical))",
        "{x} = {x}.cast({{polars.Float64: polars.Float32}})",
    ),
    "polars.series.series.Series": _Library(
        _look_at_polars, "{x} = {x}.cast(polars.Categorical)", "{x} = {x}.cast(polars.Float32)"
    ),
    "pyarrow.lib.Table": _Library(
        _look_at_arrow,
        "for c in {columns}: {x} = {x}.set_column({x}.column_names.index(c), c, {x}[c].dictionary_encode())",
        "{x} = {x}.cast(pyarrow.schema([f.with_type(pyarrow.float32()) if f.type == 'double' else f for f in {x}.schema]))",  # noqa: E501  one statement
    ),
}
"""By the dotted names of the types."""
