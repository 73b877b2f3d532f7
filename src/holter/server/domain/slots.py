"""Which of the colours of lines a run has where nobody has chosen one: the same for everybody."""

import threading
import zlib
from bisect import bisect_left, insort

from holter.model.run_row import COLOURS

NEAR = 3
"""So many runs before and behind one, by the time at which they began, have other colours."""


class Slots:
    """Gives each run of a project a slot. Thread-safe.

    It comes from the run's id, so that it is the same after a rebuild and on another server; where a run that began
    shortly before or after it has that one, the next free one is taken.
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
                near = {
                    self._slots[other]
                    for _, other in order[max(0, place - NEAR) : place + NEAR]
                    if other in self._slots
                }
                slot = _free(run, near) if known is None else known % COLOURS
                self._slots[run] = slot
                insort(order, (started_ns, run))
            return slot

    def forget(self, run: str) -> None:
        """The run is gone. Its place in the order stays until the next start: nobody has its slot for long."""
        with self._lock:
            self._slots.pop(run, None)


def _free(run: str, taken: set[int]) -> int:
    first = zlib.crc32(run.encode()) % COLOURS
    # Three further each time: neighbours in the palette are less alike than they could be, and all are tried.
    return next(slot for at in range(COLOURS) if (slot := (first + 3 * at) % COLOURS) not in taken)
