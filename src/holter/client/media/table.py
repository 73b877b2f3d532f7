"""`holter.Table`: columns and rows, whose cells may hold media."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from holter.client.media.bare import as_one
from holter.client.media.bundle import MOST_BYTES, Bundle, is_array
from holter.client.media.medium import Media, patient, why
from holter.client.shortened import text_of
from holter.client.values import scalar_of
from holter.errors import UsageError

MODES = ("IMMUTABLE", "MUTABLE", "INCREMENTAL")
MOST_COLUMNS = 10_000
MOST_CELL = 100_000
CELL = 1
"""MessagePack's type for a cell that holds a medium: its number in the list beside the columns."""
KINDS_OF_CELLS = ("image", "audio", "video", "html", "text", "markdown", "plotly", "object3d")


class Table(Media):
    """Rows of cells: numbers, texts, times, lists, and media.

    Args:
        columns: their names.
        data: rows, or a frame.
        rows: the same, as W&B called it once.
        dataframe: of pandas, polars or Arrow.
        log_mode: `IMMUTABLE` and `MUTABLE` log all rows; `INCREMENTAL` only those that came since the last time, and
            all of them together are the table.
    """

    kind = "table"
    MAX_ROWS = MAX_ARTIFACT_ROWS = 200_000
    """What programs raise before they log more; here there is no such limit."""

    @patient
    def __init__(
        self,
        columns: Any = None,
        data: Any = None,
        rows: Any = None,
        dataframe: Any = None,
        dtype: Any = None,
        optional: Any = True,
        *,
        allow_mixed_types: bool = False,
        log_mode: str = "IMMUTABLE",
    ) -> None:
        self.columns: list[str] = []
        self.log_mode = log_mode or "IMMUTABLE"
        self._rows: list[list[Any]] = []
        self._whole: list[Any] | None = None
        self._sent, self._part = 0, 0
        self._identity = os.urandom(8).hex()
        if self.log_mode not in MODES:
            raise UsageError(f"log_mode must be one of {', '.join(MODES)}; got {log_mode!r}")
        given = data if data is not None else rows
        frame = dataframe if dataframe is not None else given if hasattr(given, "columns") else None
        if frame is not None:
            self.columns, self._whole = _columns_of(frame)
            return
        several = given.tolist() if is_array(given) else () if given is None else given
        if not isinstance(several, Iterable):
            raise UsageError(f"a table is made of rows, or of a frame; got {type(given).__name__}")
        self._rows = [list(row) if isinstance(row, list | tuple) or is_array(row) else [row] for row in several]
        width = max(map(len, self._rows), default=0)
        named = (
            columns
            if columns is not None
            else [str(number) for number in range(width)] or ["Input", "Output", "Expected"]
        )
        self.columns = [text_of(name, 500) for name in named]
        if len(self.columns) > MOST_COLUMNS:
            raise UsageError(f"a table of {len(self.columns):,} columns: {MOST_COLUMNS:,} are the most")

    @property
    def data(self) -> list[list[Any]]:
        """Its rows."""
        if self._whole is not None:
            lists = [each if isinstance(each, list) else each.tolist() for each in self._whole]
            self._rows, self._whole = [list(row) for row in zip(*lists, strict=True)], None
        return self._rows

    def add_data(self, *data: Any) -> None:
        """Add a row."""
        if len(data) != len(self.columns) and not self.trouble:
            self.trouble = (
                f"a row of {len(data)} cells in a table of {len(self.columns)} columns ({', '.join(self.columns[:20])})"
            )
        self.data.append(list(data))

    def add_row(self, *row: Any) -> None:
        """Add a row; W&B's older name."""
        self.add_data(*row)

    def add_column(self, name: str, data: Any, optional: bool = False) -> None:
        """Add a column with a cell for each row."""
        cells = data.tolist() if is_array(data) else list(data)
        rows = self.data
        if rows and len(cells) != len(rows):
            self.trouble = (
                self.trouble or f"the column {name!r} has {len(cells):,} cells and the table {len(rows):,} rows"
            )
            return
        self.columns.append(text_of(name, 500))
        if not rows:
            rows.extend([] for _ in cells)
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)

    def get_column(self, name: str, convert_to: str | None = None) -> Any:
        """The cells of a column, as a list or with `numpy` as an array."""
        place = self.columns.index(name)
        cells = [row[place] for row in self.data]
        if convert_to == "numpy":
            from holter.client.media.bundle import numpy

            return numpy().array(cells)
        return cells

    def iterrows(self) -> Iterator[tuple[int, list[Any]]]:
        """Each row with its number."""
        yield from enumerate(self.data)

    def get_index(self) -> list[int]:
        """The numbers of its rows."""
        return list(range(len(self.data)))

    def get_dataframe(self) -> Any:
        """A frame of pandas."""
        import importlib

        return importlib.import_module("pandas").DataFrame(self.data, columns=self.columns)

    def add_computed_columns(self, fn: Callable[[int, dict[str, Any]], dict[str, Any]]) -> None:
        """Add what a function makes of each row's number and cells."""
        found = [fn(number, dict(zip(self.columns, row, strict=False))) for number, row in enumerate(self.data)]
        for name in found[0] if found else ():
            self.add_column(name, [each[name] for each in found])

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add its cells, column by column."""
        cells = _Cells(bundle)
        about: dict[str, Any] = {"columns": self.columns, "log_mode": self.log_mode}
        if self._whole is not None and not self._sent:
            columns = self._whole
            about["rows"] = len(columns[0]) if columns else 0
        else:
            rows = self.data[self._sent :] if self.log_mode == "INCREMENTAL" else self.data
            width = len(self.columns)
            if wrong := next((row for row in rows if len(row) != width), None):
                raise UsageError(f"a row of {len(wrong)} cells in a table of {width} columns")
            columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in self.columns]
            about["rows"] = len(rows)
        about["values"] = [_packed(column, cells, bundle) for column in columns]
        if self.log_mode == "INCREMENTAL":
            about |= {"table": self._identity, "part": self._part, "first": self._sent}
        return {**about, "cells": cells.packed}

    def was_logged(self) -> None:
        """The next time only what is new then."""
        if self.log_mode == "INCREMENTAL":
            self._sent, self._part = len(self.data), self._part + 1


class _Cells:
    """Media in cells, and whatever MessagePack does not know."""

    def __init__(self, bundle: Bundle) -> None:
        self.packed: list[dict[str, Any]] = []
        self._bundle = bundle

    def encode(self, value: Any) -> Any:
        media = as_one(value)
        if media is not None:
            return self._medium(media)
        if is_array(value) and getattr(value, "ndim", None):
            return value.tolist()
        plain = scalar_of(value)
        return plain if type(plain) in (int, float, bool, str) else text_of(value, MOST_CELL)

    def _medium(self, media: Media) -> Any:
        """Nothing where it can't be kept: the other cells are worth as much without it."""
        if media.kind == "histogram" and not media.trouble:
            return dict(zip(("counts", "low", "high", "edges"), media.numbers(), strict=True))  # type: ignore[attr-defined]  # as its kind says
        try:
            if media.trouble or media.kind not in KINDS_OF_CELLS:
                raise UsageError(media.trouble or f"a cell can't hold a {media.kind}")
            self.packed.append({"kind": media.kind, **media.pack(self._bundle)})
        except (UsageError, OSError) as error:
            self._bundle.check_size()
            self._bundle.missing.append(why(error))
            return None
        return msgspec.msgpack.Ext(CELL, str(len(self.packed) - 1).encode())


