"""The three places where MLflow keeps runs, read without MLflow."""

import heapq
import os
import sqlite3
import urllib.parse
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import msgspec

from holter.errors import UsageError

MOST_OPEN_FILES = 200
MOST_TEXT_BYTES = 1 << 20
MOST_ANSWER_BYTES = 256 << 20
AT_ONCE = 1_000
_STATES = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}


class Point(NamedTuple):
    """A value of a metric. They are ordered as they are written down."""

    step: int
    at_ms: int
    key: str
    value: float


class MlflowRun(msgspec.Struct):
    """What is known of a run but its metrics."""

    id: str
    experiment: str
    name: str = ""
    status: str = ""
    started_ms: int = 0
    ended_ms: int = 0
    params: dict[str, str] = {}
    tags: dict[str, str] = {}
    artifacts: str = ""
    """The folder of its files, where that lies beside it."""
    place: str = ""
    trouble: list[str] = []


class Store(Protocol):
    """Where runs are kept."""

    def runs(self) -> Iterator[MlflowRun]:
        """Those that are not deleted."""

    def points(self, run: MlflowRun) -> Iterator[Point]:
        """All values of its metrics, by step."""


class FolderStore:
    """`mlruns`: a folder for each experiment, in it one for each run, in it a file for each metric."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def runs(self) -> Iterator[MlflowRun]:
        """Those with a `meta.yaml` that says so."""
        for experiment in _folders(self._folder):
            called = _meta(experiment).get("name") or os.path.basename(experiment)
            for place in _folders(experiment):
                meta = _meta(place)
                if (not meta.get("run_id") and not meta.get("run_uuid")) or meta.get("lifecycle_stage") == "deleted":
                    continue
                artifacts = os.path.join(place, "artifacts")
                yield MlflowRun(
                    id=meta.get("run_id") or meta["run_uuid"],
                    experiment=called,
                    name=meta.get("run_name", ""),
                    status=_STATES.get(meta.get("status", ""), meta.get("status", "")),
                    started_ms=_whole(meta.get("start_time")),
                    ended_ms=_whole(meta.get("end_time")),
                    params=dict(_texts(os.path.join(place, "params"))),
                    tags=dict(_texts(os.path.join(place, "tags"))),
                    artifacts=artifacts if os.path.isdir(artifacts) and not os.path.islink(artifacts) else "",
                    place=place,
                )

    def points(self, run: MlflowRun) -> Iterator[Point]:
        """From all files side by side; of very many, some at a time."""
        folder = os.path.join(run.place, "metrics")
        files = list(_files(folder))
        for start in range(0, len(files), MOST_OPEN_FILES):
            several = files[start : start + MOST_OPEN_FILES]
            yield from heapq.merge(*(self._of(path, os.path.relpath(path, folder), run) for path in several))

    def _of(self, path: str, key: str, run: MlflowRun) -> Iterator[Point]:
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(iter(lambda: file.readline(1000), ""), 1):
                parts = line.split()
                try:
                    at_ms, value = int(parts[0]), float(parts[1])
                    yield Point(int(parts[2]) if len(parts) > 2 else 0, at_ms, key, value)
                except (ValueError, IndexError):
                    run.trouble.append(f"{path}, line {number} is no value of a metric: it is left out")


class SqliteStore:
    """The database of a tracking server, opened for reading only."""

    def __init__(self, path: str) -> None:
        self._path = os.path.abspath(path)

    def runs(self) -> Iterator[MlflowRun]:
        """Those whose stage is active. Raises UsageError where it is another database."""
        with self._opened() as base:
            found = base.execute(
                "SELECT r.run_uuid, e.name, r.name, r.status, r.start_time, r.end_time FROM runs r"
                " JOIN experiments e ON e.experiment_id = r.experiment_id"
                " WHERE r.lifecycle_stage = 'active' ORDER BY r.start_time, r.run_uuid"
            ).fetchall()
            for run, experiment, name, status, started, ended in found:
                params, tags = (
                    {
                        str(key): str(value)
                        for key, value in base.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ?", (run,))
                    }
                    for table in ("params", "tags")
                )
                yield MlflowRun(
                    id=str(run),
                    experiment=str(experiment),
                    name=str(name or ""),
                    status=str(status or ""),
                    started_ms=_whole(started),
                    ended_ms=_whole(ended),
                    params=params,
                    tags=tags,
                )

    def points(self, run: MlflowRun) -> Iterator[Point]:
        """As the database orders them."""
        with self._opened() as base:
            asked = "SELECT step, timestamp, key, value, is_nan FROM metrics WHERE run_uuid = ?"
            for step, at_ms, key, value, is_nan in base.execute(f"{asked} ORDER BY step, timestamp", (run.id,)):
                yield Point(_whole(step), _whole(at_ms), str(key), float("nan") if is_nan else float(value))

    def _opened(self) -> "_Database":
        return _Database(self._path)


class _Database:
    """A connection whose failures are the user's to mend."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        self._base = sqlite3.connect(f"file:{urllib.parse.quote(self._path)}?mode=ro", uri=True)
        return self._base

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        self._base.close()
        if isinstance(error, sqlite3.Error):
            raise UsageError(f"{self._path} can't be read as a database of MLflow: {error}") from error


