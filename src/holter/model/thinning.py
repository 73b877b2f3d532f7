"""Keeps a flood of alike records from drowning the journal. Pure."""

from collections.abc import Hashable

FIRST = 4
MOST_KINDS = 24


class Thinning:
    """Lets the first few of each kind through, then the 8th, 16th, 32nd, …; the rest is only counted.

    Not thread-safe by itself: a race costs a count, nothing else.
    """

    def __init__(self) -> None:
        self._counts: dict[Hashable, int] = {}

    def count(self, kind: Hashable) -> int:
        """How many of this kind there were, this one included, if it is worth a record; else 0.

        Beyond a bounded number of kinds, all others are one kind.
        """
        if kind not in self._counts and len(self._counts) >= MOST_KINDS:
            kind = None
        times = self._counts[kind] = self._counts.get(kind, 0) + 1
        is_power_of_two = not times & (times - 1)
        return times if times <= FIRST or is_power_of_two else 0
