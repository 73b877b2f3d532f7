"""Sums over sources of which some cannot be read: NaN stands for a number that nobody knows."""

from collections.abc import Iterable

from holter.probes.probe import NAN


class Counter:
    """Sums counters of sources that may come and go: interfaces, cgroups, processes; the sum never falls.

    It starts at the sum of the first look. A source that joins later counts from the value it joined with, one that
    disappears keeps what it gave, and one that was reset counts on from there: only what was seen to happen is added.
    """

    def __init__(self) -> None:
        self._total = NAN
        self._last: dict[str, float] = {}

    def advance(self, readings: dict[str, float]) -> float:
        """Take the current reading of each source and return the sum; NaN where none could be read."""
        readable = {source: value for source, value in readings.items() if value == value}
        if not readable:
            return NAN
        if self._total != self._total:
            self._total = sum(readable.values())
        self._total += sum(max(0.0, value - self._last.get(source, value)) for source, value in readable.items())
        self._last = readable
        return self._total


def known(number: int | None) -> float:
    """Return the number, NaN for none."""
    return NAN if number is None else float(number)


def sum_known(values: Iterable[float]) -> float:
    """Return the sum of the numbers that are known, NaN where none is."""
    readable = [value for value in values if value == value]
    return float(sum(readable)) if readable else NAN
