"""W&B's run files (`run-ID.wandb`, offline or not), alone or in the folders that W&B makes. Damaged ones too."""

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from holter.errors import UsageError
from holter.formats import wandb_records as records
from holter.formats.leveldb_log import LogFile
from holter.formats.protobuf import Malformed, as_bytes, as_int, as_text, fields
from holter.importing.imported_run import ImportedRun, Origin
from holter.importing.wandb_media import medium_of

KIND = "wandb"
SUFFIX = ".wandb"
LOOK_AT = 50
"""Records at the beginning of a file, among which is that of the run."""
REPORT_EVERY = 1_000
_TEXTS = {1: "id", 2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "name", 9: "notes", 13: "host"}
_OWN = frozenset(("_step", "_timestamp", "_runtime", "_wandb"))


class Part(msgspec.Struct):
    """One file of a run: a resumed run has several."""

    path: str
    said: dict[str, str] = {}
    tags: tuple[str, ...] = ()
    started_ns: int = 0
    starting_step: int = 0


def find_runs(path: str) -> Iterator["WandbRun"]:
    """The runs at a path, in the order in which they began. Raises UsageError where there is none."""
    if not os.path.exists(path):
        raise UsageError(f"there is no file or folder {path!r}")
    paths = [path] if os.path.isfile(path) else list(_files_below(path))
    if not paths:
        raise UsageError(f"there are no run files below {path!r}: their names end in {SUFFIX}")
    runs: dict[str, list[Part]] = {}
    for part in sorted(map(_look, paths), key=lambda part: (part.started_ns, part.path)):
        said = part.said
        runs.setdefault(f"{said.get('entity', '')}/{said.get('project', '')}/{said['id']}", []).append(part)
    for identity, parts in runs.items():
        yield WandbRun(identity, parts)


class WandbRun:
    """The files of one run, the oldest first."""

    def __init__(self, identity: str, parts: list[Part]) -> None:
        self._parts = parts
        first, said = parts[0], {name: text for part in parts for name, text in part.said.items() if text}
        called = {name: said.get(name, "") for name in ("entity", "group", "job_type", "notes", "host")}
        name = said.get("name") or said["id"]
        project, tags = said.get("project") or "uncategorized", parts[-1].tags
        self.origin = Origin(
            kind=KIND, identity=identity, project=project, name=name, started_ns=first.started_ns, tags=tags, **called
        )
        self.size_bytes = sum(os.path.getsize(part.path) for part in parts)

    def read_into(self, run: ImportedRun) -> Iterator[int]:
        """Rows, configuration, summary, output, alerts, what was measured of the machine, files, and how it ended."""
        reading = _Reading(run)
        done = 0
        for number, part in enumerate(self._parts, 1):
            reading.begin(part)
            file = LogFile(part.path)
            for count, record in enumerate(file.read()):
                try:
                    reading.take(*records.kind_of(record))
                except (Malformed, ValueError, OverflowError):
                    file.damaged += 1
                if count % REPORT_EVERY == 0:
                    yield done + file.at
            done += file.at
            if file.damaged:
                run.trouble.append(f"{part.path} is damaged in {file.damaged:,} places: what stood there is left out")
            if file.is_torn:
                run.trouble.append(f"{part.path}: the last record is not all there: it is left out")
            folder = os.path.join(os.path.dirname(part.path), "files")
            if os.path.isdir(folder) and not os.path.islink(folder):
                run.add_files(folder, f"attempt-{number}" if number > 1 else "")
        reading.finish()
        yield done


