"""Charts, tables and consoles from the ports."""

from typing import Literal

import numpy as np
import pytest

from holter.errors import FilterError, UsageError
from holter.model.run_row import RunRow
from holter.server.query.charts import Chart, draw, draw_mean
from holter.server.query.consoles import last_lines, some_lines
from holter.storage.console import ConsoleBatch, ConsoleRange
from holter.storage.filter_text import parse_query
from holter.storage.filters import All, Compare
from holter.storage.opening import Storage, open_storage
from holter.storage.run_fields import value_of
from holter.storage.runs import RunQuery, SortKey
from holter.wire.binary_columns import decode_tables, encode_tables
from tests.contract.writes import Journal, Write, replay


@pytest.fixture
def storage() -> Storage:
    opened = open_storage("memory:")
    writes = [Write(("loss", "lr"), step, 1_000 + 10 * step, (float(step), step % 2)) for step in range(100)]
    replay(opened.series, "r1", journals=[Journal("a" * 32, writes)])
    replay(opened.series, "r2", journals=[Journal("b" * 32, [write._replace(values=(5.0, 1.0)) for write in writes])])
    opened.runs.put([RunRow(id="r1", started_ns=990), RunRow(id="r2", started_ns=900)])
    return opened


def test_a_chart_has_a_line_for_each_series(storage: Storage) -> None:
    [one, none] = draw(storage, Chart(lines=(("r1", "loss"), ("r1", "nothing")), buckets=10))
    assert one.counts.tolist() == [10] * 10
    assert one.mean.tolist() == [4.5, 14.5, 24.5, 34.5, 44.5, 54.5, 64.5, 74.5, 84.5, 94.5]
    assert len(none.first) == 0


def test_relative_time_begins_with_the_run(storage: Storage) -> None:
    drawn = draw(storage, Chart(lines=(("r1", "loss"), ("r2", "loss")), x="relative", buckets=200))
    assert [int(line.first[0]) for line in drawn] == [10, 100]


def test_a_metric_can_be_drawn_along_another(storage: Storage) -> None:
    [found] = draw(storage, Chart(lines=(("r1", "loss"),), x="lr", buckets=2))
    assert (found.first.tolist(), found.counts.tolist()) == ([0.0, 1.0], [50, 50])
    assert found.mean.tolist() == [49.0, 50.0]


def test_a_metric_can_be_drawn_along_an_expression(storage: Storage) -> None:
    [found, none] = draw(
        storage, Chart(lines=(("r1", "loss"), ("r3", "loss")), x="=(loss + step) / 2 + lr", buckets=200)
    )
    assert found.first.tolist() == sorted(step + step % 2 for step in range(100))
    assert len(none.first) == 0
    [nowhere] = draw(storage, Chart(lines=(("r1", "loss"),), x="=gone * 2", buckets=9))
    assert len(nowhere.first) == 0
    with pytest.raises(UsageError, match="ends too early"):
        draw(storage, Chart(lines=(("r1", "loss"),), x="=loss +"))


def test_a_group_has_a_band_of_its_runs_and_says_how_many_they_are() -> None:
    storage = open_storage("memory:")
    for run, value in {"a": 1.0, "b": 2.0, "c": 6.0, "d": 7.0}.items():
        rows = [Write(("loss",), step, step, (value,)) for step in range(10 if run != "d" else 5)]
        replay(storage.series, run, journals=[Journal(run * 32, rows)])
    chart = Chart(lines=tuple((run, "loss") for run in "abcd"), buckets=10)

    def band(kind: Literal["range", "std", "quartiles"], at: int) -> list[float]:
        found = draw_mean(storage, chart, band=kind)
        assert found.runs.tolist() == [4] * 5 + [3] * 5
        return [float(column[at]) for column in (found.buckets.low, found.buckets.mean, found.buckets.high)]

    assert band("range", 0) == [1, 4, 7]
    assert band("std", 0) == pytest.approx([4 - 2.9439, 4, 4 + 2.9439], abs=1e-4)
    assert band("std", 9) == pytest.approx([3 - 7**0.5, 3, 3 + 7**0.5])
    assert band("quartiles", 0) == [1.75, 4, 6.25]
    assert band("quartiles", 9) == [1.5, 2, 4]


