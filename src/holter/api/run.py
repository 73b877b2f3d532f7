"""One run, as programs read and change it after the fact."""

import copy
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from holter.api.columns import Columns, joined
from holter.api.edited import RunSummary, plain_tree
from holter.api.media import ApiMedium
from holter.api.source import FileEntry, Source
from holter.errors import UsageError

SAMPLES = 500
AXES = {"step": "_step", "time": "_timestamp", "relative": "_runtime"}
"""What the column of each axis is called; W&B's names."""
SYSTEM = "system/"
Given = TypeVar("Given")


class ApiRun:
    """A recorded run. What it says is as it was when it was asked for; `refresh` asks again."""

    def __init__(self, source: Source, fields: dict[str, Any]) -> None:
        self._source = source
        self.fields = fields
        """All that is known of it in short, by the names of `holter ls --json`."""
        self._handed: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<run {self.id} {self.project}/{self.name} {self.state}>"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.fields:
            return self.fields[name]
        # W&B's words live above the Api.
        found = importlib.import_module("holter.wandb_door.api_words").of_run(self, name)
        if found is not None:
            return found()
        raise AttributeError(f"a run has no {name!r}: it has {', '.join(sorted(self.fields))}")

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.fields["id"])

    @property
    def name(self) -> str:
        """What people call it; `update()` keeps another one."""
        return self._given("name", lambda: str(self.fields["name"]))

    @name.setter
    def name(self, name: str) -> None:
        self._handed["name"] = name

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
        """Its configuration. What is changed in it, `update()` keeps."""
        return self._given("config", lambda: copy.deepcopy(self._detail()["config"]))

    @property
    def summary(self) -> dict[str, Any]:
        """The last value of each key, and what was set by hand. What is changed in it, `update()` keeps."""
        return self._given("summary", lambda: RunSummary(copy.deepcopy(self._detail()["summary"]), self.update))

    @property
    def tags(self) -> list[str]:
        """The words to find it by. What is changed in them, `update()` keeps."""
        return self._given("tags", lambda: list(self.fields["tags"]))

    @tags.setter
    def tags(self, tags: Sequence[str]) -> None:
        self._handed["tags"] = list(tags)

    @property
    def notes(self) -> str:
        """A longer description; `update()` keeps another one."""
        return self._given("notes", lambda: str(self._detail().get("notes") or ""))

    @notes.setter
    def notes(self, notes: str) -> None:
        self._handed["notes"] = notes

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
        data = self.read(path)
        target = os.path.join(root, *path.split("/"))
        if os.path.isabs(path) or ".." in path.split("/"):
            raise UsageError(f"{path!r} is not the name of a file of a run")
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)
        return target

    def media(self, key: str | None = None) -> list[ApiMedium]:
        """Its pictures, sounds, tables and other media in the order of steps; left out, those of all keys."""
        return [ApiMedium(self._source, self.id, told=told) for told in self._source.media(self.id, key)]

    def verdict(self) -> dict[str, Any]:
        """Why it ended: the object of `holter why --json`."""
        return self._source.verdict(self.id)

    def update(self, *, name: str | None = None, tags: Sequence[str] | None = None, notes: str | None = None) -> None:
        """Give it another name, other tags or notes, and keep what was changed in what it handed out.

        What is left out stays. Raises UsageError where a key was taken out, which can't be kept.
        """
        given = {"name": name, "tags": tuple(tags) if tags is not None else None, "notes": notes}
        changes = self._changed() | {field: value for field, value in given.items() if value is not None}
        if not changes:
            return
        self._source.edit(self.id, changes)
        for part in ("config", "summary"):
            if part in changes:
                self.fields[part] = {**self.fields[part], **changes.pop(part)}
        self.fields |= msgspec.to_builtins(changes)
        self._handed.clear()

    def delete(self) -> None:
        """Remove it for good; one that is alive stays. Raises Refused."""
        self._source.delete(self.id)

    def refresh(self) -> "ApiRun":
        """Ask again for all that is known of it."""
        self.fields = self._source.detail(self.id)
        self._handed.clear()
        return self

    def read(self, path: str) -> bytes:
        """The content of one of its files. Raises NoRun."""
        return self._source.read_file(self.id, path)

    def _given(self, name: str, make: Callable[[], Given]) -> Given:
        if name not in self._handed:
            self._handed[name] = make()
        found: Given = self._handed[name]
        return found

    def _changed(self) -> dict[str, Any]:
        """What was changed in what was handed out."""
        changes: dict[str, Any] = {}
        for name, value in self._handed.items():
            old = self._detail().get(name) or {}
            if name in ("config", "summary"):
                if gone := sorted(old.keys() - value.keys()):
                    raise UsageError(f"{gone[0]!r} can't be taken out of the {name} of a run: set it to None instead")
                now = plain_tree(value)
                if changed := {key: each for key, each in now.items() if key not in old or _differs(old[key], each)}:
                    changes[name] = changed
            elif list(value) != list(old):
                changes[name] = tuple(value) if name == "tags" else value
        return changes

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


def _differs(old: Any, new: Any) -> bool:
    return bool(old != new) and not (old != old and new != new)
