"""Writes rows as Parquet, with pyarrow where that is installed."""

import itertools
import json
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from holter.errors import UsageError

if TYPE_CHECKING:
    from holter.journal.columns import Tables

ROWS_AT_ONCE = 65_536
WHOLE, NUMBER, TEXT = "int64", "double", "string"


def write_parquet(out: IO[bytes], rows: Iterator[dict[str, Any]], *, kinds: dict[str, str]) -> None:
    """Write rows of these columns; what has none is null. Raises UsageError where pyarrow is missing.

    Text stays as it is; in a column of text whatever is not text is written as JSON.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError("Parquet needs pyarrow: `pip install 'holter[export]'`, or use --format csv") from error
    schema = pyarrow.schema([(key, pyarrow.type_for_alias(kind)) for key, kind in kinds.items()])
    with pyarrow.parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        while chunk := list(itertools.islice(rows, ROWS_AT_ONCE)):
            columns = [[_value(row.get(key), kind) for row in chunk] for key, kind in kinds.items()]
            arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))


def column_kinds(journals: list["Tables"], keys: list[str]) -> dict[str, str]:
    """The type of each column: whole numbers, numbers, or text where anything else is among them. Pure."""
    found: dict[str, set[str]] = {key: set() for key in keys}
    for tables in journals:
        for table in tables.tables:
            for key, column in table.columns.items():
                found[key].add(WHOLE if column.dtype.kind == "i" else NUMBER)
        for loose in tables.loose:
            for key, value in loose.row.values.items():
                found[key].add(_kind(value))
    kinds = {
        key: TEXT if TEXT in seen else NUMBER if NUMBER in seen or not seen else WHOLE for key, seen in found.items()
    }
    return {**kinds, "_step": WHOLE, "_timestamp": NUMBER, "_runtime": NUMBER}


def _kind(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return TEXT
    return WHOLE if isinstance(value, int) and abs(value) < 1 << 63 else NUMBER


def _value(value: Any, kind: str) -> Any:  # noqa: ANN401  users' own values
    if value is None or (kind == TEXT and isinstance(value, str)):
        return value
    if kind == TEXT:
        return json.dumps(value, ensure_ascii=False, default=str)
    return float(value) if kind == NUMBER else int(value)
