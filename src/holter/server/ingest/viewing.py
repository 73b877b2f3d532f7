"""Series of runs that another server digests: their newest points are in its memory, and here they come from journals.

Only while somebody asks: what such a run has that is not sealed is read from its copy, kept in memory, and never
written.
"""

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holter.catalog.read.machines import Machines
from holter.errors import HolterError
from holter.journal.decoding import Told
from holter.journal.rundir import run_directory
from holter.server.ingest.copies import CopiedRuns
from holter.server.ingest.followed_run import Change, FollowedRun
from holter.storage.opening import Storage
from holter.storage.series import Buckets, Line, Points, Rows, SeriesBatch, SeriesInfo, SeriesStore, Window

KEPT_S = 60.0
"""Then a run is read again from where it is sealed: so no memory is held by what nobody looks at, nor by what was
abandoned when a run went back to an earlier step."""
MOST_READS = 10_000


class _ViewedRun(FollowedRun):
    """Takes in points only."""

    def _read_transcripts(self, change: Change) -> None:
        return

    def _store(self, journal: str, told: Told, rows: tuple[Rows, ...]) -> None:
        self._storage.series.append(SeriesBatch(self.run, journal, told.piece.start, told.piece.stop, rows))


class ViewedSeries:
    """The port `SeriesStore`, on top of another. Thread-safe.

    Args:
        views: has what is sealed, as the other, and unsealed points of its own, which it never seals.
    """

    def __init__(
        self, series: SeriesStore, views: SeriesStore, *, copies: CopiedRuns, storage: Storage, data: str
    ) -> None:
        self._series = series
        self._views = views
        self._copies = copies
        self._storage = msgspec.structs.replace(storage, series=views)
        self._data = data
        self._lock = threading.Lock()
        self._viewed: dict[str, tuple[float, FollowedRun]] = {}

    def append(self, batch: SeriesBatch) -> None:
        """As the other."""
        self._series.append(batch)

    def offset(self, run: str, journal: str) -> int:
        """As the other."""
        return self._series.offset(run, journal)

    def sync(self, run: str | None = None) -> None:
        """As the other."""
        self._series.sync(run)

    def let_go(self, run: str) -> None:
        """As the other."""
        self._series.let_go(run)

    def delete(self, run: str) -> None:
        """As the other."""
        self._series.delete(run)

    def close(self) -> None:
        """As the other."""
        for each in (self._series, self._views):
            each.close()  # type: ignore[attr-defined]  # every engine has it

    def list_series(self, run: str) -> list[SeriesInfo]:
        """All series of a run, by key."""
        return self._of([run]).list_series(run)

    def count_keys(self, runs: Sequence[str]) -> Mapping[str, int]:
        """Every key, and how many of the runs have it."""
        counts: dict[str, int] = {}
        for store, some in self._divided(runs):
            for key, count in store.count_keys(some).items():
                counts[key] = counts.get(key, 0) + count
        return counts

    def points(
        self, line: Line, *, first: int | None = None, last: int | None = None, most: int | None = None
    ) -> Points:
        """The points of a range of steps."""
        return self._of([line.run]).points(line, first=first, last=last, most=most)

    def buckets(self, lines: Sequence[Line], window: Window) -> list[Buckets]:
        """At most so many buckets for each line."""
        found: dict[Line, Buckets] = {}
        for store, some in self._divided([line.run for line in lines]):
            chosen = [line for line in lines if line.run in some]
            found.update(zip(chosen, store.buckets(chosen, window), strict=True))
        return [found[line] for line in lines]

    def _of(self, runs: Sequence[str]) -> SeriesStore:
        [(store, _)] = self._divided(runs)
        return store

    def _divided(self, runs: Sequence[str]) -> Iterator[tuple[SeriesStore, list[str]]]:
        elsewhere = [run for run in dict.fromkeys(runs) if self._copies.leases.is_elsewhere(run)]
        if elsewhere:
            self._view(elsewhere)
            yield self._views, elsewhere
        if (here := [run for run in dict.fromkeys(runs) if run not in elsewhere]) or not runs:
            yield self._series, here

    def _view(self, runs: Sequence[str]) -> None:
        """Have all points in memory that are not sealed."""
        with self._lock:
            now = time.monotonic()
            for run in [run for run, (at, _) in self._viewed.items() if now - at > KEPT_S]:
                del self._viewed[run]
                self._views.let_go(run)
            for run in runs:
                # Where it can't be read now, what is sealed is shown.
                with contextlib.suppress(HolterError, OSError):
                    self._copies.bring(run)
                    self._read(run, now)

    def _read(self, run: str, now: float) -> None:
        if run not in self._viewed:
            directory = run_directory(self._data, run)
            followed = _ViewedRun(run, directory, storage=self._storage, machines=Machines())
            self._viewed[run] = (now, followed)
        for _ in range(MOST_READS):
            if not self._viewed[run][1].read(time.time_ns()).has_more:
                return
