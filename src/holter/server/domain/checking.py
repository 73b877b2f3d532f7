"""Checks a server's data against itself: journals and files against bit rot, the index against the journals."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing

import msgspec
import numpy as np

from holter.catalog.read.damage import find_damage
from holter.catalog.read.loaded_run import load_run
from holter.catalog.read.machines import Machines
from holter.errors import HolterError, NoBlob, StorageError
from holter.journal.rundir import is_run_id, run_directory
from holter.model.clock import Clock
from holter.model.run_row import RunRow
from holter.model.state import Lateness
from holter.server.ingest.followed_run import FollowedRun, stamp_of
from holter.storage.opening import Storage, open_storage
from holter.storage.series import Line, Points

READ_BYTES = 8 << 20
COMPARED = ("project", "name", "config", "summary", "rows", "steps", "last_step")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something of a run that is not as it was written, and what to do about it."""

    run: str
    what: str
    do: str


class Checked(msgspec.Struct, kw_only=True):
    """How much was looked at."""

    runs: int = 0
    journal_bytes: int = 0
    files: int = 0
    compared: int = 0
    """Runs whose index was compared, point by point; of the others something is still being taken in."""


_RESTORE = "put its directory back from a backup"
_SEND_AGAIN = "run `holter sync` on the machine that has it, or put the file back from a backup"
_REBUILD = "run `holter server rebuild` while no server runs"


class Check:
    """One pass over a data directory. Reads only; a server may run meanwhile."""

    def __init__(self, data: str, storage: Storage, *, lateness: Lateness) -> None:
        self.checked = Checked()
        self._data = data
        self._storage = storage
        self._lateness = lateness
        self._clock = Clock()

    def run_all(self) -> Iterator[Finding]:
        """Everything that is wrong, run by run. Raises OSError."""
        folder = os.path.join(self._data, "runs")
        runs = sorted(name for name in os.listdir(folder) if is_run_id(name)) if os.path.isdir(folder) else []
        with (
            tempfile.TemporaryDirectory(prefix="holter-check-") as place,
            closing(open_storage(f"sqlite:{place}")) as expected,
        ):
            for run in runs:
                self.checked.runs += 1
                damages = list(self._journals(run))
                yield from damages
                yield from self._files(run)
                if not damages:  # else the index may have what they have lost
                    yield from self._index(run, expected)

    def _journals(self, run: str) -> Iterator[Finding]:
        directory = run_directory(self._data, run)
        try:
            loaded = load_run(directory, now_ns=self._clock.now_ns(), lateness=self._lateness, is_patient=False)
            # A torn end is what a process left that was killed: it was never whole.
            damages = [each for each in find_damage(loaded) if not each.is_torn] if loaded is not None else []
        except FileNotFoundError:  # removed meanwhile
            return
        except HolterError as error:
            yield Finding(run=run, what=f"its journals can't be read: {error}", do=_RESTORE)
            return
        with os.scandir(directory) as entries:
            self.checked.journal_bytes += sum(each.stat().st_size for each in entries if each.name.endswith(".seg"))
        for each in damages:
            yield Finding(run=run, what=f"{each.file}: {each.bytes:,} bytes can't be read: {each.because}", do=_RESTORE)

    def _files(self, run: str) -> Iterator[Finding]:
        for name, digest in self._storage.blobs.attached(run).items():
            self.checked.files += 1
            try:
                is_whole = _digest_of(self._storage, digest) == digest
            except (NoBlob, StorageError, OSError) as error:
                yield Finding(run=run, what=f"the file {name!r} can't be read: {error}", do=_SEND_AGAIN)
                continue
            if not is_whole:
                yield Finding(run=run, what=f"the file {name!r} is not what was sent", do=_SEND_AGAIN)

    def _index(self, run: str, expected: Storage) -> Iterator[Finding]:
        try:
            row = self._storage.runs.get(run)
            if row is None or not row.seen_ns or row.seen_ns != stamp_of(run_directory(self._data, run)):
                return  # it is still being taken in
            yield from self._differences(run, row, expected)
            for port in (expected.runs, expected.series, expected.console):
                port.delete(run)
            self.checked.compared += 1
        except FileNotFoundError:
            return
        except StorageError as error:
            yield Finding(run=run, what=f"the index can't be read: {error}", do=_REBUILD)

    def _differences(self, run: str, row: RunRow, expected: Storage) -> Iterator[Finding]:
        followed = FollowedRun(run, run_directory(self._data, run), storage=expected, machines=Machines())
        now_ns = self._clock.now_ns()
        while followed.read(now_ns).has_more:
            pass
        expected.series.sync(run)
        projected = followed.project(now_ns, self._lateness)
        if projected is not None:
            wrong = [name for name in COMPARED if getattr(projected.row, name) != getattr(row, name)]
            if wrong:
                yield Finding(run=run, what=f"the table has another {', '.join(wrong)} than its journals", do=_REBUILD)
        here, there = _series(self._storage, run), _series(expected, run)
        for key in sorted({*here, *there}):
            if here.get(key) != there.get(key) or not self._has_same_points(run, key, expected):
                yield Finding(run=run, what=f"the series {key!r} differs from its journals", do=_REBUILD)

    def _has_same_points(self, run: str, key: str, expected: Storage) -> bool:
        line = Line(run, key)
        return _is_same(self._storage.series.points(line), expected.series.points(line))


def _series(storage: Storage, run: str) -> Mapping[str, object]:
    return {info.key: info for info in storage.series.list_series(run)}


def _is_same(one: Points, other: Points) -> bool:
    return (
        np.array_equal(one.steps, other.steps)
        and np.array_equal(one.at_ns, other.at_ns)
        and np.array_equal(one.values, other.values, equal_nan=True)
    )


def _digest_of(storage: Storage, digest: str) -> str:
    found, at = hashlib.sha256(), 0
    while piece := storage.blobs.read(digest, start=at, count=READ_BYTES):
        found.update(piece)
        at += len(piece)
    return found.hexdigest()
