"""Series as plain writes: what a store must answer, computed in the plainest way."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from holter.storage.series import Points, Rows, SeriesBatch, SeriesStore

FRAME = 10
"""How many bytes of its journal each write takes."""


class Write(NamedTuple):
    """One row of a journal; the values belong to the keys."""

    keys: tuple[str, ...]
    step: int
    at_ns: int
    values: tuple[float, ...]


class Journal(NamedTuple):
    """The writes of one process in order."""

    name: str
    writes: Sequence[Write]

    @property
    def end(self) -> int:
        """The offset behind the last write."""
        return len(self.writes) * FRAME

    def batch(self, run: str, *, start: int, stop: int) -> SeriesBatch:
        """The rows of a range of offsets."""
        first, last = -(-start // FRAME), -(-stop // FRAME)
        by_keys: dict[tuple[str, ...], list[int]] = {}
        for number in range(first, min(last, len(self.writes))):
            by_keys.setdefault(self.writes[number].keys, []).append(number)
        rows = [self._rows(keys, numbers) for keys, numbers in by_keys.items()]
        return SeriesBatch(run, self.name, start, stop, tuple(rows))

    def _rows(self, keys: tuple[str, ...], numbers: list[int]) -> Rows:
        writes = [self.writes[number] for number in numbers]
        return Rows(
            keys,
            np.array([write.step for write in writes], np.int64),
            np.array([write.at_ns for write in writes], np.int64),
            np.array(numbers, np.int64) * FRAME,
            np.array([write.values for write in writes], np.float64).reshape(len(writes), len(keys)).T,
        )


def long_journals() -> list[Journal]:
    """A run of ten thousand steps whose second attempt logs the last tenth again, and goes on."""
    first = [Write(("loss", "acc"), step, 1_000 + step, (step / 7, -step)) for step in range(10_000)]
    again = [Write(("loss", "acc"), step, 50_000 + step, (step * 2.0, 1.0)) for step in range(9_000, 11_000)]
    return [Journal("a" * 32, first), Journal("b" * 32, again)]


def replay(store: SeriesStore, run: str, *, journals: Iterable[Journal], rows_at_once: int = 1000) -> None:
    """Append what the store does not have yet, as after a restart."""
    for journal in journals:
        start = store.offset(run, journal.name)
        while start < journal.end:
            stop = min(start + rows_at_once * FRAME, journal.end)
            store.append(journal.batch(run, start=start, stop=stop))
            start = stop


def expected(journals: Iterable[Journal], key: str) -> list[tuple[int, int, float]]:
    """Step, time and value of each point: the last write by (time, journal, offset) holds."""
    held: dict[int, tuple[tuple[int, str, int], float]] = {}
    for journal in journals:
        for number, write in enumerate(journal.writes):
            if key in write.keys:
                order = (write.at_ns, journal.name, number)
                if write.step not in held or held[write.step][0] < order:
                    held[write.step] = (order, write.values[write.keys.index(key)])
    return [(step, order[0], value) for step, (order, value) in sorted(held.items())]


def are_same(points: Points, wanted: list[tuple[int, int, float]]) -> bool:
    """Whether a store answered so; a NaN is a NaN."""
    found = list(zip(points.steps.tolist(), points.at_ns.tolist(), points.values.tolist(), strict=True))
    return len(found) == len(wanted) and all(
        one[:2] == other[:2] and (one[2] == other[2] or (math.isnan(one[2]) and math.isnan(other[2])))
        for one, other in zip(found, wanted, strict=True)
    )
