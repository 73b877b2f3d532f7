"""One run, as programs read and change it after the fact."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from holter.api.columns import Columns, joined
from holter.api.source import FileEntry, Source
from holter.errors import UsageError

SAMPLES = 500
AXES = {"step": "_step", "time": "_timestamp", "relative": "_runtime"}
"""What the column of each axis is called; W&B's names."""
SYSTEM = "system/"


class ApiRun:
    """A recorded run. What it says is as it was when it was asked for; `refresh` asks again."""

    def __init__(self, source: Source, fields: dict[str, Any]) -> None:
        self._source = source
        self.fields = fields
        """All that is known of it in short, by the names of `holter ls --json`."""

    def __repr__(self) -> str:
        return f"<run {self.id} {self.project}/{self.name} {self.state}>"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.fields:
            return self.fields[name]
        raise AttributeError(f"a run has no {name!r}: it has {', '.join(sorted(self.fields))}")

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.fields["id"])

    @property
    def name(self) -> str:
        """What people call it."""
        return str(self.fields["name"])

    @property
    def project(self) -> str:
        """The project that it belongs to."""
        return str(self.fields["project"])

    @property
    def state(self) -> str:
        """running, finished, failed, crashed or preempted."""
        return str(self.fields["state"])

    @property
    def config(self) -> dict[str, Any]:
        """Its configuration."""
        return dict(self._detail()["config"])

    @property
    def summary(self) -> dict[str, Any]:
        """The last value of each key, and what was set by hand."""
        return dict(self._detail()["summary"])

    @property
    def tags(self) -> list[str]:
        """The words to find it by."""
        return list(self.fields["tags"])

    def keys(self) -> list[str]:
        """The names of its metrics; what was measured of the machine begins with `system/`."""
        return self._source.keys(self.id)

    def history(
        self, keys: Sequence[str] | str | None = None, x: str = "step", *, samples: int = SAMPLES, full: bool = False
    ) -> Columns:
        """Metrics as numpy columns along one axis; `.to_pandas()` and `.to_polars()` make frames of them.

        Args:
            keys: one metric or several; left out, all that the program logged.
            x: `step`, `time`, `relative` (seconds since the start), or the key of a metric.
            samples: at most so many rows for each metric: the last value of each part of the axis.
            full: every point instead.
        """
        wanted = [keys] if isinstance(keys, str) else list(keys) if keys is not None else self._own_keys()
        if samples < 1:
            raise UsageError(f"samples must be 1 or more, got {samples}; full=True gives every point")
        axis = AXES.get(x, x)
        if not full:
            found = self._source.sampled(self.id, wanted, x=x, buckets=samples)
            return joined(axis, {key: (each.places, each.values) for key, each in found.items()})
        return self._full(wanted, x, axis)

    def scan_history(self, keys: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        """Every row as a dict, in the order of steps: `_step`, `_timestamp`, and the keys that have a value."""
        wanted = list(keys) if keys is not None else self._own_keys()
        rows: dict[float, dict[str, Any]] = {}
        for key in wanted:
            series = self._source.series(self.id, key)
            points = zip(series.steps.tolist(), series.times.tolist(), series.values.tolist(), strict=True)
            for step, at, value in points:
                row = rows.setdefault(step, {"_step": int(step), "_timestamp": at})
                row["_timestamp"] = max(row["_timestamp"], at)
                row[key] = value
        for step in sorted(rows):
            yield rows[step]

    def console(self, count: int = 1000) -> list[str]:
        """The last lines that it printed."""
        return self._source.console(self.id, count)

    def files(self) -> list[FileEntry]:
        """Its files but the journals."""
        return self._source.files(self.id)

    def download(self, path: str, root: str = ".") -> str:
        """Copy one of its files below a directory; returns where it is then. Raises NoRun, OSError."""
        data = self._source.read_file(self.id, path)
        target = os.path.join(root, *path.split("/"))
        if os.path.isabs(path) or ".." in path.split("/"):
            raise UsageError(f"{path!r} is not the name of a file of a run")
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)
        return target

    def verdict(self) -> dict[str, Any]:
        """Why it ended: the object of `holter why --json`."""
        return self._source.verdict(self.id)

    def update(self, *, name: str | None = None, tags: Sequence[str] | None = None, notes: str | None = None) -> None:
        """Give it another name, other tags or notes; what is left out stays."""
        given = {"name": name, "tags": tuple(tags) if tags is not None else None, "notes": notes}
        changes = {field: value for field, value in given.items() if value is not None}
        self._source.edit(self.id, changes)
        self.fields |= msgspec.to_builtins(changes)

    def delete(self) -> None:
        """Remove it for good; one that is alive stays. Raises Refused."""
        self._source.delete(self.id)

    def refresh(self) -> "ApiRun":
        """Ask again for all that is known of it."""
        self.fields = self._source.detail(self.id)
        return self

    def _detail(self) -> dict[str, Any]:
        if "config" not in self.fields or "summary" not in self.fields:
            self.refresh()
        return self.fields

    def _own_keys(self) -> list[str]:
        return [key for key in self.keys() if not key.startswith(SYSTEM)]

    def _full(self, wanted: Sequence[str], x: str, axis: str) -> Columns:
        series = {key: self._source.series(self.id, key) for key in wanted}
        if x == "step":
            return joined(axis, {key: (each.steps, each.values) for key, each in series.items()})
        if x in AXES:
            start = float(self._detail()["started_at"]) if x == "relative" else 0.0
            return joined(axis, {key: (each.times - start, each.values) for key, each in series.items()})
        import numpy as np

        along = self._source.series(self.id, x)
        table = joined("_step", {key: (each.steps, each.values) for key, each in {**series, x: along}.items()})
        is_there = ~np.isnan(table[x])
        order = np.argsort(table[x][is_there], kind="stable")
        return Columns({name: table[name][is_there][order] for name in dict.fromkeys([x, *wanted])})
