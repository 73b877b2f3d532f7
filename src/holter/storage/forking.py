"""Series of runs that were forked: up to the step of the fork the points are those of the other run, where they lie."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from holter.model.run_row import Fork, RunRow
from holter.model.state import RUNNING
from holter.storage.bucketing import cut_into_buckets, spans_of_points
from holter.storage.series import Buckets, Line, Points, SeriesBatch, SeriesInfo, SeriesStore, Window

_MOST_GENERATIONS = 100
SYSTEM = "system/"
"""What was measured of the machine belongs to the run that was on it."""


class ForkedSeries:
    """The port `SeriesStore`, on top of another. A run of another project than its fork is never read for it.

    Args:
        find: the row of a run; None where it is not there.
    """

    def __init__(self, series: SeriesStore, find: Callable[[str], RunRow | None]) -> None:
        self._series = series
        self._find = find
        self._known: dict[str, Fork | None] = {}

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
        self._known.pop(run, None)
        self._series.delete(run)

    def close(self) -> None:
        """As the other."""
        self._series.close()  # type: ignore[attr-defined]  # every engine has it

    def list_series(self, run: str) -> list[SeriesInfo]:
        """All series of a run, with those before the fork, by key."""
        own = self._series.list_series(run)
        if self._fork(run) is None:
            return own
        of_others = {
            info.key
            for fork in self._forks(run)
            for info in self._series.list_series(fork.run)
            if info.first_step <= fork.step and not info.key.startswith(SYSTEM)
        }
        keys = sorted(of_others | {info.key for info in own})
        found = ((key, self.points(Line(run, key)).steps) for key in keys)
        return [SeriesInfo(key, len(steps), int(steps[0]), int(steps[-1])) for key, steps in found if len(steps)]

    def count_keys(self, runs: Sequence[str]) -> Mapping[str, int]:
        """Every key that some of these runs have, and how many of them."""
        forked = [run for run in runs if self._fork(run) is not None]
        if not forked:
            return self._series.count_keys(runs)
        counts = dict(self._series.count_keys([run for run in runs if run not in forked]))
        for run in forked:
            for info in self.list_series(run):
                counts[info.key] = counts.get(info.key, 0) + 1
        return counts

    def points(
        self, line: Line, *, first: int | None = None, last: int | None = None, most: int | None = None
    ) -> Points:
        """The points of a range of steps."""
        own = self._series.points(line, first=first, last=last, most=most)
        if self._fork(line.run) is None or line.key.startswith(SYSTEM):
            return own
        parts = [own]
        for fork in self._forks(line.run):
            step = fork.step if last is None else min(last, fork.step)
            parts.append(self._series.points(Line(fork.run, line.key), first=first, last=step, most=most))
        return _settled(parts, most)

    def buckets(self, lines: Sequence[Line], window: Window) -> list[Buckets]:
        """At most so many buckets for each line."""
        forked = {at for at, line in enumerate(lines) if self._fork(line.run) and not line.key.startswith(SYSTEM)}
        plain = iter(self._series.buckets([line for at, line in enumerate(lines) if at not in forked], window))
        return [self._cut(line, window) if at in forked else next(plain) for at, line in enumerate(lines)]

    def _cut(self, line: Line, window: Window) -> Buckets:
        is_by_step = window.axis == "step"
        found = self.points(line, first=window.first, last=window.last) if is_by_step else self.points(line)
        places = found.steps if is_by_step else found.at_ns - line.origin
        values = found.values
        if not is_by_step:
            order = np.argsort(places, kind="stable")
            places, values = places[order], values[order]
            start = 0 if window.first is None else int(np.searchsorted(places, window.first, "left"))
            stop = len(places) if window.last is None else int(np.searchsorted(places, window.last, "right"))
            places, values = places[start:stop], values[start:stop]
        return cut_into_buckets(spans_of_points(places, values), window.buckets, first=window.first, last=window.last)

    def _forks(self, run: str) -> Iterator[Fork]:
        """Whose points belong to it up to which step, the nearest first."""
        most: int | None = None
        for _ in range(_MOST_GENERATIONS):
            if (fork := self._fork(run)) is None:
                return
            most = fork.step if most is None else min(most, fork.step)
            yield Fork(fork.run, most)
            run = fork.run

    def _fork(self, run: str) -> Fork | None:
        if run in self._known:
            return self._known[run]
        row = self._find(run)
        if row is None:
            return None
        fork = row.fork
        if fork is not None:
            parent = self._find(fork.run)
            # Whoever may see a run may see its project, and nothing beyond that.
            if parent is None or parent.project != row.project:
                return None
        if row.rows or row.state != RUNNING:  # where a run was forked is said before its first row
            self._known[run] = fork
        return fork


def _settled(parts: list[Points], most: int | None) -> Points:
    """Each step once: what the run itself, or the nearest of the others, has there."""
    steps, at_ns, values = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("steps", "at_ns", "values")
    )
    order = np.argsort(steps, kind="stable")
    ordered = steps[order]
    kept = order[np.append(True, ordered[1:] != ordered[:-1])][:most] if len(steps) else order
    return Points(steps[kept], at_ns[kept], values[kept])
