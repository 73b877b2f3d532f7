"""Rows as Parquet, read again with the library that wrote them."""

import io
import math
from pathlib import Path

import pytest

from holter.cli.parquet import column_kinds, write_parquet
from holter.journal.columns import read_tables
from holter.journal.rows import RowEncoder
from holter.journal.rundir import list_segments
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock


def test_kinds_and_values_are_those_that_were_logged(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="no pyarrow")
    rows = [
        {"_step": 0, "_timestamp": 1.5, "_runtime": 0.5, "loss": 0.25, "epoch": 1, "note": "begun"},
        {"_step": 1, "_timestamp": 2.5, "_runtime": 1.5, "loss": math.inf, "note": {"a": [1]}},
    ]
    kinds = {"_step": "int64", "_timestamp": "double", "_runtime": "double"}
    kinds |= {"loss": "double", "epoch": "int64", "note": "string"}
    out = io.BytesIO()
    write_parquet(out, iter(rows), kinds=kinds)
    table = parquet.read_table(io.BytesIO(out.getvalue()))
    assert table.to_pylist() == [
        {"_step": 0, "_timestamp": 1.5, "_runtime": 0.5, "loss": 0.25, "epoch": 1, "note": "begun"},
        {"_step": 1, "_timestamp": 2.5, "_runtime": 1.5, "loss": math.inf, "epoch": None, "note": '{"a": [1]}'},
    ]


def test_a_column_has_the_widest_kind_of_its_values(tmp_path: Path) -> None:
    writer = JournalWriter(str(tmp_path), lambda: (), clock=Clock())
    encoder = RowEncoder(writer.append_held)
    for step in range(20):
        encoder.append({"whole": step, "number": step / 2}, step, step)
    encoder.append({"whole": 1, "number": 3, "text": "x"}, 20, 20)
    writer.close()
    journals = [read_tables(paths) for paths in list_segments(str(tmp_path)).values()]
    kinds = column_kinds(journals, ["_step", "_timestamp", "_runtime", "whole", "number", "text"])
    assert (kinds["whole"], kinds["number"], kinds["text"]) == ("int64", "double", "string")
