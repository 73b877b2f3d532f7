"""Opens a logged table, Parquet or JSON lines; of one that was logged in parts all of them."""

import importlib
import io
import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from holter.errors import NotReadable

PARQUET, LINES = "parquet", "table.jsonl"
MOST_LINES_BYTES = 512 << 20


class TableFile(msgspec.Struct, frozen=True, eq=False):
    """A file of a table: `read(start, count)` gives bytes of it; `columns` were told when it was made."""

    ext: str
    size: int
    read: Callable[[int, int], bytes]
    columns: list[dict[str, str]]


def pyarrow() -> Any:
    """Raises NotReadable where it is missing."""
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise NotReadable("tables are read with pyarrow, and it is missing here: pip install 'holter[media]'") from None


def read_whole(files: Sequence[TableFile]) -> Any:
    """All rows as an Arrow table. Raises NotReadable."""
    arrow = pyarrow()
    tables = [_lines(arrow, each) if each.ext == LINES else open_parquet(each).read() for each in files]
    if len(tables) == 1:
        return tables[0]
    together = _together(arrow, tables)
    if together is not None:
        return together
    names = dict.fromkeys(name for table in tables for name in table.column_names)
    # A column that was one thing and is another now: as texts. The others stay what they are.
    odd = {
        name
        for name in names
        if _together(arrow, [table.select([name]) for table in tables if name in table.column_names]) is None
    }
    return arrow.concat_tables([_as_texts(arrow, each, odd) for each in tables], promote_options="permissive")


def _together(arrow: Any, tables: Sequence[Any]) -> Any:
    try:
        return arrow.concat_tables(tables, promote_options="permissive")
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        return None


def open_parquet(file: TableFile) -> Any:
    """The file, of which only what is asked for is read. Raises NotReadable."""
    arrow = pyarrow()
    parquet = importlib.import_module("pyarrow.parquet")
    try:
        return parquet.ParquetFile(arrow.PythonFile(io.BufferedReader(_Ranges(file), 1 << 20), mode="r"))
    except (arrow.ArrowInvalid, OSError) as error:
        raise NotReadable(f"the table can't be read: {error}") from error


class _Ranges(io.RawIOBase):
    """A file of which parts are asked for."""

    def __init__(self, file: TableFile) -> None:
        super().__init__()
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        count = min(len(buffer), max(0, self._file.size - self._at))
        data = self._file.read(self._at, count) if count else b""
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _lines(arrow: Any, file: TableFile) -> Any:
    if file.size > MOST_LINES_BYTES:
        raise NotReadable(f"the table has {file.size:,} bytes of JSON lines: {MOST_LINES_BYTES:,} are the most")
    names, columns = lines_of(file.read(0, file.size))
    kinds = {each["name"]: each["type"] for each in file.columns}
    arrays = []
    for name, column in zip(names, columns, strict=True):
        try:
            if kinds.get(name) in ("json", "media"):
                raise TypeError("as it stands in a Parquet file")
            arrays.append(arrow.array(column))
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, TypeError, OverflowError):
            arrays.append(arrow.array([None if cell is None else json.dumps(cell) for cell in column], arrow.string()))
    return arrow.table(arrays, names=names)


def lines_of(data: bytes) -> tuple[list[str], list[list[Any]]]:
    """The names and the columns of JSON lines. Raises NotReadable."""
    try:
        first, *rows = [json.loads(line) for line in data.splitlines() if line]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in first]
    except (ValueError, TypeError, RecursionError) as error:
        raise NotReadable(f"the table can't be read: {error}") from error
    if not isinstance(first, list) or len(columns) != len(first):
        raise NotReadable("the table can't be read: its rows have other columns than its first line")
    return [str(name) for name in first], columns


def _as_texts(arrow: Any, table: Any, odd: Collection[str]) -> Any:
    def text(column: Any) -> Any:
        return arrow.array([None if cell is None else str(cell) for cell in column.to_pylist()], arrow.string())

    columns = [text(table[name]) if name in odd else table[name] for name in table.column_names]
    return arrow.table(columns, names=table.column_names)