def test_several_runs_can_be_drawn_as_one(storage: Storage) -> None:
    found = draw_mean(storage, Chart(lines=(("r1", "loss"), ("r2", "loss")), buckets=4)).buckets
    assert len(found.first) == 4
    np.testing.assert_allclose(found.mean, [(12 + 5) / 2, (37 + 5) / 2, (62 + 5) / 2, (87 + 5) / 2])


@pytest.mark.parametrize("x", ["step", "relative", "time"])
def test_a_mean_of_few_points_is_of_all_runs_everywhere(x: str) -> None:
    storage = open_storage("memory:")
    for number, run in enumerate("abc"):
        rows = [Write(("loss",), step, 1_000 * step + 70 * number, (100.0 * number,)) for step in range(0, 40, 2)]
        replay(storage.series, run, journals=[Journal(run * 32, rows)])
        storage.runs.put([RunRow(id=run, started_ns=0)])
    found = draw_mean(storage, Chart(lines=tuple((run, "loss") for run in "abc"), x=x, buckets=300)).buckets
    assert len(found.first) == (20 if x == "step" else 9)
    np.testing.assert_allclose(found.mean, 100, atol=25 if x != "step" else 0)
    assert (found.low.tolist(), found.high.tolist()) == ([0.0] * len(found.first), [200.0] * len(found.first))


def test_a_mean_leaves_room_for_the_line_that_has_the_fewest_points(storage: Storage) -> None:
    rows = [Write(("loss",), step, 1_000, (5.0,)) for step in range(0, 100, 11)]
    replay(storage.series, "rare", journals=[Journal("c" * 32, rows)])
    found = draw_mean(storage, Chart(lines=(("r1", "loss"), ("rare", "loss")), buckets=300)).buckets
    assert len(found.first) == 10
    assert found.low.tolist() == [min(5.0, 10.0 * bucket) for bucket in range(10)]


def test_a_chart_has_a_limit(storage: Storage) -> None:
    with pytest.raises(UsageError, match="buckets"):
        draw(storage, Chart(lines=(), buckets=10**9))


def test_columns_come_back_from_their_bytes(storage: Storage) -> None:
    columns = {"x": np.arange(3), "y": np.array([1.5, np.nan, np.inf]), "marks": np.array([1, 2, 4], np.uint8)}
    [(about, found)] = decode_tables(encode_tables([({"run": "r"}, columns)]))
    assert about == {"run": "r"}
    for name, column in columns.items():
        np.testing.assert_array_equal(found[name], column)


def test_texts_narrow_a_question_and_what_they_leave_out_stays() -> None:
    of_project = RunQuery(now_ns=0, where=Compare("project", "=", "p"), count=7)
    asked = parse_query(of_project, where="state = crashed", sort="-name")
    assert asked.where == All((Compare("project", "=", "p"), Compare("state", "=", "crashed")))
    assert (asked.sort, asked.count) == ((SortKey("name", is_descending=True),), 7)
    assert parse_query(RunQuery(now_ns=0), where="", sort="") == RunQuery(now_ns=0)
    with pytest.raises(FilterError):
        parse_query(of_project, where="state =", sort="")


def test_a_value_is_found_also_where_keys_have_dots() -> None:
    row = RunRow(id="r", name="n", config={"a.b": {"c": 1}}, summary={"loss": 0.5})
    names = ("name", "config.a.b.c", "summary.loss", "summary.other", "config", "told", "is_late", "nam")
    assert [value_of(row, name) for name in names] == ["n", 1, 0.5, None, row.config, None, None, None]


def test_the_transcripts_of_a_run_are_shown_in_the_order_of_time(storage: Storage) -> None:
    storage.console.append(ConsoleBatch("r1", "output", 0, 9, ((1, 1, "a"), (4, 1, "d"))))
    storage.console.append(ConsoleBatch("r1", "output-2", 0, 9, ((2, 1, "b"), (3, 2, "c"))))
    assert [line.text for line in last_lines(storage, "r1", count=3)] == ["b", "c", "d"]
    assert [line.text for line in last_lines(storage, "r1", count=3, text="A")] == ["a"]
    found = some_lines(storage, "r1", transcript="output", wanted=ConsoleRange(5, start=1))
    assert [(line.number, line.text) for line in found] == [(1, "d")]
