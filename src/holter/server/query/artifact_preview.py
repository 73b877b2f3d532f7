"""What a file of an artifact has in it, without sending all of it."""

import csv
import io
import json
from typing import Any

import msgspec

from holter.artifacts.fetching import Reading
from holter.artifacts.manifest import Entry
from holter.artifacts.splitting import ODD, read_header
from holter.errors import ArtifactDamaged
from holter.server.query.run_files import kind_of

MOST_TEXT = 64 << 10
MOST_TENSORS = 2000
MOST_ROWS, MOST_COLUMNS, MOST_CELL = 100, 50, 200
_MOST_TABLE = 8 << 20
"""Of a file that has to be read whole for its first rows."""
_MOST_HEADER = 16 << 20


class Tensor(msgspec.Struct, frozen=True):
    """A tensor of a safetensors file."""

    name: str
    dtype: str
    shape: list[int]
    bytes: int


class Preview(msgspec.Struct, frozen=True):
    """`kind` is text, tensors, table, image or none."""

    kind: str
    text: str = ""
    is_cut: bool = False
    tensors: list[Tensor] = []
    columns: list[str] = []
    rows: list[list[str]] = []
    note: str = ""


def preview(entry: Entry, reading: Reading) -> Preview:
    """Look into a file. Never raises for what is in it."""
    if entry.reference:
        return Preview("none", note=f"It lies elsewhere: {entry.reference}")
    try:
        if entry.path.endswith(".safetensors"):
            return _tensors(entry, reading)
        if entry.path.endswith((".csv", ".tsv", ".table.json", ".parquet")):
            return _table(entry, reading)
        kind = kind_of(entry.path)
        if kind == "image":
            return Preview("image")
        if kind in ("text", "html") or entry.path.endswith((".json", ".jsonl", ".yaml", ".yml", ".toml", ".md")):
            data = _beginning(entry, reading, MOST_TEXT)
            return Preview("text", data.decode(errors="replace"), is_cut=len(data) < entry.bytes)
    except (ArtifactDamaged, *ODD) as error:
        return Preview("none", note=f"It can't be shown: {error}")
    return Preview("none", note="There is no preview of such a file.")


def _table(entry: Entry, reading: Reading) -> Preview:
    """The first rows of a CSV, a Parquet file, or a table as W&B writes it."""
    is_separated = entry.path.endswith((".csv", ".tsv"))
    if not is_separated and entry.bytes > _MOST_TABLE:
        return Preview("none", note="It is too large to be looked into here: the download has it.")
    data = _beginning(entry, reading, MOST_TEXT if is_separated else _MOST_TABLE)
    is_cut = len(data) < entry.bytes
    if is_separated:
        lines = data.decode(errors="replace").splitlines(keepends=True)
        lines = lines[:-1] if is_cut and len(lines) > 1 else lines  # the last one may be half
        found = list(csv.reader(lines, delimiter="\t" if entry.path.endswith(".tsv") else ","))
        names, rows = (found[0], found[1:]) if found else ([], [])
    elif entry.path.endswith(".parquet"):
        names, rows = _parquet(data)
    else:
        told = json.loads(data)
        names, rows = told["columns"], told["data"]
    shown = [[_cell(cell) for cell in row[:MOST_COLUMNS]] for row in rows[:MOST_ROWS]]
    is_cut = is_cut or len(rows) > MOST_ROWS or len(names) > MOST_COLUMNS
    return Preview("table", columns=[_cell(name) for name in names[:MOST_COLUMNS]], rows=shown, is_cut=is_cut)


def _parquet(data: bytes) -> tuple[list[str], list[list[Any]]]:
    try:
        from pyarrow import parquet  # an extra
    except ImportError as error:
        raise ValueError("pip install 'holter[media]' on the server lets it look into Parquet files") from error
    file = parquet.ParquetFile(io.BytesIO(data))
    names = list(file.schema_arrow.names)[: MOST_COLUMNS + 1]
    batch = next(file.iter_batches(MOST_ROWS + 1, columns=names), None)
    rows = [list(row.values()) for row in batch.to_pylist()] if batch is not None else []
    return names, rows


def _cell(value: Any) -> str:
    return ("" if value is None else str(value))[:MOST_CELL]


def _beginning(entry: Entry, reading: Reading, count: int, /) -> bytes:
    data = b""
    for part in reading.parts(entry):
        data += part[: count - len(data)]
        if len(data) >= count:
            break
    return data


def _tensors(entry: Entry, reading: Reading) -> Preview:
    head = _beginning(entry, reading, 8)
    data = _beginning(entry, reading, min(_MOST_HEADER, 8 + int.from_bytes(head, "little")))
    found = [
        Tensor(
            name, str(each["dtype"]), [int(n) for n in each["shape"]], each["data_offsets"][1] - each["data_offsets"][0]
        )
        for name, each in read_header(io.BytesIO(data), entry.bytes).items()
        if name != "__metadata__"
    ]
    return Preview("tensors", tensors=found[:MOST_TENSORS], is_cut=len(found) > MOST_TENSORS)
