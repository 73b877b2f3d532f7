"""What has arrived and is not in the index yet: how much, for how long, and when each run was last heard of."""

import threading
from collections.abc import Collection, Iterable

import msgspec

from holter.model.state import Lateness
from holter.storage.journals import Part

# What arrived is kept at hand until it is read; what is more has to be read from the disk again.
MOST_HELD_BYTES = 32 << 20
# Whoever asks about many runs in a row is told the same for so long.
FRESH_NS = 50_000_000


class Lag(msgspec.Struct, frozen=True, kw_only=True):
    """How far the index is behind: how long the oldest message has waited, how many wait, and their bytes."""

    seconds: float = 0.0
    messages: int = 0
    bytes: int = 0


class _Waiting(msgspec.Struct):
    since_ns: int
    messages: int = 0
    bytes: int = 0
    parts: list[Part] | None = None
    """All of it, in the order in which it came; None where the run's directory has to be looked at."""

    def join(self, later: "_Waiting") -> None:
        self.since_ns = min(self.since_ns, later.since_ns)
        self.messages += later.messages
        self.bytes += later.bytes
        self.parts = None if self.parts is None or later.parts is None else self.parts + later.parts


class Backlog:
    """Thread-safe. Times are nanoseconds of one clock, given by the caller.

    A run that sends is alive, however late the index reads what it sent: so nobody is late by the index's lateness.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._heard: dict[str, int] = {}
        self._arrived: dict[str, _Waiting] = {}
        self._taken: dict[str, _Waiting] = {}
        self._held_bytes = 0
        self._rows_late_ns = 0
        self._looked: tuple[int, int] | None = None
        """When somebody last looked for the oldest, and how late that was; none where much may have changed since."""

    def add(self, part: Part, now_ns: int) -> None:
        """A part of a run has arrived, and is on disk."""
        size = len(part.data)
        with self._lock:
            self._heard[part.run] = now_ns
            waiting = self._arrived.get(part.run)
            if waiting is None:
                waiting = self._arrived[part.run] = _Waiting(now_ns, parts=[])
            waiting.messages += 1
            waiting.bytes += size
            if waiting.parts is not None and self._held_bytes + size <= MOST_HELD_BYTES:
                waiting.parts.append(part)
                self._held_bytes += size
            else:
                self._let_go(waiting)

    def announce(self, run: str, now_ns: int) -> None:
        """Something was added to a run in another way."""
        with self._lock:
            self._let_go(self._arrived.setdefault(run, _Waiting(now_ns)))

    def take(self, among: Collection[str] | None = None) -> set[str]:
        """The runs of which something has arrived since the last call: all, or some; they are being read now."""
        with self._lock:
            taken = set(self._arrived) if among is None else self._arrived.keys() & among
            for run in taken:
                new = self._arrived.pop(run)
                old = self._taken.setdefault(run, new)
                if old is not new:
                    old.join(new)
            return taken

    def put_back(self, runs: Iterable[str]) -> None:
        """These could not be read: the next call of `take` has them again."""
        with self._lock:
            for run in runs:
                if (old := self._taken.pop(run, None)) is not None:
                    if (new := self._arrived.get(run)) is not None:
                        old.join(new)
                    self._arrived[run] = old

    def put_off(self, runs: Iterable[str], now_ns: int) -> None:
        """There was no time to read these."""
        with self._lock:
            for run in runs:
                self._taken.setdefault(run, _Waiting(now_ns))

    def done(self, run: str) -> None:
        """All of it is read that had been taken."""
        with self._lock:
            if (waiting := self._taken.pop(run, None)) is not None:
                self._let_go(waiting)
            self._looked = None

    def rows_are_late(self, late_ns: int) -> None:
        """So much older than it should be is the oldest row of the table."""
        self._rows_late_ns, self._looked = late_ns, None

    def forget(self, run: str) -> None:
        """The run is gone, or quiet."""
        with self._lock:
            for waiting in (self._arrived.pop(run, None), self._taken.pop(run, None)):
                if waiting is not None:
                    self._let_go(waiting)
            self._heard.pop(run, None)
            self._looked = None

    def heard(self, run: str) -> tuple[int | None, list[Part] | None]:
        """When something of a run last arrived, None for one that is only read; and what, where all of it is at hand.

        What is handed out is not kept: if it can't be taken in, the run's directory has it.
        """
        with self._lock:
            waiting = self._taken.get(run)
            parts = waiting.parts if waiting is not None else None
            if waiting is not None:
                self._let_go(waiting)
            return self._heard.get(run), parts

    def has_arrived(self, run: str) -> bool:
        """Whether what is new of a run comes through us."""
        with self._lock:
            return run in self._heard

    def lag(self, now_ns: int) -> Lag:
        """How far the index is behind."""
        with self._lock:
            waiting = [*self._arrived.values(), *self._taken.values()]
        return Lag(
            seconds=self._late_ns(waiting, now_ns) / 1e9,
            messages=sum(each.messages for each in waiting),
            bytes=sum(each.bytes for each in waiting),
        )

    def behind_s(self, now_ns: int) -> float:
        """The seconds of `lag`, as somebody saw it a moment ago."""
        with self._lock:
            if self._looked is None or abs(now_ns - self._looked[0]) > FRESH_NS:
                waiting = [*self._arrived.values(), *self._taken.values()]
                self._looked = (now_ns, self._late_ns(waiting, now_ns))
            return self._looked[1] / 1e9

    def _let_go(self, waiting: _Waiting) -> None:
        self._held_bytes -= sum(len(part.data) for part in waiting.parts or ())
        waiting.parts = None

    def _late_ns(self, waiting: list[_Waiting], now_ns: int) -> int:
        oldest_ns = min((each.since_ns for each in waiting), default=now_ns)
        return max(0, now_ns - oldest_ns, self._rows_late_ns)


def patient(lateness: Lateness, behind_s: float) -> Lateness:
    """When silence means something: what the index does not know yet is nobody's silence. Pure."""
    return Lateness(lateness.stale_s + behind_s, lateness.crashed_s + behind_s) if behind_s else lateness
