"""Who is connected: strangers may fill no place that somebody with a key needs."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from holter.server.security.limits import neighbourhood

# Of those who have not shown a key yet: from one address, and of all places.
STRANGERS_OF_ONE, STRANGERS_SHARE = 64, 4
# A cluster's machines may all come at once from one address: each has so long to say something.
NEW_S = 2.0
_GUEST = "holter-guest"


class Guest(Protocol):
    """One connection."""

    @property
    def is_busy(self) -> bool:
        """Whether a request of theirs is being answered."""

    def send_away(self) -> None:
        """End it at once."""


class Crowd:
    """Places for connections. Whoever comes gets one while somebody idle has it. Used by one event loop.

    Where there is none left, those go first who never showed a key, then those who asked for nothing for longest.

    Args:
        most: how many may be there at once.
        is_proxy: whether an address is that of a proxy, behind which there are many.
    """

    def __init__(
        self,
        most: int,
        *,
        is_proxy: Callable[[str], bool] = lambda address: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.refused = 0
        """How many found no place."""
        self.sent_away = 0
        """How many had to leave for others."""
        self._most = most
        self._most_strangers = max(1, most // STRANGERS_SHARE)
        self._is_proxy = is_proxy
        self._clock = clock
        self._strangers: OrderedDict[Guest, str] = OrderedDict()
        """With the address of each, those first who came first."""
        self._came: dict[Guest, float] = {}
        self._by_address: dict[str, OrderedDict[Guest, None]] = {}
        self._known: OrderedDict[Guest, None] = OrderedDict()
        """Those first who have asked for nothing for longest."""

    @property
    def strangers(self) -> int:
        """How many have not shown a key."""
        return len(self._strangers)

    @property
    def known(self) -> int:
        """How many have."""
        return len(self._known)

    @property
    def is_dense(self) -> bool:
        """Whether places are running out: who comes back later should not keep one until then."""
        return 4 * (self.strangers + self.known) > 3 * self._most

    def enter(self, guest: Guest, address: str) -> bool:
        """Give a place to somebody new; false where there is none."""
        near = neighbourhood(address)
        neighbours: Mapping[Guest, None] = self._by_address.get(near, {})
        if len(neighbours) >= STRANGERS_OF_ONE and not self._is_proxy(address):
            first = _first_idle(neighbours) or next(iter(neighbours))
            if self._clock() - self._came[first] >= NEW_S:
                self._send_away(first)
        if len(self._strangers) >= self._most_strangers:
            self._send_away(_first_idle(self._strangers) or next(iter(self._strangers)))
        if self.strangers + self.known >= self._most:
            leaving = _first_idle(self._strangers) or _first_idle(self._known)
            if leaving is None:
                self.refused += 1
                return False
            self._send_away(leaving)
        self._strangers[guest] = near
        self._came[guest] = self._clock()
        self._by_address.setdefault(near, OrderedDict())[guest] = None
        return True

    def welcome(self, guest: Guest) -> None:
        """They have shown a key, or asked for something again."""
        if self._forget_stranger(guest) or guest in self._known:
            self._known[guest] = None
            self._known.move_to_end(guest)

    def leave(self, guest: Guest) -> None:
        """They are gone. Idempotent."""
        self._forget_stranger(guest)
        self._known.pop(guest, None)

    def _send_away(self, guest: Guest) -> None:
        self.sent_away += 1
        self.leave(guest)
        guest.send_away()

    def _forget_stranger(self, guest: Guest) -> bool:
        near = self._strangers.pop(guest, None)
        if near is None:
            return False
        del self._came[guest]
        neighbours = self._by_address[near]
        del neighbours[guest]
        if not neighbours:
            del self._by_address[near]
        return True


def _first_idle(guests: Iterable[Guest]) -> Guest | None:
    return next((guest for guest in guests if not guest.is_busy), None)


def introduce(state: dict[str, Any], guest: Guest) -> dict[str, Any]:
    """What the requests of a connection know about it."""
    return {**state, _GUEST: guest}


def guest_of(scope: Any) -> Guest | None:
    """The connection of a request; None where it did not come over one, as in tests."""
    guest: Guest | None = scope.get("state", {}).get(_GUEST)
    return guest
