"""Writes down what a program gives to its run, and says which of it the run does not hold though nobody said so.

The listener is a `sitecustomize` of the program: it stands between the program and `Run.log`, knows nothing of how rows
are kept, and changes nothing of what it is given.
"""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holter.catalog.read.loaded_run import LoadedRun
from holter.client.values import MOST_KEY
from holter.journal.columns import merge_rows, read_tables
from holter.journal.decoding import tell_segment
from holter.journal.rundir import list_segments
from holter.model.media_records import HistogramLogged, MediaLogged

LISTENER = r"""
import contextlib, enum, functools, json, os
from holter.client import run as home

PATH = os.environ["GIVEN_VALUES"]

def told(value):
    kind = type(value)
    if value is None or kind in (bool, str, int, float):
        return ["plain", value if kind is not int or abs(value) < 2**63 else str(value)]
    if any(base.__module__.startswith("holter.client.media") for base in kind.__mro__):
        return ["media", getattr(value, "kind", kind.__name__)]
    if kind in (list, tuple):
        return ["list", [told(each) for each in value]]
    if hasattr(value, "tolist") and getattr(value, "size", 99) <= 32:
        listed = value.tolist()
        return told(listed[0] if len(listed) == 1 else listed) if isinstance(listed, list) else told(listed)
    if isinstance(value, enum.Enum) and not isinstance(value, int):
        return ["plain", value.name]
    for plain in (lambda: value.isoformat(), lambda: value.__fspath__(), lambda: float(value)):
        with contextlib.suppress(Exception):
            return ["plain", plain()]
    return ["other", kind.__name__]

def flat(data, before=""):
    for key, value in data.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value

def write(line):
    with open(PATH, "a") as file:
        file.write(json.dumps(line) + "\n")

plain_log, plain_end = home.Run.log, home.Run._end

@functools.wraps(plain_log)
def log(self, data, step=None, *args, **kwargs):
    at = self.step if step is None else step
    if isinstance(data, dict) and not self.has_ended and self.dir:
        for key, value in flat(data):
            write(["row", int(at), key, *told(value)])
    return plain_log(self, data, step, *args, **kwargs)

@functools.wraps(plain_end)
def end(self, *args, **kwargs):
    if not self.has_ended and self.dir:
        write(["config", self.config.as_dict()])
        write(["summary", dict(flat(dict(self.summary)))])
    return plain_end(self, *args, **kwargs)

home.Run.log, home.Run._end = log, end
"""


class Given:
    """What one program is to be asked for; `environment` is to be added to that of the program."""

    def __init__(self, place: Path) -> None:
        folder = place / "listener"
        folder.mkdir(exist_ok=True)
        (folder / "sitecustomize.py").write_text(LISTENER)
        self._path = folder / "given.jsonl"
        paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = {"PYTHONPATH": os.pathsep.join(paths), "GIVEN_VALUES": str(self._path)}

    def lost(self, loaded: LoadedRun, said: str) -> list[str]:
        """Everything that was given, is not held and was not spoken of. `said` is what the program was told."""
        lines = [json.loads(line) for line in self._path.read_text().splitlines()]
        rows = {(step, key): (kind, value) for what, step, key, kind, value in _of(lines, "row")}
        assert rows, "nothing was given: the listener did not listen"
        held, media = _held(loaded.row.directory), _media(loaded.row.directory)
        missing = [
            f"row {step} {key}: {kind} {value!r}"
            for (step, key), (kind, value) in rows.items()
            if not _is_held(held.get((step, key[:MOST_KEY]), ...), kind, value)
            and (step, key) not in media
            and f"{key[:MOST_KEY]!r}" not in said
        ]
        for what, values in (("config", loaded.row.config), ("summary", loaded.row.summary)):
            for given in list(_of(lines, what))[-1:]:
                missing += [f"{what} {each!r}" for each in _absent(given[1], values)]
        return missing


def _of(lines: list[list[Any]], what: str) -> Iterator[list[Any]]:
    return (line for line in lines if line[0] == what)


def _held(directory: str) -> dict[tuple[int, str], Any]:
    tables = [read_tables(paths) for paths in list_segments(directory).values()]
    found = {}
    for row in merge_rows(tables):
        step = row["_step"]
        found.update({(step, key): value for key, value in row.items()})
    return found


def _media(directory: str) -> set[tuple[int, str]]:
    paths = [path for paths in list_segments(directory).values() for path in paths]
    records = [record for path in paths for _, record in tell_segment(Path(path).read_bytes()).records]
    return {(each.step, each.key) for each in records if isinstance(each, MediaLogged | HistogramLogged)}


def _is_held(held: Any, kind: str, given: Any) -> bool:  # noqa: ANN401  whatever a row holds
    if held is ...:
        return False
    if kind == "list":
        return isinstance(held, list) and all(map(_is_held, held, *zip(*given, strict=True))) if given else held == []
    if kind == "plain" and isinstance(given, float) and isinstance(held, float | int):
        return math.isclose(held, given) or (math.isnan(held) and math.isnan(given))
    return kind == "plain" and bool(held == given)


def _absent(given: dict[str, Any], held: dict[str, Any]) -> list[str]:
    return [key for key, value in given.items() if not _is_same(held.get(key, ...), value)]


def _is_same(held: Any, given: Any) -> bool:  # noqa: ANN401  as above
    return bool(held == given) or (held != held and given != given)
