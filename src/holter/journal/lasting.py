"""The records that every segment repeats."""

from collections import deque
from itertools import chain

from holter.journal.frame import HEAD

MOST_OF_A_KIND = 256


class Lasting:
    """The newest of each kind, in the order in which they were said. A kind that is said often pushes out no other."""

    def __init__(self) -> None:
        self._kinds: dict[int, deque[tuple[int, bytes]]] = {}
        self._said = 0

    def add(self, body: bytes) -> None:
        """One more."""
        kind = HEAD.unpack_from(body)[1]
        if kind not in self._kinds:
            self._kinds[kind] = deque(maxlen=MOST_OF_A_KIND)
        self._said += 1
        self._kinds[kind].append((self._said, body))

    def bodies(self) -> list[bytes]:
        """All that are to be repeated now."""
        return [body for _, body in sorted(chain.from_iterable(self._kinds.values()))]
