"""Tables: Parquet where pyarrow is, else a line of JSON for each row; media in cells are files beside it."""

import importlib
import io
import json
from typing import Any

import msgspec

from holter.errors import JournalError, NotKept, UsageError
from holter.model.media_records import MediaItem
from holter.worker.making import meta_of
from holter.worker.work import Work

ROW_GROUP = 65_536
CELL = 1
"""MessagePack's type for a cell that holds a medium."""
MEDIA_OF_CELLS = ("image", "audio", "video", "html", "text", "markdown", "plotly", "object3d")


def make_one(work: Work, about: dict[str, Any]) -> MediaItem:
    """A table of an entry."""
    cells = [_cell_or_nothing(work, each) for each in about.get("cells", ())]
    names = _distinct([str(name) for name in about["columns"]])
    values = [_values(work, each, cells) for each in about["values"]]
    rows = int(about["rows"])
    if len(values) != len(names) or any(len(column) != rows for column in values):
        raise JournalError("its columns are not of one length")
    meta = meta_of(about, "log_mode", "table", "part", "first", "chart", "title", "fields")
    arrow = _pyarrow()
    if arrow is None:
        work.warn("pyarrow is missing, so the table is kept as JSON lines: pip install 'holter[media]'")
        columns = [{"name": name, "type": _type_of_list(column)} for name, column in zip(names, values, strict=True)]
        lines = [json.dumps(names), *(json.dumps(row, default=str) for row in zip(*map(_listed, values), strict=True))]
        data = "\n".join(lines).encode("utf-8", "replace") + b"\n"
        return work.keep(data, "table.jsonl", meta=meta | {"rows": rows, "columns": columns})
    columns, arrays = [], []
    for name, column in zip(names, values, strict=True):
        kind, array = _typed(arrow, column)
        columns.append({"name": name, "type": kind})
        arrays.append(array)
    out = io.BytesIO()
    table = arrow.table(arrays, names=names) if names else arrow.table({})
    parquet = importlib.import_module("pyarrow.parquet")
    # Numbers are read twice as fast without dictionaries, and take less; of texts many are the same.
    texts = [field.name for field in table.schema if arrow.types.is_string(field.type)]
    parquet.write_table(
        table, out, compression="zstd", compression_level=1, row_group_size=ROW_GROUP, use_dictionary=texts
    )
    return work.keep(out.getvalue(), "parquet", meta=meta | {"rows": rows, "columns": columns})


def _cell_or_nothing(work: Work, about: dict[str, Any]) -> dict[str, Any] | None:
    """Nothing where it can't be made: the other cells are worth as much without it."""
    try:
        return _cell(work, about)
    except (NotKept, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  libraries raise anything for what they can't read
        work.warn(f"a cell that can't be made is empty: {str(error)[:300]}")
        return None


def _cell(work: Work, about: dict[str, Any]) -> dict[str, Any]:
    """A medium in a cell as it stands there: a path and what is known of it."""
    kind = about.get("kind")
    if kind not in MEDIA_OF_CELLS:
        raise UsageError(f"a cell can't hold a {kind}")
    item: MediaItem = importlib.import_module(f"holter.worker.kinds.{kind}").make_one(work, about)
    meta = item.about()
    small = {"small": f"media/{item.digest}.small.webp"} if meta.pop("small", False) else {}
    return {"_type": kind, "path": item.path, "size": item.size, **small, "meta": meta}


def _values(work: Work, told: dict[str, Any], cells: list[dict[str, Any] | None]) -> Any:
    if "array" in told:
        return work.array(told["array"])

    def medium(code: int, data: memoryview) -> dict[str, Any] | None:
        if code != CELL:
            raise ValueError(f"a cell of the unknown type {code}")
        return cells[int(bytes(data))]

    return msgspec.msgpack.Decoder(ext_hook=medium).decode(work.read(told["list"]))


def _typed(arrow: Any, column: Any) -> tuple[str, Any]:
    """What a column holds, and its cells as Arrow has them."""
    if not isinstance(column, list):
        array = arrow.array(column.reshape(len(column), -1)[:, 0] if column.ndim > 1 else column)
        return ("boolean" if column.dtype.kind == "b" else "number"), array
    kind = _type_of_list(column)
    try:
        if kind in ("text", "number", "boolean", "time", "empty"):
            return kind, arrow.array(column)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):
        kind = "mixed"
    as_json = [None if cell is None else json.dumps(cell, default=str) for cell in column]
    return (kind if kind == "media" else "json"), arrow.array(as_json, arrow.string())


def _type_of_list(column: Any) -> str:
    if not isinstance(column, list):
        return "boolean" if column.dtype.kind == "b" else "number"
    found = {type(cell) for cell in column} - {type(None)}
    if not found:
        return "empty"
    if found <= {int, float}:
        return "number"
    if found == {dict} and all(cell is None or cell.get("_type") in MEDIA_OF_CELLS for cell in column):
        return "media"
    name = next(iter(found)).__name__ if len(found) == 1 else ""
    return {"str": "text", "bool": "boolean", "datetime": "time"}.get(name, "json")


def _listed(column: Any) -> list[Any]:
    return column if isinstance(column, list) else list(column.tolist())


def _distinct(names: list[str]) -> list[str]:
    """Two columns of one name would be one in most readers."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        return None
