"""A run that its sweep ended early says so itself: it is finished, whatever its program made of the signal."""

import contextlib

from holter.catalog.catalog import Catalog
from holter.catalog.change.marking import mark
from holter.errors import HolterError
from holter.model.state import FINISHED
from holter.sweeps.words import Lease


def mark_pruned(data: str, lease: Lease) -> None:
    """Write it down with the run, which has ended; where that can't be, the sweep's book says it alone."""
    with contextlib.suppress(HolterError, OSError):
        reason = f"trial {lease.number} of sweep {lease.sweep} was ended early: others did better"
        mark(Catalog(data).load(lease.run), FINISHED, reason=reason, by="holter sweep")
