"""Which of the colours of lines a run has where nobody has chosen one: the same for everybody."""

import threading
import zlib
from bisect import bisect_left, insort

from holter.model.run_row import COLOURS

NEAR = COLOURS - 1
"""So many runs before one, by the time at which they began, have other colours than it."""


class Slots:
    """Gives each run of a project a slot. Thread-safe.

    The one whose next use, by the time at which runs began, is farthest away; of several such the run's id decides, so
    that an index that is made again, or another server with the same runs, gives the same ones.
    """

    def __init__(self) -> None:
        self._slots: dict[str, int] = {}
        self._order: dict[str, list[tuple[int, str]]] = {}
        self._lock = threading.Lock()

    def of(self, run: str, project: str, *, started_ns: int, known: int | None = None) -> int:
        """The slot of a run, which stays; `known` is the one that it was given before."""
        with self._lock:
            slot = self._slots.get(run)
            if slot is None:
                order = self._order.setdefault(project, [])
                place = bisect_left(order, (started_ns, run))
                slot = _free(run, self._distances(order, place)) if known is None else known % COLOURS
                self._slots[run] = slot
                insort(order, (started_ns, run))
            return slot

    def _distances(self, order: list[tuple[int, str]], place: int) -> dict[int, int]:
        """How many runs away from a place each slot is used next, as far as that is near."""
        found: dict[int, int] = {}
        for distance in range(NEAR, 0, -1):
            for at in (place - distance, place + distance - 1):
                if 0 <= at < len(order) and (slot := self._slots.get(order[at][1])) is not None:
                    found[slot] = distance
        return found

    def forget(self, run: str) -> None:
        """The run is gone. Its place in the order stays until the next start: nobody has its slot for long."""
        with self._lock:
            self._slots.pop(run, None)


def _free(run: str, distances: dict[int, int]) -> int:
    first = zlib.crc32(run.encode()) % COLOURS
    # Three further each time: neighbours in the palette are less alike than they could be, and all are tried.
    wanted = ((first + 3 * at) % COLOURS for at in range(COLOURS))
    return max(wanted, key=lambda slot: distances.get(slot, COLOURS))
