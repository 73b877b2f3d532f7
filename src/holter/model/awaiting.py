"""Values that were still on a GPU when their row was logged."""

from holter.model.bounds import Small, Whole
from holter.model.record import Record


class Awaited(Record, frozen=True, kw_only=True):
    """How many values are on their way from a device; a row of the same step has those that came."""

    pending: Whole
    """Of all calls so far. A death now loses so many."""
    step: int | None = None
    keys: tuple[str, ...] = ()
    """Those that this call of `log()` waits for."""
    lost: Small = 0
    """So many could not be read: the device failed."""
