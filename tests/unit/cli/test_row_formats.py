"""Rows for other programs."""

import csv
import io
import json
import math
from typing import Any

import pytest

from holter.cli.row_formats import FORMATS

ROWS: list[dict[str, Any]] = [
    {"_step": 0, "loss": 0.1},
    {"_step": 1, "loss": math.nan, "up": math.inf, "down": -math.inf},
    {"_step": 2, "big": 2**64 - 1, "small": -(2**63), "is_best": True, "nothing": None},
    {"_step": 3, "text": 'the "null", é\n', "list": [1, None, math.nan]},
]
KEYS = ["_step", "loss", "up", "down", "big", "small", "is_best", "nothing", "text", "list"]


def test_json_lines_keep_every_value() -> None:
    lines = FORMATS["jsonl"](KEYS)(ROWS).decode().splitlines()
    assert lines[0] == '{"_step":0,"loss":0.1}'
    assert lines[1] == '{"_step":1,"loss":NaN,"up":Infinity,"down":-Infinity}'
    assert (
        lines[2] == '{"_step":2,"big":18446744073709551615,"small":-9223372036854775808,"is_best":true,"nothing":null}'
    )
    assert json.loads(lines[3]) | {"list": 0} == {"_step": 3, "text": 'the "null", é\n', "list": 0}


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e-320, 1.7976931348623157e308, -0.0, 1e22, 123456789.123456789])
def test_a_float_comes_back_as_it_was(value: float) -> None:
    [line] = FORMATS["jsonl"](["x"])([{"x": value}]).splitlines()
    assert json.loads(line)["x"].hex() == value.hex()


def test_csv_has_one_column_for_each_key_of_any_row() -> None:
    encode = FORMATS["csv"](KEYS)
    text = (encode([]) + encode(ROWS[:2]) + encode(ROWS[2:])).decode()
    heading, *found = csv.reader(io.StringIO(text))
    assert heading == KEYS
    assert found == [
        ["0", "0.1", "", "", "", "", "", "", "", ""],
        ["1", "NaN", "Infinity", "-Infinity", "", "", "", "", "", ""],
        ["2", "", "", "", "18446744073709551615", "-9223372036854775808", "true", "", "", ""],
        ["3", "", "", "", "", "", "", "", 'the "null", é\n', "[1,null,NaN]"],
    ]


@pytest.mark.parametrize(("name", "text"), [("jsonl", b""), ("csv", b"_step,loss\n")])
def test_a_run_without_rows_is_an_empty_table(name: str, text: bytes) -> None:
    assert FORMATS[name](["_step", "loss"])([]) == text
