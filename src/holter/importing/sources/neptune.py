"""Neptune's export: the Parquet files of its exporter, in a folder for each project. Needs pyarrow."""

import os
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from holter.errors import UsageError
from holter.importing.gathered import Gathered
from holter.importing.imported_run import ImportedRun, Origin

KIND = "neptune"
COLUMNS = {"project_id", "run_id", "attribute_path", "attribute_type"}
_PLAIN = {"float": "float_value", "int": "int_value", "string": "string_value", "bool": "bool_value"}
_SERIES = {"float_series": "float_value", "string_series": "string_value"}
_NAMES = ("sys/name", "sys/custom_run_id", "sys/id")
_READ_AT_ONCE = 65_536


def find_runs(path: str) -> Iterator["NeptuneRun"]:
    """The runs of an export, in the order of their ids. Raises UsageError where there is none, or no pyarrow."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise UsageError("Neptune's export is Parquet, which needs pyarrow: `pip install 'holter[export]'`") from error
    if not os.path.exists(path):
        raise UsageError(f"there is no file or folder {path!r}")
    runs: dict[tuple[str, str], list[str]] = {}
    for file in _parquet_files(path):
        try:
            if not set(parquet.read_schema(file).names) >= COLUMNS:
                continue
            pairs = parquet.read_table(file, columns=["project_id", "run_id"])
        except (ValueError, OSError) as error:
            raise UsageError(f"{file} can't be read as Parquet: {error}") from error
        for row in pairs.group_by(["project_id", "run_id"]).aggregate([]).to_pylist():
            runs.setdefault((str(row["project_id"]), str(row["run_id"])), []).append(file)
    if not runs:
        raise UsageError(f"there are no Parquet files of Neptune's exporter below {path!r}")
    for (project, run), files in sorted(runs.items()):
        yield NeptuneRun(project, run, files=files)


class NeptuneRun:
    """The attributes of one run, in one or more files."""

    def __init__(self, project: str, run: str, *, files: list[str]) -> None:
        self._project, self._run, self._files = project, run, files
        plain = dict(self._attributes(set(_PLAIN) | {"datetime", "string_set"}))
        self._config = {name: value for name, value in plain.items() if not name.startswith(("sys/", "monitoring/"))}
        self._is_failed = plain.get("sys/failed") is True
        name = next((str(plain[each]) for each in _NAMES if plain.get(each)), run)
        tags = plain.get("sys/tags") or ()
        created = plain.get("sys/creation_time")
        started = int(created.timestamp() * 1e9) if isinstance(created, datetime) else 0
        self.origin = Origin(
            kind=KIND,
            identity=f"{project}/{run}",
            project=project.rpartition("/")[2],
            entity=project.rpartition("/")[0],
            name=name,
            started_ns=started or int(os.path.getmtime(files[0]) * 1e9),
            notes=str(plain.get("sys/description") or ""),
            tags=tuple(map(str, tags)),
        )
        self.size_bytes = sum(map(os.path.getsize, files))

    def read_into(self, run: ImportedRun) -> Iterator[int]:
        """What has one value is the configuration, series are rows."""
        run.config({name: value if isinstance(value, _SIMPLE) else str(value) for name, value in self._config.items()})
        gathered = Gathered(run)
        for count, row in enumerate(self._rows()):
            column = _SERIES.get(row["attribute_type"])
            if column is None:
                if row["attribute_type"] not in (*_PLAIN, "datetime", "string_set"):
                    run.left_out[str(row["attribute_type"])] += 1
                continue
            value, step = row.get(column), row.get("step")
            if value is None or step is None or step != step // 1:
                run.left_out[f"{row['attribute_type']} without a value at a whole step"] += 1
                continue
            moment = row.get("timestamp")
            at_ns = int(moment.timestamp() * 1e9) if moment is not None else 0
            gathered.add(row["attribute_path"], value, step=int(step), at_ns=at_ns)
            if count % 10_000 == 0:
                yield min(self.size_bytes, count * 20)
        gathered.write()
        run.ended(int(self._is_failed))
        yield self.size_bytes

    def _attributes(self, kinds: set[str]) -> Iterator[tuple[str, Any]]:
        columns = {**_PLAIN, "datetime": "datetime_value", "string_set": "string_set_value"}
        for row in self._rows(list(kinds)):
            yield row["attribute_path"], row.get(columns[row["attribute_type"]])

    def _rows(self, kinds: list[str] | None = None) -> Iterator[dict[str, Any]]:
        import pyarrow.dataset as dataset

        for file in self._files:
            wanted = (dataset.field("project_id") == self._project) & (dataset.field("run_id") == self._run)
            if kinds is not None:
                wanted &= dataset.field("attribute_type").isin(kinds)
            for batch in dataset.dataset(file, format="parquet").to_batches(filter=wanted, batch_size=_READ_AT_ONCE):
                yield from batch.to_pylist()


_SIMPLE = (bool, int, float, str, type(None))


def _parquet_files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
        return
    for place, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = os.path.join(place, name)
            if name.endswith(".parquet") and os.path.isfile(file) and not os.path.islink(file):
                yield file
