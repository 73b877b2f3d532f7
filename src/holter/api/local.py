"""Runs of the local directory, read from their journals; no server is needed."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from holter.api.media import MediaFile
from holter.api.source import FileEntry, Floats, Page, Sampled, Series, Wanted
from holter.catalog.catalog import Catalog
from holter.catalog.change.user_name import user_name
from holter.catalog.read.loaded_run import PROGRAM, LoadedRun
from holter.errors import NoRun, NotKept, Refused
from holter.journal.rundir import list_segments, run_directory
from holter.journal.spool import FOLDER as SPOOL
from holter.model.amending import Amended
from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.records import Edited

if TYPE_CHECKING:
    from holter.journal.columns import Tables
    from holter.model.record import Record

SYSTEM = "system/"
MAKE_WITHIN_S = 600.0
_HIDDEN = (".seg", ".idx", ".lock", ".partial")
_MS = 1_000_000


class LocalSource:
    """Both sources, for one data directory."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.data = catalog.data
        """Its data directory."""
        self._read: tuple[str, list[tuple[str, Tables]]] = ("", [])

    def page(self, wanted: Wanted) -> Page:
        """A page of runs."""
        from holter.storage.filter_text import parse_query
        from holter.storage.matching import select
        from holter.storage.runs import RunQuery

        rows = [row for row in self._catalog.rows() if wanted.project in (None, row.project)]
        query = RunQuery(now_ns=time.time_ns(), start=wanted.offset, count=wanted.limit)
        page = select(rows, parse_query(query, where=wanted.filter, sort=wanted.sort))
        return Page([row.told() for row in page.runs], page.total or 0)

    def detail(self, run: str) -> dict[str, Any]:
        """One run with its configuration and summary."""
        loaded = self._load(run)
        return {**loaded.row.told(), "facts": loaded.facts, "because": loaded.row.because}

    def verdict(self, run: str) -> dict[str, Any]:
        """Why it ended."""
        from holter.catalog.present.explanation import as_json

        return dict(msgspec.to_builtins(as_json(self._load(run))))

    def edit(self, run: str, changes: Mapping[str, Any]) -> None:
        """Change what people call it."""
        from holter.catalog.change.command_journal import as_command, write_down

        row = self._load(run).row
        values = {part: changes[part] for part in ("config", "summary") if part in changes}
        called = {name: value for name, value in changes.items() if name not in values}
        at_ns, by = Clock().now_ns(), user_name()
        records: list[Record] = [Edited(at_ns=at_ns, by=by, **called)] if called else []
        if values:
            records.append(Masking().record(Amended(at_ns=at_ns, by=by, values=values)))
        if not write_down(row.directory, records, opened=as_command(run, row.attempt)):
            raise NotKept(f"the disk did not take the change in {row.directory}: make room and try again")

    def delete(self, run: str) -> None:
        """Remove it."""
        from holter.catalog.change.deletions import delete_run
        from holter.catalog.change.removal import UNTOUCHED_S, protection
        from holter.catalog.change.trash import weigh

        loaded = self._load(run)
        because = protection(weigh(loaded.row, is_settled=loaded.is_settled), time.time() + UNTOUCHED_S)
        if because:
            raise Refused(409, f"run {run} stays: {because}", why=because)
        delete_run(self._catalog.data, run, by=user_name())

    def keys(self, run: str) -> list[str]:
        """The names of its metrics."""
        found: dict[str, None] = {}
        for prefix, tables in self._tables(run):
            for table in tables.tables:
                found |= dict.fromkeys(_named(prefix, key) for key in table.keys)
            for loose in tables.loose:
                numbers = (key for key, value in loose.row.values.items() if isinstance(value, bool | int | float))
                found |= dict.fromkeys(_named(prefix, key) for key in numbers)
        return sorted(found)

    def series(self, run: str, key: str) -> Series:
        """All points of a metric: of several writes of a step the last one wins, by time, journal and place."""
        parts: list[Floats] = []
        for rank, (prefix, tables) in enumerate(self._tables(run)):
            parts += _points(tables, rank, prefix, key)
        if not parts:
            return Series(np.empty(0), np.empty(0), np.empty(0))
        steps, at_ns, ranks, places, values = (np.concatenate([part[line] for part in parts]) for line in range(5))
        order = np.lexsort((places, ranks, at_ns, steps))
        last = np.append(np.diff(steps[order]) != 0, True)
        kept = order[last]
        return Series(steps[kept].astype(float), at_ns[kept] / 1e9, values[kept].astype(float))

    def sampled(self, run: str, keys: Sequence[str], *, x: str, buckets: int) -> dict[str, Sampled]:
        """Metrics in buckets."""
        from holter.storage.bucketing import cut_into_buckets, spans_of_points

        found = {}
        for key in keys:
            series = self.series(run, key)
            places, values = self._along(run, series, x)
            order = np.argsort(places, kind="stable")
            cut = cut_into_buckets(spans_of_points(places[order], values[order]), buckets, first=None, last=None)
            found[key] = Sampled(cut.last.astype(float), cut.final, cut.low, cut.high)
        return found

    def console(self, run: str, count: int) -> list[str]:
        """The last lines."""
        from holter.console.reading import ConsoleReader

        printed = ConsoleReader(self._directory(run)).last(count * 400)
        text = b"".join(each.data for each in printed).decode("utf-8", "replace")
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
        return (lines[:-1] if lines[-1] == "" else lines)[-count:]

    def files(self, run: str) -> list[FileEntry]:
        """Its files."""
        directory = self._directory(run)
        found = []
        for folder, folders, names in os.walk(directory):
            folders[:] = [name for name in folders if (folder, name) != (directory, SPOOL)]
            for name in names:
                full = os.path.join(folder, name)
                if not name.endswith(_HIDDEN) and not name.startswith(".") and os.path.isfile(full):
                    found.append(FileEntry(os.path.relpath(full, directory), os.path.getsize(full)))
        return sorted(found, key=lambda each: each.path)

    def read_file(self, run: str, path: str) -> bytes:
        """The content of one."""
        if path not in {each.path for each in self.files(run)}:
            raise NoRun(f"there is no file {path!r} in run {run}")
        with open(os.path.join(self._directory(run), path), "rb") as file:
            return file.read()

    def media(self, run: str, key: str | None) -> list[MediaFile]:
        """Its media; what was left unmade is made, or waited for where somebody makes it."""
        from holter.catalog.read.media import path_of, read_media
        from holter.recording.workshop import await_media

        directory = self._directory(run)
        await_media(directory, within_s=MAKE_WITHIN_S)
        return [
            MediaFile(
                key=made.key,
                step=made.step,
                at=made.logged_ns / 1e9,
                type=made.type,
                number=number,
                path=item.path,
                size=item.size,
                meta=item.about(),
            )
            for made in read_media(directory).made
            if made.place == "row" and key in (None, made.key)
            for number, item in enumerate(made.items)
            if path_of(directory, item) is not None
        ]

    def _along(self, run: str, series: Series, x: str) -> tuple[Floats, Floats]:
        if x == "step":
            return series.steps, series.values
        if x == "time":
            return series.times, series.values
        if x == "relative":
            return series.times - self._load(run).row.started_at, series.values
        other = self.series(run, x)
        _, ours, theirs = np.intersect1d(series.steps, other.steps, return_indices=True)
        return other.values[theirs], series.values[ours]

    def _directory(self, run: str) -> str:
        directory = run_directory(self._catalog.data, run)
        if not os.path.isdir(directory):
            raise NoRun(f"no run {run!r} in {self._catalog.data}: `holter ls` lists them")
        return directory

    def _load(self, run: str) -> LoadedRun:
        self._directory(run)
        return self._catalog.load(run, patience_s=0.0)

    def _tables(self, run: str) -> list[tuple[str, "Tables"]]:
        """The rows of each journal, with what its keys begin with; kept for as long as nothing is added."""
        from holter.catalog.read.history import read_history

        directory = self._directory(run)
        segments = list_segments(directory)
        stats = [os.stat(path) for paths in segments.values() for path in paths]
        state = f"{run} {[(stat.st_size, stat.st_mtime_ns) for stat in stats]}"
        if self._read[0] != state:
            digests, writers = self._load(run).digests, (*PROGRAM, "sidecar")
            found = [
                ("" if opened.writer in PROGRAM else f"{SYSTEM}{opened.host}/", tables)
                for opened, tables in read_history(directory, digests, data=self._catalog.data, writers=writers)
            ]
            self._read = (state, found)
        return self._read[1]


def _named(prefix: str, key: str) -> str:
    return prefix + key.removeprefix(SYSTEM) if prefix else key


def _points(tables: "Tables", rank: int, prefix: str, key: str, /) -> list[Any]:
    """Steps, times, ranks, places and values of a metric in one journal."""
    parts: list[Any] = []
    for table in tables.tables:
        own = next((each for each in table.keys if _named(prefix, each) == key), None)
        if own is not None:
            at_ns = table.at_ns.astype(np.int64)
            steps = at_ns // _MS if prefix else table.steps
            parts.append((steps, at_ns, np.full(len(at_ns), rank), table.offsets, table.columns[own].astype(float)))
    loose = [
        (each.row.at_ns // _MS if prefix else each.row.step, each.row.at_ns, rank, each.offset, float(value))
        for each in tables.loose
        for name, value in each.row.values.items()
        if _named(prefix, name) == key and isinstance(value, bool | int | float)
    ]
    if loose:
        lines = list(zip(*loose, strict=True))
        parts.append((*(np.array(line, np.int64) for line in lines[:4]), np.array(lines[4], float)))
    return parts