class HttpStore:
    """A tracking server, asked through its REST API."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")

    def runs(self) -> Iterator[MlflowRun]:
        """Page after page. Raises UsageError where no such server answers."""
        for experiment in self._pages("experiments/search", {}, "experiments"):
            asked = {"experiment_ids": [experiment["experiment_id"]], "run_view_type": "ACTIVE_ONLY"}
            for run in self._pages("runs/search", asked, "runs"):
                info, data = run["info"], run.get("data", {})
                yield MlflowRun(
                    id=str(info["run_id"]),
                    experiment=str(experiment["name"]),
                    name=str(info.get("run_name", "")),
                    status=str(info.get("status", "")),
                    started_ms=_whole(info.get("start_time")),
                    ended_ms=_whole(info.get("end_time")),
                    params={each["key"]: each.get("value", "") for each in data.get("params", ())},
                    tags={each["key"]: each.get("value", "") for each in data.get("tags", ())},
                    place=" ".join(urllib.parse.quote(each["key"], safe="") for each in data.get("metrics", ())),
                )

    def points(self, run: MlflowRun) -> Iterator[Point]:
        """The history of one metric after the other: the API knows no other way."""
        for key in run.place.split():
            asked = (
                f"metrics/get-history?run_id={urllib.parse.quote(run.id, safe='')}&metric_key={key}&max_results=25000"
            )
            token = ""
            while True:
                answer = self._ask(asked + (f"&page_token={urllib.parse.quote(token, safe='')}" if token else ""))
                for each in answer.get("metrics", ()):
                    value = float(each.get("value", "nan"))
                    yield Point(_whole(each.get("step")), _whole(each.get("timestamp")), each["key"], value)
                token = answer.get("next_page_token", "")
                if not token:
                    break

    def _pages(self, call: str, asked: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
        token = ""
        while True:
            more = {"page_token": token} if token else {}
            answer = self._ask(call, {**asked, "max_results": AT_ONCE, **more})
            yield from answer.get(name, ())
            token = answer.get("next_page_token", "")
            if not token:
                return

    def _ask(self, call: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        import urllib.request

        url = f"{self._address}/api/2.0/mlflow/{call}"
        data = None if body is None else msgspec.json.encode(body)
        request = urllib.request.Request(url, data=data, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return dict(msgspec.json.decode(answer.read(MOST_ANSWER_BYTES)))
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"{self._address} does not answer as a tracking server of MLflow: {error}") from error


def _folders(place: str) -> list[str]:
    names = sorted(os.listdir(place))
    paths = [os.path.join(place, name) for name in names if not name.startswith(".")]
    return [path for path in paths if os.path.isdir(path) and not os.path.islink(path)]


def _files(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        paths = [os.path.join(place, name) for name in sorted(names)]
        yield from (path for path in paths if os.path.isfile(path) and not os.path.islink(path))


def _texts(folder: str) -> Iterator[tuple[str, str]]:
    for path in _files(folder):
        with open(path, encoding="utf-8", errors="replace") as file:
            yield os.path.relpath(path, folder), file.read(MOST_TEXT_BYTES)


def _meta(folder: str) -> dict[str, str]:
    """The flat YAML that MLflow writes: a name and a plain or quoted value in each line."""
    path = os.path.join(folder, "meta.yaml")
    if not os.path.isfile(path) or os.path.islink(path):
        return {}
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read(MOST_TEXT_BYTES).splitlines()
    pairs = (line.partition(":") for line in lines if not line.startswith((" ", "#")))
    values = {name.strip(): value.strip() for name, _, value in pairs}
    return {name: _unquoted(value) for name, value in values.items() if value not in ("null", "~")}


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(msgspec.json.decode(text))
        except msgspec.DecodeError:
            return text[1:-1]
    return text


def _whole(value: object) -> int:
    try:
        return int(str(value or 0))
    except ValueError:
        return 0
