"""How much of a server's disk anybody may fill with how little: what unpacks to far more than was sent is counted."""

import threading
from collections import OrderedDict

from holter.errors import Refused

# What people log packs to a tenth, what they print seldom to less than a sixtieth; and each message may be small.
USUAL_RATIO, FREE_BYTES = 64, 256 << 10
# What is more than that, by key: so much at once, and so much a second in the long run.
BURST_BYTES, BYTES_PER_S = 64 << 20, 1 << 20
# A file may well be empty space, as a fresh checkpoint is.
FILES_BURST_BYTES, FILES_BYTES_PER_S = 1 << 30, 32 << 20
MOST_KNOWN = 10_000
MOST_WAIT_S = 600


class Unpacking:
    """What each key had unpacked beyond the usual. Thread-safe; times are those of one monotonic clock.

    Nobody is refused for good: who has used up what they may is told when there is more.
    """

    def __init__(self, burst: int = BURST_BYTES, per_s: int = BYTES_PER_S) -> None:
        self._burst, self._per_s = burst, per_s
        self._lock = threading.Lock()
        self._used: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, key: str, now: float, *, packed: int, unpacked: int) -> None:
        """Count a message. Raises Refused where too much came of too little; then it is not counted."""
        excess = unpacked - FREE_BYTES - USUAL_RATIO * packed
        if excess <= 0:
            return
        with self._lock:
            used, at = self._used.pop(key, (0.0, now))
            used = max(0.0, used - max(0.0, now - at) * self._per_s)
            # A single message is never too large for the whole of it.
            over = used + min(excess, self._burst) - self._burst
            is_allowed = over <= 0
            self._used[key] = (used + excess if is_allowed else used, now)
            if len(self._used) > MOST_KNOWN:
                self._used.popitem(last=False)
        if not is_allowed:
            wait_s = min(MOST_WAIT_S, 1 + int(over / self._per_s))
            raise Refused(
                429,
                f"{packed:,} bytes that unpack to {unpacked:,} are too much at once",
                why=f"beyond {USUAL_RATIO} times what is sent, a key may fill {self._per_s:,} bytes of disk a second",
                do=f"wait {wait_s} s; the run is recorded where it runs, and is sent later",
                retry_s=wait_s,
            )
