"""Which runs this server digests: all of them, or those of which it has the lease where several share a storage."""

import math
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from holter.errors import StorageError
from holter.storage.leases import DEAD_S, LeaseStore

EVERY_S = 1.0
VALID_S = DEAD_S - 1.0
"""Since a server was last known to live, by its own clock: it stops before another begins."""


class Leases(Protocol):
    """For the thread that takes in, but for `is_elsewhere`, which any may ask."""

    def take(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        """Digest runs from now on that have so many bytes, where some are not digested and nobody else has them.

        Returns the numbers of those that are ours. Raises StorageFailing.
        """

    def numbers(self) -> Mapping[str, int] | None:
        """Those of all runs that are ours at this moment; None where every run is."""

    def is_elsewhere(self, run: str) -> bool:
        """Whether another server digests it, or should."""

    def settle(self, sizes: Mapping[str, int]) -> None:
        """So many bytes of some runs are digested, and nothing more is awaited. Raises StorageFailing."""

    def forget(self, run: str) -> None:
        """The run is deleted. Raises StorageFailing."""


class OnlyServer:
    """Whoever has an index of its own digests all runs."""

    def take(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        """All of them."""
        return dict.fromkeys(sizes, 0)

    def numbers(self) -> Mapping[str, int] | None:
        """Every run is ours."""
        return None

    def is_elsewhere(self, run: str) -> bool:
        """There is no other server."""
        return False

    def settle(self, sizes: Mapping[str, int]) -> None:
        """Nobody asks."""

    def forget(self, run: str) -> None:
        """Nobody asks."""


class SharedLeases:
    """Thread-safe. Knows as of the last beat who has which run, and believes in its own leases for `VALID_S`."""

    def __init__(self, store: LeaseStore) -> None:
        self.server = uuid.uuid4().hex
        """Another one with each start: what was ours before a death is left to whoever comes first."""
        self._store = store
        self._lock = threading.Lock()
        self._ours: dict[str, int] = {}
        self._others: frozenset[str] = frozenset()
        self._beaten_at = self._lapsed_at = -math.inf
        self._first: set[str] = set()
        """Runs that were taken before anybody could be told."""
        self._first = self.beat()

    def beat(self) -> set[str]:
        """Say that we live, and take what nobody digests any more; returns runs that are ours since, or again.

        Raises StorageFailing.
        """
        at = time.monotonic()
        standing = self._store.beat(self.server)
        with self._lock:
            has_lapsed = at - self._beaten_at > VALID_S
            if has_lapsed:
                self._lapsed_at = at
            found = set(standing.ours) if has_lapsed else standing.ours.keys() - self._ours.keys()
            self._ours = dict(standing.ours)
            self._others, self._beaten_at = frozenset(standing.others), at
        # Where the store was away, all look dead to whoever comes first: others get time to be heard of.
        orphaned = standing.orphaned if at - self._lapsed_at > DEAD_S else ()
        free = [*standing.left, *orphaned]
        share = math.ceil(len(free) / max(1, standing.servers))
        with self._lock:
            first, self._first = self._first, set()
        return first | found | self._take(dict.fromkeys(free[:share], _ALWAYS)).keys()

    def take(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        """Those that are ours, with those that nobody digests."""
        if time.monotonic() - self._beaten_at >= VALID_S:
            # The store was away: whom it has not heard of it gives nothing, and what it does not give has another.
            first = self.beat()
            with self._lock:
                self._first |= first
        with self._lock:
            known = self._valid()
            wanted = {run: size for run, size in sizes.items() if run not in known and run not in self._others}
        return {**{run: known[run] for run in sizes if run in known}, **self._take(wanted)}

    def numbers(self) -> Mapping[str, int] | None:
        """Of ours, as long as nobody else can have them."""
        with self._lock:
            return self._valid()

    def is_elsewhere(self, run: str) -> bool:
        """Whether another server has it, or had it."""
        return run in self._others

    def hear(self, run: str) -> None:
        """Rows of a run were digested: where it is not ours it is another server's, also before a beat says so."""
        if run not in self._ours and run not in self._others:
            with self._lock:
                self._others |= {run} - self._ours.keys()

    def settle(self, sizes: Mapping[str, int]) -> None:
        """Nobody needs to go on."""
        self._store.settle(self.server, sizes)
        with self._lock:
            self._ours = {run: number for run, number in self._ours.items() if run not in sizes}

    def forget(self, run: str) -> None:
        """The run is deleted."""
        self._store.forget(run)
        with self._lock:
            self._ours = {each: number for each, number in self._ours.items() if each != run}
            self._others -= {run}

    def leave(self) -> None:
        """What is ours is anybody's now. Raises StorageFailing."""
        with self._lock:
            self._ours, self._beaten_at = {}, -math.inf
        try:
            self._store.leave(self.server)
        finally:
            self._store.close()

    def _valid(self) -> dict[str, int]:
        return self._ours if time.monotonic() - self._beaten_at < VALID_S else {}

    def _take(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        if not sizes:
            return {}
        can_inherit = time.monotonic() - self._lapsed_at > DEAD_S
        taken = self._store.take(self.server, sizes, dead_s=DEAD_S if can_inherit else _NEVER_S)
        with self._lock:
            self._ours = {**self._ours, **taken}
            self._others -= taken.keys()
            return {run: number for run, number in taken.items() if run in self._valid()}


_ALWAYS, _NEVER_S = 1 << 62, 1e9


class Leasing(threading.Thread):
    """Beats once a second.

    Args:
        begin: gets runs that are ours and were not.
    """

    def __init__(
        self, leases: SharedLeases, *, begin: Callable[[Iterable[str]], None], complain: Callable[[str], None]
    ) -> None:
        super().__init__(name="holter-leases", daemon=True)
        self._leases = leases
        self._begin = begin
        self._complain = complain
        self._is_leaving = threading.Event()

    def run(self) -> None:
        """Until `close`."""
        while not self._is_leaving.is_set():
            try:
                if taken := self._leases.beat():
                    self._begin(taken)
            except StorageError as error:
                self._complain(str(error))
            self._is_leaving.wait(EVERY_S)

    def close(self) -> None:
        """End the thread and wait for it. Idempotent."""
        self._is_leaving.set()
        if self.is_alive():
            self.join()
