"""What the journal of a run says about the sweep that it is a trial of."""

from holter.model.bounds import Whole
from holter.model.record import Record


class OfSweep(Record, frozen=True, kw_only=True):
    """The run is an attempt at a trial of a sweep."""

    sweep: str
    trial: Whole
    attempt: Whole = 1


KINDS: dict[int, type[Record]] = {60: OfSweep}
LASTING = (OfSweep,)