class _Reading:
    """What the records of a run add up to."""

    def __init__(self, run: ImportedRun) -> None:
        self._run = run
        self._items = records.Items()
        self._config: dict[str, Any] = {}
        self._summary: dict[str, bytes] = {}
        self._last: dict[str, Any] = {}
        self._next_step = self._offset = self._stats = 0
        self._is_begun = True
        self._part = Part("")
        self._exit_code: int | None = None
        self._calls = {
            records.HISTORY: self._history,
            records.SUMMARY: self._summarised,
            records.CONFIG: self._configured,
            records.STATS: self._measured,
            records.ALERT: self._alerted,
            records.OUTPUT: self._printed,
            records.RUN: self._described,
            records.EXIT: self._exited,
        }

    def begin(self, part: Part) -> None:
        """Another file of the run begins."""
        self._part, self._offset, self._is_begun, self._exit_code = part, 0, False, None

    def take(self, kind: int, body: bytes) -> None:
        """Take a record."""
        if (call := self._calls.get(kind)) is not None:
            call(body)

    def finish(self) -> None:
        """All of it is read."""
        run = self._run
        if self._config:
            run.config(self._config)
        values = dict(zip(self._summary, records.decode_values(list(self._summary.values())), strict=True))
        by_hand = {
            _dotted(name): value
            for name, value in values.items()
            if name.partition(records.SEPARATOR)[0] not in _OWN and not _is_same(self._last.get(_dotted(name)), value)
        }
        media = {name.rpartition(".")[0] for name in by_hand if name.endswith("._type")}
        if kept := {name: value for name, value in by_hand.items() if name.rpartition(".")[0] not in media}:
            run.summary(kept)
        if self._exit_code is not None:
            run.ended(self._exit_code)

    def _history(self, body: bytes) -> None:
        names, values = [], []
        for number, name, value in self._items.read(body):
            if number == 1:
                names.append(name)
                values.append(value)
        row = dict(zip(names, records.decode_values(values), strict=True))
        step = row.pop("_step", None)
        if not isinstance(step, int):
            step = records.step_of(body)
        wall = row.pop("_timestamp", None)
        row.pop("_runtime", None)
        if step is None:
            step = self._next_step - self._offset
        step = self._placed(step)
        plain = self._with_media({_dotted(name): value for name, value in sorted(row.items())})
        if plain:
            at_ns = int(wall * 1e9) if isinstance(wall, int | float) and 0 <= wall < 9e9 else 0
            self._run.log(plain, step, at_ns)
            self._last.update(plain)

    def _placed(self, step: int) -> int:
        """A file that counts from the beginning again goes on behind the others: no row of theirs is written over."""
        if not self._is_begun:
            self._is_begun = True
            if step < self._next_step and not self._part.starting_step:
                self._offset = self._next_step
                self._run.trouble.append(f"{self._part.path} counts its steps anew: they go on from {self._offset:,}")
        step += self._offset
        self._next_step = max(self._next_step, step + 1)
        return step

    def _with_media(self, row: dict[str, Any]) -> dict[str, Any]:
        """Media are told as a dict, or as nested names; what has no place is counted."""
        told = {name: value for name, value in row.items() if isinstance(value, dict) and "_type" in value}
        for name in [name.removesuffix("._type") for name in row if name.endswith("._type")]:
            start = f"{name}."
            told[name] = {each.removeprefix(start): value for each, value in row.items() if each.startswith(start)}
        if not told:
            return row
        folder = os.path.join(os.path.dirname(self._part.path), "files")
        prefixes = tuple(f"{name}." for name in told)
        plain = {name: value for name, value in row.items() if name not in told and not name.startswith(prefixes)}
        for name, about in told.items():
            if (medium := medium_of(records.nested_dots(about), folder)) is not None:
                plain[name] = medium
            else:
                self._run.left_out[f"{about['_type']} in rows"] += 1
        return plain

    def _summarised(self, body: bytes) -> None:
        for number, name, value in self._items.read(body):
            if number == 1:
                self._summary[name] = value
            else:
                self._summary.pop(name, None)

    def _configured(self, body: bytes) -> None:
        for number, name, value in self._items.read(body):
            if name.partition(records.SEPARATOR)[0] in _OWN:
                continue
            if number == 1:
                _merge(self._config, records.nested([(name, records.decode_value(value))]))
            else:
                self._config.pop(name, None)

    def _described(self, body: bytes) -> None:
        for number, value in fields(body):
            if number == 4:
                self._configured(as_bytes(value))
            elif number == 5:
                self._summarised(as_bytes(value))

    def _measured(self, body: bytes) -> None:
        at_ns = next((records.time_ns(as_bytes(value)) for number, value in fields(body) if number == 2), 0)
        items = [as_bytes(value) for number, value in fields(body) if number == 3]
        row = {}
        for found in map(dict, map(fields, items)):
            value = records.decode_value(as_bytes(found.get(16, b"")))
            if isinstance(value, int | float):
                row[f"system_stats/{as_text(found.get(1, b''))}"] = float(value)
        if row:
            self._run.log(dict(sorted(row.items())), self._stats, at_ns)
            self._stats += 1

    def _alerted(self, body: bytes) -> None:
        found = dict(fields(body))
        title, text, level = (as_text(found.get(number, b"")) for number in (1, 2, 3))
        self._run.alert(title, text, level or "INFO", at_ns=self._run.last_ns)

    def _printed(self, body: bytes) -> None:
        found = dict(fields(body))
        stream = 2 if found.get(1) == 0 else 1
        self._run.printed(as_bytes(found.get(3, b"")), stream, at_ns=records.time_ns(as_bytes(found.get(2, b""))))

    def _exited(self, body: bytes) -> None:
        code = dict(fields(body)).get(1, 0)
        self._exit_code = min(as_int(code), 255)


def _look(path: str) -> Part:
    """What the beginning of a file says of its run; where that is damaged, what its name says."""
    part = Part(path, started_ns=int(os.path.getmtime(path) * 1e9))
    name = os.path.basename(path).removesuffix(SUFFIX)
    part.said = {"id": name.removeprefix("run-") or name}
    for count, record in enumerate(LogFile(path).read()):
        try:
            kind, body = records.kind_of(record)
            if kind == records.RUN:
                _describe(part, body)
                break
        except Malformed:
            pass
        if count > LOOK_AT:
            break
    return part


def _describe(part: Part, body: bytes) -> None:
    tags = []
    for number, value in fields(body):
        if number in _TEXTS:
            part.said[_TEXTS[number]] = as_text(value)
        elif number == 10:
            tags.append(as_text(value))
        elif number == 14:
            part.starting_step = as_int(value)
        elif number == 17:
            part.started_ns = records.time_ns(as_bytes(value))
    part.tags = tuple(tags)


def _files_below(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            if name.endswith(SUFFIX) and os.path.isfile(path) and not os.path.islink(path):
                yield path


def _dotted(name: str) -> str:
    return name.replace(records.SEPARATOR, ".") if records.SEPARATOR in name else name


def _is_same(one: Any, other: Any) -> bool:  # noqa: ANN401  any JSON
    return bool(one == other) or (one != one and other != other)


def _merge(tree: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(tree.get(key), dict):
            _merge(tree[key], value)
        else:
            tree[key] = value
