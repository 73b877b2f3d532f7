"""Raw points as a table: nothing is cut, however little is read at once."""

import csv
import io

import numpy as np
import pytest

from holter.server.query.csv_rows import column_names, csv_of
from holter.storage.series import Line, Points

SERIES = {
    "long": Points(np.arange(1000), np.arange(1000), np.arange(1000) / 3),
    "sparse": Points(np.arange(0, 3000, 700), np.arange(5), np.array([1.0, np.nan, np.inf, -np.inf, 2.5])),
    "none": Points(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)),
}


def read(line: Line, first: int | None, most: int) -> Points:
    found = SERIES[line.run]
    start = 0 if first is None else int(np.searchsorted(found.steps, first))
    part = slice(start, start + most)
    return Points(found.steps[part], found.at_ns[part], found.values[part])


@pytest.mark.parametrize("part", [1, 500, 10**6])
def test_every_point_is_in_one_row_of_its_step(part: int) -> None:
    pieces = list(csv_of([Line(run, "loss") for run in SERIES], list(SERIES), read=read, part=part))
    assert part > 500 or len(pieces) > 3
    head, *rows = csv.reader(io.StringIO(b"".join(pieces).decode()))
    assert head == ["step", "long", "sparse", "none"]
    assert [int(row[0]) for row in rows] == [*range(1000), 1400, 2100, 2800]
    assert [float(row[1]) for row in rows[:1000]] == SERIES["long"].values.tolist()
    assert {row[0]: row[2] for row in rows if row[2]} == {
        "0": "1",
        "700": "NaN",
        "1400": "Infinity",
        "2100": "-Infinity",
        "2800": "2.5",
    }
    assert {row[3] for row in rows} == {""}


def test_columns_are_told_apart_and_are_no_formulas() -> None:
    assert column_names([("r1", "a"), ("r2", "a"), ("r3", "")], ["loss"]) == ["a (r1)", "a (r2)", "r3"]
    assert column_names([("r1", "a")], ["x", "y"]) == ["a x", "a y"]
    [head] = csv_of([], ["=1+1", 'say "hi", you'], read=read)
    assert head == b'step,\'=1+1,"say ""hi"", you"\n'
