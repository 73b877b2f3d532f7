"""How large the numbers of a run may be. Whoever reads a record may rely on it; one that says more can't be read."""

from typing import Annotated

import msgspec

LARGEST = (1 << 63) - 1
"""What a signed number of 64 bits holds, and so every store."""
LAST_STEP = (1 << 62) - 1
"""Steps lie between this number and the same below zero: the distance of any two is a number, too."""
LAST_NS = 1 << 62
"""A moment of the year 2116."""

Small = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
"""What the system calls take: of processes, signals, ends."""
Whole = Annotated[int, msgspec.Meta(ge=-LARGEST - 1, le=LARGEST)]
Instant = Annotated[int, msgspec.Meta(ge=0, le=LAST_NS)]
"""In nanoseconds since 1970."""
Seconds = Annotated[float, msgspec.Meta(ge=0.0, le=1e12)]


def within(number: int) -> int:
    """The number, or the largest or smallest one that a store holds."""
    return max(-LARGEST - 1, min(number, LARGEST))
