"""How large the next segment may be: grows with the journal, ends at the run's disk limit."""

from typing import NamedTuple

from holter.errors import NotKept

FIRST_SIZE = 256 << 10
LARGEST_SIZE = 8 << 20
SMALLEST_SIZE = 16 << 10
# What rows leave to records: a run that reached its limit must still be able to say how it ended.
RESERVE = 256 << 10


class Allowance(NamedTuple):
    """A size, and whether it comes out of the reserve, which only records may use."""

    size: int
    is_reserve: bool


def allow(
    number: int, needed: int, *, wish: int, left_bytes: int | None, limit_bytes: int, for_record: bool
) -> Allowance:
    """The size of segment `number`, which must hold at least `needed` bytes.

    Args:
        wish: it should have at least this size where the limit allows it.
        left_bytes: what the limit still leaves to the run; None where there is no limit.
        for_record: whether the space is for a record; rows may not touch the reserve.

    Raises NotKept where the limit is reached.
    """
    wanted = max(needed, wish, min(FIRST_SIZE << (2 * min(number - 1, 5)), LARGEST_SIZE))
    if left_bytes is None:
        return Allowance(wanted, is_reserve=False)
    least = max(needed, SMALLEST_SIZE)
    for_rows = left_bytes - min(RESERVE, limit_bytes // 4)
    if for_rows >= least:
        return Allowance(min(wanted, for_rows), is_reserve=False)
    if for_record and left_bytes >= least:
        return Allowance(least, is_reserve=True)
    raise NotKept(f"the run reached its disk limit of {limit_bytes:,} bytes; HOLTER_DISK_LIMIT raises it")