def _packed(column: Any, cells: _Cells, bundle: Bundle) -> dict[str, Any]:
    if not isinstance(column, list):
        return {"array": bundle.add_array(column)}
    try:
        return {"list": bundle.add(msgspec.msgpack.Encoder(enc_hook=cells.encode).encode(column))}
    except (OverflowError, UnicodeEncodeError, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        # Numbers beyond 64 bits, halves of letters: as texts.
        plain = [cell if type(cell) in (float, bool, type(None)) else text_of(cell, MOST_CELL) for cell in column]
        return {"list": bundle.add(msgspec.msgpack.encode(plain))}


def _columns_of(frame: Any) -> tuple[list[str], list[Any]]:
    """The names and the columns of a frame: numbers as arrays that are ours, all else as lists."""
    library = type(frame).__module__.partition(".")[0]
    names: Sequence[Any] = frame.column_names if library == "pyarrow" else list(frame.columns)
    if len(names) > MOST_COLUMNS:
        raise UsageError(f"a table of {len(names):,} columns: {MOST_COLUMNS:,} are the most")
    # By their places: two columns may have one name.
    several = (
        frame.iloc[:, place]
        if library == "pandas"
        else frame.column(place)
        if library == "pyarrow"
        else frame[names[place]]
        for place in range(len(names))
    )
    return [text_of(name, 500) for name in names], [_cells_of(column, library) for column in several]


def _cells_of(column: Any, library: str) -> Any:
    if library == "pandas":
        plain = column.to_numpy()
        if plain.nbytes > MOST_BYTES:
            raise UsageError(f"a column of {plain.nbytes:,} bytes: {MOST_BYTES:,} are the most; log a part of it")
        return plain.copy() if plain.dtype.kind in "biuf" and plain.dtype.itemsize <= 8 else _without_missing(column)
    return column.to_pylist() if library == "pyarrow" else column.to_list()


def _without_missing(column: Any) -> list[Any]:
    """What pandas calls NA or NaT is nothing; NaN among texts is nothing too."""
    missing = column.isna().tolist()
    return [None if is_missing else cell for cell, is_missing in zip(column.tolist(), missing, strict=True)]
