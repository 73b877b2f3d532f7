"""How much anybody may ask for in how little time."""

import ipaddress
import threading
from collections import OrderedDict
from functools import lru_cache

import msgspec

from holter.errors import Refused

MOST_BUCKETS = 10_000


class Rate(msgspec.Struct, frozen=True):
    """So many a second in the long run, and so many at once."""

    per_s: float
    burst: float


REQUESTS = Rate(500, 2000)
FAILURES = Rate(0.2, 20)
"""Wrong keys, by address: a right one is never refused because somebody else guessed."""


@lru_cache(4096)
def neighbourhood(address: str) -> str:
    """Whom an address stands for: a customer of a network has 2^64 of IPv6's, so those count as one. Pure."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, 64), strict=False))


class Limiter:
    """A bucket of permits for each caller. Thread-safe; remembers the callers of late, a bounded number."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, now: float, *, count: float = 1) -> float:
        """Take permits; returns 0, or, where there are too few, how many seconds until there are enough.

        Who wants more than all gets them when all are there, and waits the longer next time.
        """
        with self._lock:
            left, at = self._buckets.pop(caller, (self._rate.burst, now))
            left = min(self._rate.burst, left + max(0.0, now - at) * self._rate.per_s)
            missing = min(count, self._rate.burst) - left
            self._buckets[caller] = (left if missing > 0 else left - count, now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return max(0.0, missing / self._rate.per_s)

    def spend(self, caller: str, now: float) -> None:
        """Take a permit. Raises Refused where there is none left."""
        if left_s := self.take(caller, now):
            wait_s = max(1, round(left_s))
            raise Refused(
                429,
                "too many requests",
                why=f"more than {self._rate.per_s:g} a second, or {self._rate.burst:g} at once",
                do=f"wait {wait_s} s",
                retry_s=wait_s,
            )
