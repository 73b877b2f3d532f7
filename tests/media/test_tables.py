"""Tables from each kind of input, read back cell by cell, in pages, sorted and filtered."""

import io
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

import holter
from holter.catalog.tables.asking import TablePage, TableQuery, Tables
from holter.catalog.tables.reading import TableFile, lines_of
from holter.errors import UsageError
from holter.model.media_records import MediaItem
from tests.lazily import Lazily
from tests.media.making import Bench

pd: Any = Lazily("pandas")
plotly: Any = Lazily("plotly")
pl: Any = Lazily("polars")
pa: Any = Lazily("pyarrow")

COLUMNS = {"n": [3, 1, 2], "x": [0.5, None, 2.5], "word": ["b", "a", "ü"], "yes": [True, False, None]}
ROWS = [list(row) for row in zip(*COLUMNS.values(), strict=True)]
TYPES = [
    {"name": "n", "type": "number"},
    {"name": "x", "type": "number"},
    {"name": "word", "type": "text"},
    {"name": "yes", "type": "boolean"},
]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def file_of(bench: Bench, item: MediaItem) -> TableFile:
    data = bench.read(item)
    return TableFile(item.ext, len(data), lambda at, count: data[at : at + count], item.about()["columns"])


def ask(bench: Bench, *items: MediaItem, **query: Any) -> TablePage:
    name = ",".join(item.digest for item in items)
    return Tables().ask(name, [file_of(bench, item) for item in items], TableQuery(**query))


def two_of_arrow(cells: list[int]) -> Any:
    return pa.table([pa.array([cell]) for cell in cells], names=["a", "a"])


INPUTS: list[tuple[str, Callable[[], Any]]] = [
    ("rows", lambda: holter.Table(columns=list(COLUMNS), data=ROWS)),
    ("pandas", lambda: holter.Table(dataframe=pd.DataFrame(COLUMNS))),
    ("pandas as data", lambda: holter.Table(data=pd.DataFrame(COLUMNS))),
    ("a bare frame", lambda: pd.DataFrame(COLUMNS)),
    ("polars", lambda: pl.DataFrame(COLUMNS)),
    ("arrow", lambda: pa.table(COLUMNS)),
    ("a bare table of Arrow", lambda: holter.Table(dataframe=pa.table(COLUMNS))),
]


