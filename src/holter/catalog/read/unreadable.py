"""A run over which holter itself fails: it is told as such, beside all others. Pure."""

import os

from holter.catalog.read.run_view import RunView
from holter.model.state import UNREADABLE

MOST_SAID = 300


def reason_of(error: Exception) -> str:
    """A sentence for people."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    said = said.encode("utf-8", "replace").decode()[:MOST_SAID]
    return f"holter can't show it ({said}); what was recorded is whole, and a newer holter may be able to"


def unreadable_view(directory: str, *, because: str, at_ns: int) -> RunView:
    """The line of such a run; it began when its directory was last touched, for want of a better word."""
    run = os.path.basename(directory)
    return RunView(
        id=run,
        name=run,
        project="",
        state=UNREADABLE,
        cause=None,
        started_at=at_ns / 1e9,
        ended_at=None,
        duration_s=0.0,
        steps=0,
        summary={},
        config={},
        host="",
        directory=directory,
        trouble=because,
    )
