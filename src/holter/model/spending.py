"""What a run needed at most, by phase, and what watching it has cost."""

import msgspec

from holter.model.bounds import Instant, Seconds, Small, Whole
from holter.model.record import Record


class Peak(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The most of one memory in one phase of a run, as seen once a second."""

    memory: str
    """`host`, without what files back, or `gpu/0`."""
    phase: str
    """`start` before the first row, `steps`, or `pause`: no row for several times as long as usual."""
    bytes: Whole
    at_ns: Instant
    step: int | None = None
    cell: Small | None = None
    """Of a notebook, by its number."""


class Spent(Record, frozen=True, kw_only=True):
    """So far."""

    cpu_s: Seconds = 0.0
    """Of the processors, by the processes that watch the run and make its media."""
    wall_s: Seconds = 0.0
    peaks: tuple[Peak, ...] = ()