@pytest.mark.parametrize("make", [each[1] for each in INPUTS], ids=[each[0] for each in INPUTS])
@pytest.mark.parametrize("has_arrow", [True, False], ids=["parquet", "lines"])
def test_a_table_is_read_back_cell_by_cell(
    bench: Bench, make: Callable[[], Any], has_arrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_arrow:
        monkeypatch.setattr("holter.worker.tables._pyarrow", lambda: None)
    item = bench.made(make()).items[0]
    assert item.ext == ("parquet" if has_arrow else "table.jsonl")
    page = ask(bench, item)
    assert (page.columns, page.total) == (TYPES, 3)
    assert [["nan" if cell is None and place == 1 else cell for place, cell in enumerate(row)] for row in ROWS] == [
        ["nan" if cell is None and place == 1 else cell for place, cell in enumerate(row)] for row in page.rows
    ]


def test_rows_and_columns_are_added_as_with_wandb(bench: Bench) -> None:
    table = holter.Table(columns=["a"])
    table.add_data(1)
    table.add_row(2)
    table.add_column("b", np.array([0.5, 1.5]))
    table.add_computed_columns(lambda number, row: {"c": row["a"] * 10 + number})
    assert table.get_column("b", convert_to="numpy").tolist() == [0.5, 1.5]
    assert list(table.iterrows()) == [(0, [1, 0.5, 10]), (1, [2, 1.5, 21])]
    assert table.get_dataframe().shape == (2, 3)
    assert ask(bench, bench.made(table).items[0]).rows == [[1, 0.5, 10], [2, 1.5, 21]]


@pytest.mark.parametrize("has_arrow", [True, False], ids=["parquet", "lines"])
def test_a_page_tells_the_least_and_the_largest_number_of_each_column(
    bench: Bench, has_arrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_arrow:
        monkeypatch.setattr("holter.worker.tables._pyarrow", lambda: None)
    columns = ["word", "n", "x.y", "odd", "none"]
    rows = [["a", 3, math.nan, math.inf, None], ["b", -1, 0.5, 2.0, math.nan], ["c", 2, 1.5, -4.0, None]]
    item = bench.made(holter.Table(columns=columns, data=rows)).items[0]
    told = {"n": (-1.0, 3.0), "x.y": (0.5, 1.5), "odd": (-4.0, 2.0)}
    assert ask(bench, item, limit=1).ranges == told
    # Of all rows, so that a bar stays as long as it is whatever is left of the others.
    assert ask(bench, item, where=(("word", "=", "b"),)).ranges == told
    assert ask(bench, item, sort="n").ranges == told


def test_odd_cells_are_kept_or_shown_as_texts(bench: Bench) -> None:
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    cells = [math.nan, 1 << 70, [1, "two"], {"a": None}, np.float32(0.5), b"raw", moment, object]
    table = holter.Table(columns=["mixed", "moment"], data=[[cell, moment] for cell in cells])
    item = bench.made(table).items[0]
    rows = ask(bench, item).rows
    assert [row[1] for row in rows] == ["2026-01-02 00:00:00+00:00"] * 8
    assert str(1 << 70) in str(rows[1][0])


def test_media_in_cells_are_files_beside_the_table(bench: Bench) -> None:
    table = holter.Table(columns=["picture", "score"])
    for shade in (10, 20):
        table.add_data(holter.Image(np.full((4, 5), shade, np.uint8), caption=f"shade {shade}"), shade / 100)
    table.add_data(None, 0.3)
    page = ask(bench, bench.made(table).items[0])
    assert page.columns[0] == {"name": "picture", "type": "media"}
    first, second, none = (row[0] for row in page.rows)
    assert (first["_type"], first["meta"]["caption"], second["meta"]["width"], none) == ("image", "shade 10", 5, None)
    assert (bench.directory / first["path"]).is_file()
    assert (bench.directory / first["small"]).is_file()


def test_every_kind_of_medium_may_stand_in_a_cell(bench: Bench) -> None:
    figure = plotly.graph_objects.Figure({"data": [{"y": [1, 3]}]})
    cells = {
        "audio": holter.Audio(np.arange(8, dtype=np.int16), sample_rate=8000),
        "video": holter.Video(np.zeros((2, 3, 4, 4), np.uint8), format="gif"),
        "html": holter.Html("<p>words</p>"),
        "text": holter.Text("words"),
        "markdown": holter.Markdown("**words**"),
        "plotly": figure,
        "object3d": holter.Object3D(np.eye(3)),
        "image": Pillow.fromarray(np.full((4, 5), 7, np.uint8)),
    }
    page = ask(bench, bench.made(holter.Table(columns=list(cells), data=[list(cells.values())])).items[0])
    [row] = page.rows
    assert [cell["_type"] for cell in row] == list(cells)
    found = {kind: (bench.directory / cell["path"]).read_bytes() for kind, cell in zip(cells, row, strict=True)}
    assert (found["html"], found["text"], found["markdown"]) == (b"<p>words</p>", b"words", b"**words**")
    assert found["audio"].endswith(np.arange(8, dtype=np.int16).tobytes())
    assert json.loads(found["plotly"])["data"][0]["y"] == [1, 3]
    assert json.loads(found["object3d"])["points"] == np.eye(3).tolist()
    assert (np.asarray(Pillow.open(io.BytesIO(found["image"]))) == 7).all()


def test_a_table_that_grows_is_whole_at_each_step_or_at_the_last(bench: Bench) -> None:
    for mode in ("IMMUTABLE", "MUTABLE"):
        table = holter.Table(columns=["n"], log_mode=mode)
        for step in range(2):
            table.add_data(step)
            assert ask(bench, bench.made(table, step=step).items[0]).rows == [[each] for each in range(step + 1)]


def test_a_table_in_parts_costs_only_its_new_rows_and_is_whole(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    table = holter.Table(columns=["n"], log_mode="INCREMENTAL")
    items: list[MediaItem] = []
    for step in range(3):
        table.add_data(step)
        table.add_data(step + 0.5)
        if step == 2:  # another worker, without pyarrow: parts of both kinds are one table
            monkeypatch.setattr("holter.worker.tables._pyarrow", lambda: None)
        items += bench.made(table, step=step).items
    assert [item.about()["rows"] for item in items] == [2, 2, 2]
    assert {item.about()["table"] for item in items} == {items[0].about()["table"]}
    assert [row[0] for row in ask(bench, *items).rows] == [0, 0.5, 1, 1.5, 2, 2.5]


@pytest.mark.parametrize(
    "make", [lambda at: pd.DataFrame([at], columns=["a", "a"]), two_of_arrow], ids=["pandas", "arrow"]
)
def test_two_columns_of_one_name_are_both_there(bench: Bench, make: Callable[[list[int]], Any]) -> None:
    page = ask(bench, bench.made(make([1, 2])).items[0])
    assert ([each["name"] for each in page.columns], page.rows) == (["a", "a (2)"], [[1, 2]])


def test_what_comes_later_says_what_a_column_holds_that_was_empty(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = holter.Table(columns=["picture", "n", "mixed"], log_mode="INCREMENTAL")
    table.add_data(None, None, 1)
    items = [*bench.made(table).items]
    table.add_data(holter.Image(np.zeros((4, 5), np.uint8)), 0.5, "word")
    items += bench.made(table, step=1).items
    monkeypatch.setattr("holter.worker.tables._pyarrow", lambda: None)
    table.add_data(None, 2, datetime(2026, 1, 2, tzinfo=UTC))
    items += bench.made(table, step=2).items
    page = ask(bench, *items, sort="n")
    assert [each["type"] for each in page.columns] == ["media", "number", "text"]
    # A column that is now this, now that, makes no texts of the others: they are sorted as numbers.
    assert [row[1] for row in page.rows] == [0.5, 2, None]
    assert [row[2] for row in page.rows] == ["word", "2026-01-02 00:00:00+00:00", "1"]
    assert page.rows[0][0]["_type"] == "image"


def test_a_histogram_in_a_cell_is_its_numbers(bench: Bench) -> None:
    table = holter.Table(columns=["h"], data=[[holter.Histogram(np_histogram=([1, 2], [0.0, 1.0, 2.0]))]])
    [[cell]] = ask(bench, bench.made(table).items[0]).rows
    assert json.loads(cell) == {"counts": [1, 2], "low": 0, "high": 2, "edges": []}


@pytest.fixture
def large(bench: Bench) -> MediaItem:
    count = 200_000
    frame = pd.DataFrame({"n": np.arange(count), "mod": np.arange(count) % 7, "word": np.arange(count).astype(str)})
    return bench.made(frame).items[0]


def test_pages_of_a_large_table(bench: Bench, large: MediaItem) -> None:
    for offset in (0, 65_530, 199_990):
        page = ask(bench, large, offset=offset, limit=10)
        assert (page.total, [row[0] for row in page.rows]) == (200_000, list(range(offset, offset + 10)))
    assert ask(bench, large, offset=300_000).rows == []
    ordered = ask(bench, large, sort="n", is_descending=True, offset=5, limit=2)
    assert [row[0] for row in ordered.rows] == [199_994, 199_993]
    # Pages of equal values neither repeat nor leave out a row.
    ties = [
        row[0] for offset in range(0, 60, 20) for row in ask(bench, large, sort="mod", offset=offset, limit=20).rows
    ]
    assert ties == [7 * place for place in range(60)]


def test_filters_hold_all_at_once(bench: Bench, large: MediaItem) -> None:
    page = ask(bench, large, where=(("mod", "=", 3.0), ("n", "<", 30.0)))
    assert (page.total, [row[0] for row in page.rows]) == (4, [3, 10, 17, 24])
    assert ask(bench, large, where=(("word", "contains", "99999"),)).total == 2
    assert ask(bench, large, where=(("", "contains", "123456"),)).total == 1
    for wrong in (("no", "=", 1.0), ("n", "~", 1.0), ("n", "<", "word")):
        with pytest.raises(UsageError):
            ask(bench, large, where=(wrong,))
    with pytest.raises(UsageError, match="no column 'gone'"):
        ask(bench, large, sort="gone")


def test_statistics_are_those_of_what_the_filter_leaves(bench: Bench, large: MediaItem) -> None:
    n, mod, word = ask(bench, large, where=(("n", "<", 70.0),), with_stats=True).stats
    assert (n.low, n.high, n.mean, sum(n.counts)) == (0, 69, 34.5, 70)
    assert (mod.low, mod.high, mod.missing) == (0, 6, 0)
    assert (word.distinct, len(word.top)) == (70, 5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: holter.Table(columns=["a", "b"], data=[[1, 2], [3]]),
        lambda: holter.Table(columns=["a"], log_mode="SOMETIMES"),
        lambda: holter.plot.line(holter.Table(columns=["a"], data=[[1]]), "a", "b"),
    ],
    ids=["ragged", "mode", "column"],
)
def test_bad_tables_are_said_and_not_raised(bench: Bench, make: Callable[[], Any]) -> None:
    assert bench.log(make()) == {}
    assert len(bench.complaints) == len(bench.lost()) == 1


def test_charts_are_tables_and_how_they_are_drawn(bench: Bench) -> None:
    points = holter.Table(columns=["x", "y"], data=[[1, 2], [3, 4]])
    charts = {
        "line": holter.plot.line_series([0, 1], [[1, 2], [3, 4]], keys=["a", "b"]),
        "scatter": holter.plot.scatter(points, "x", "y"),
        "histogram": holter.plot.histogram(points, "x"),
        "bar": holter.plot.bar(holter.Table(columns=["l", "v"], data=[["x", 1]]), "l", "v", title="T"),
        "confusion": holter.plot.confusion_matrix(preds=[0, 1, 1], y_true=[0, 1, 0], class_names=["cat", "dog"]),
    }
    for shape, chart in charts.items():
        made = bench.made(chart)
        assert (made.type, made.items[0].about()["chart"]) == ("chart", shape)
    matrix = ask(bench, bench.made(charts["confusion"]).items[0])
    assert matrix.rows == [["cat", "cat", 1], ["cat", "dog", 1], ["dog", "cat", 0], ["dog", "dog", 1]]
    roc = ask(bench, bench.made(holter.plot.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])).items[0])
    assert [row[1:] for row in roc.rows if row[0] == "1"] == [[0, 0], [0, 0.5], [0.5, 0.5], [0.5, 1.0], [1.0, 1.0]]
    curve = holter.plot.pr_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], labels=["no", "yes"])
    rows = [row[1:] for row in ask(bench, bench.made(curve).items[0]).rows if row[0] == "yes"]
    assert rows == [[0.5, 1.0], [0.5, 0.5], [1.0, pytest.approx(2 / 3)], [1.0, 0.5]]
    drawn = bench.made(holter.plot.line(points, "x", "y", title="T")).items[0].about()
    assert (drawn["title"], drawn["fields"]) == ("T", {"x": "x", "y": "y"})


def test_a_chart_of_bad_input_is_said_and_not_raised(bench: Bench) -> None:
    bench.log(holter.plot.confusion_matrix(y_true=[0]))
    bench.log(holter.plot.roc_curve([0, 1], None))
    assert "needs either probs or preds" in bench.complaints[0]
    assert len(bench.lost()) == 2


def test_lines_that_are_no_table_are_refused() -> None:
    for data in (b"", b"not json\n", b'{"a": 1}\n', b'["a"]\n[1, 2]\n'):
        with pytest.raises(UsageError, match="can't be read"):
            lines_of(data)
