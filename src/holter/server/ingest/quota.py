"""How much of a server's disk anybody may fill with how little: what unpacks to far more than was sent is counted."""

from holter.errors import Refused
from holter.server.security.limits import Limiter, Rate

# What people log packs to a tenth, what they print seldom to less than a sixtieth; and each message may be small.
USUAL_RATIO, FREE_BYTES = 64, 256 << 10
# What is more than that, by key, in bytes.
MESSAGES = Rate(per_s=1 << 20, burst=64 << 20)
# A file may well be empty space, as a fresh checkpoint is.
FILES = Rate(per_s=32 << 20, burst=1 << 30)
MOST_WAIT_S = 600


class Unpacking:
    """What each key had unpacked beyond the usual. Thread-safe; times are those of one monotonic clock.

    Nobody is refused for good: who has used up what they may is told when there is more.
    """

    def __init__(self, rate: Rate = MESSAGES) -> None:
        self._rate = rate
        self._limiter = Limiter(rate)

    def spend(self, key: str, now: float, *, packed: int, unpacked: int) -> None:
        """Count a message. Raises Refused where too much came of too little; then it is not counted."""
        excess = unpacked - FREE_BYTES - USUAL_RATIO * packed
        if excess <= 0:
            return
        if left_s := self._limiter.take(key, now, count=excess):
            wait_s = min(MOST_WAIT_S, 1 + int(left_s))
            raise Refused(
                429,
                f"{packed:,} bytes that unpack to {unpacked:,} are too much at once",
                why=f"beyond {USUAL_RATIO} times what is sent, a key may fill {self._rate.per_s:,} bytes a second",
                do=f"wait {wait_s} s; the run is recorded where it runs, and is sent later",
                retry_s=wait_s,
            )
