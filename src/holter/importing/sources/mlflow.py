"""MLflow: a `mlruns` folder, a database (`sqlite:///mlflow.db`) or a tracking server (`http://…`)."""

import os
from collections.abc import Iterator

from holter.errors import UsageError
from holter.importing.gathered import Gathered
from holter.importing.imported_run import ImportedRun, Origin
from holter.importing.mlflow_stores import FolderStore, HttpStore, MlflowRun, SqliteStore, Store

KIND = "mlflow"
_FAILED = {"FAILED": 1, "KILLED": 1, "FINISHED": 0}
_NAME, _NOTE, _PARENT = "mlflow.runName", "mlflow.note.content", "mlflow.parentRunId"


def find_runs(path: str) -> Iterator["StoredRun"]:
    """The runs of all experiments but deleted ones. Raises UsageError where there is none."""
    store = _open(path)
    count = 0
    for each in store.runs():
        count += 1
        yield StoredRun(store, each)
    if not count:
        raise UsageError(f"there are no runs of MLflow in {path!r}")


def _open(path: str) -> Store:
    if path.startswith(("http://", "https://")):
        return HttpStore(path)
    place = path.removeprefix("sqlite:///").removeprefix("file://")
    if os.path.isfile(place):
        return SqliteStore(place)
    if os.path.isdir(place):
        inner = os.path.join(place, "mlruns")
        return FolderStore(inner if os.path.isdir(inner) else place)
    raise UsageError(f"{path!r} is neither a folder, nor a SQLite file, nor the address of a tracking server")


class StoredRun:
    """One run of a store."""

    def __init__(self, store: Store, run: MlflowRun) -> None:
        self._store, self._run = store, run
        tags = run.tags
        own = tuple(
            f"{name}={value}" if value else name for name, value in tags.items() if not name.startswith("mlflow.")
        )
        self.origin = Origin(
            kind=KIND,
            identity=run.id,
            project=run.experiment,
            name=run.name or tags.get(_NAME) or run.id,
            started_ns=run.started_ms * 1_000_000,
            group=tags.get(_PARENT, ""),
            notes=tags.get(_NOTE, ""),
            tags=own,
        )
        self.size_bytes = 0

    def read_into(self, run: ImportedRun) -> Iterator[int]:
        """Parameters are the configuration, metrics are rows, files of a folder come along."""
        run.config({name: _plain(text) for name, text in self._run.params.items()})
        gathered = Gathered(run)
        for count, point in enumerate(self._store.points(self._run)):
            gathered.add(point.key, point.value, step=point.step, at_ns=point.at_ms * 1_000_000)
            if count % 10_000 == 0:
                yield 0
        gathered.write()
        run.trouble += self._run.trouble
        if self._run.artifacts:
            run.add_files(self._run.artifacts)
        if self._run.status in _FAILED:
            run.ended(_FAILED[self._run.status], self._run.ended_ms * 1_000_000)
        yield 0


def _plain(text: str) -> float | str:
    """MLflow keeps parameters as text."""
    try:
        number = float(text)
        return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else number
    except ValueError:
        return text
