"""MLflow's folder, database and server; Neptune's export; CSV."""

import http.server
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from holter.errors import UsageError
from tests.importing.taking_over import rows_of, take_over, the_only
from tests.lazily import Lazily

pyarrow: Any = Lazily("pyarrow")
parquet: Any = Lazily("pyarrow.parquet")

RUN = "75e32196c2cc4b01b9becbef2402d42d"
META = f"""artifact_uri: file:///gone
end_time: 1795040478300
lifecycle_stage: active
run_id: {RUN}
run_name: 'it''s tiny'
start_time: 1795040478205
status: 4
"""


def folder_of(place: Path) -> Path:
    run = place / "mlruns" / "1" / RUN
    files = {
        "meta.yaml": META,
        "params/lr": "0.1",
        "params/opt": "adam",
        "tags/team": "vision",
        "tags/mlflow.note.content": "a note",
        "metrics/loss": "1795040478250 1.0 0\n1795040478260 0.5 1\ntorn",
        "metrics/val/acc": "1795040478261 0.25 1\n",
        "artifacts/model.txt": "weights",
    }
    for name, text in files.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(text)
    (run.parent / "meta.yaml").write_text("experiment_id: '1'\nname: cats\n")
    return place / "mlruns"


def test_a_folder_of_mlflow_comes_over(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    folder = folder_of(tmp_path)
    (folder / "1" / RUN / "artifacts" / "link").symlink_to(tmp_path / "secret")
    done, run = the_only("mlflow", folder, tmp_path / "data")
    assert (run.project, run.name, run.state, run.config) == ("cats", "it's tiny", "failed", {"lr": 0.1, "opt": "adam"})
    assert (run.tags, run.fields["notes"]) == (["team=vision"], "a note")
    assert list(rows_of(run, "loss")) == [(0, 1.0), (1, 0.5)]
    assert list(rows_of(run, "val/acc")) == [(1, 0.25)]
    assert len(done.trouble) == 1
    assert [path.name for path in (tmp_path / "data" / "runs" / done.run / "files").iterdir()] == ["model.txt"]


def test_a_database_of_mlflow_comes_over(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "mlflow.db")
    base.executescript("""
        CREATE TABLE experiments (experiment_id INTEGER, name TEXT);
        CREATE TABLE runs (run_uuid, experiment_id INTEGER, name, status, start_time, end_time, lifecycle_stage);
        CREATE TABLE params (run_uuid, key, value);
        CREATE TABLE tags (run_uuid, key, value);
        CREATE TABLE metrics (run_uuid, key, value, timestamp, step, is_nan);
        INSERT INTO experiments VALUES (1, 'cats');
        INSERT INTO runs VALUES ('a', 1, 'tiny', 'FINISHED', 1795040478205, 1795040478300, 'active');
        INSERT INTO runs VALUES ('b', 1, 'gone', 'FINISHED', 1795040478205, 1795040478300, 'deleted');
        INSERT INTO params VALUES ('a', 'layers', '3');
        INSERT INTO metrics VALUES ('a', 'loss', 0.5, 1795040478260, 1, 0), ('a', 'loss', 1.0, 1795040478250, 0, 0);
    """)
    base.commit()
    base.close()
    (done,) = take_over("mlflow", f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path / "data")
    assert done.rows == 2


def test_another_database_is_refused(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "x.db").executescript("CREATE TABLE a (b)").connection.close()
    with pytest.raises(UsageError, match="can't be read as a database of MLflow"):
        take_over("mlflow", tmp_path / "x.db", tmp_path / "data")


ANSWERS = {
    "experiments/search": {"experiments": [{"experiment_id": "1", "name": "cats"}]},
    "runs/search": {
        "runs": [
            {
                "info": {"run_id": "a", "run_name": "tiny", "status": "FINISHED", "start_time": 1795040478205},
                "data": {"params": [{"key": "lr", "value": "0.1"}], "metrics": [{"key": "val/loss"}]},
            }
        ]
    },
    "metrics/get-history": {
        "metrics": [
            {"key": "val/loss", "value": 1.0, "timestamp": 1795040478250, "step": "0"},
            {"key": "val/loss", "value": "NaN", "timestamp": 1795040478260, "step": "1"},
        ]
    },
}


class Answering(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        call = self.path.partition("?")[0].removeprefix("/api/2.0/mlflow/")
        body = json.dumps(ANSWERS[call]).encode()
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  its name

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def tracking_server() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_tracking_server_of_mlflow_is_asked(tmp_path: Path) -> None:
    from holter.importing.imported_run import ImportedRun
    from holter.importing.sources.mlflow import find_runs

    with tracking_server() as address:
        (source,) = find_runs(address)
        with ImportedRun(str(tmp_path), source.origin) as run:
            list(source.read_into(run))
            run.keep()
    assert (source.origin.project, source.origin.name, run.rows) == ("cats", "tiny", 2)


def attribute(path: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"project_id": "team/cats", "run_id": "CAT-1", "attribute_path": path, "attribute_type": kind, **more}


NEPTUNE = [
    attribute("sys/name", "string", string_value="tiny"),
    attribute("sys/tags", "string_set", string_set_value=["a", "b"]),
    attribute("sys/creation_time", "datetime", datetime_value=datetime(2026, 1, 1, tzinfo=UTC)),
    attribute("sys/failed", "bool", bool_value=True),
    attribute("params/lr", "float", float_value=0.1),
    attribute(
        "train/loss", "float_series", float_value=1.0, step=Decimal(0), timestamp=datetime(2026, 1, 2, tzinfo=UTC)
    ),
    attribute(
        "train/loss", "float_series", float_value=0.5, step=Decimal(1), timestamp=datetime(2026, 1, 2, tzinfo=UTC)
    ),
    attribute("train/loss", "float_series", float_value=0.5, step=Decimal("1.5")),
    attribute("pictures", "file_series", step=Decimal(1)),
]


def test_an_export_of_neptune_comes_over(tmp_path: Path) -> None:
    other = {**attribute("params/lr", "float", float_value=1.0), "run_id": "CAT-2"}
    schema = pyarrow.schema(
        [
            *((name, pyarrow.string()) for name in ("project_id", "run_id", "attribute_path", "attribute_type")),
            ("step", pyarrow.decimal128(18, 6)),
            *((name, pyarrow.timestamp("ms", "UTC")) for name in ("timestamp", "datetime_value")),
            ("float_value", pyarrow.float64()),
            ("string_value", pyarrow.string()),
            ("bool_value", pyarrow.bool_()),
            ("string_set_value", pyarrow.list_(pyarrow.string())),
        ]
    )
    table = pyarrow.Table.from_pylist([*NEPTUNE, other], schema=schema)
    (tmp_path / "export" / "cats").mkdir(parents=True)
    parquet.write_table(table, tmp_path / "export" / "cats" / "part_0.parquet")
    first, second = take_over("neptune", tmp_path / "export", tmp_path / "data")
    assert (first.rows, second.rows) == (2, 0)
    assert dict(first.left_out) == {"float_series without a value at a whole step": 1, "file_series": 1}
    from holter.api.recorded_runs import Api

    run = Api(directory=tmp_path / "data").run(first.run)
    assert (run.project, run.name, run.state, run.tags) == ("cats", "tiny", "failed", ["a", "b"])
    assert run.config == {"params/lr": 0.1}
    assert list(rows_of(run, "train/loss")) == [(0, 1.0), (1, 0.5)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step,loss,note\n0,1.0,a\n5,0.5,\n", [(0, 1.0), (5, 0.5)]),
        ("\ufeffWall time;Step;loss\n1795040478.5;3;0.25\n", [(3, 0.25)]),
        ("loss\n1\n2\n", [(0, 1.0), (1, 2.0)]),
        ("step,loss\n1.5,1\nx,2\n2.0,3\n", [(2, 3.0)]),
        ("step,loss\n0,nan\n", [(0, "nan")]),
    ],
)
def test_a_table_comes_over(tmp_path: Path, text: str, expected: list[tuple[int, Any]]) -> None:
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    _, run = the_only("csv", tmp_path / "table.csv", tmp_path / "data")
    assert [(step, "nan" if value != value else value) for step, value in rows_of(run, "loss")] == expected


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").touch()
    with pytest.raises(UsageError, match="is empty: its first line has the names of its columns"):
        take_over("csv", tmp_path, tmp_path / "data")
