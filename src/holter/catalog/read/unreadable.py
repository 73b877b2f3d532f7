"""A run over which holter itself fails: it is told as such, beside all others. Pure."""

import msgspec

from holter.model.run_row import RunRow
from holter.model.state import UNREADABLE

MOST_SAID = 300
NAMELESS = "none of its journals says who wrote it: the record that does is damaged, or a newer holter wrote it"


def reason_of(error: Exception) -> str:
    """A sentence for people."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    said = said.encode("utf-8", "replace").decode()[:MOST_SAID]
    return f"holter can't show it ({said}); what was recorded is whole, and a newer holter may be able to"


def unreadable_row(before: RunRow, *, because: str) -> RunRow:
    """What was known of the run, without a word on how it goes.

    It is not marked as seen: who looks next, which may be a newer holter, tries again.
    """
    return msgspec.structs.replace(
        before,
        state=UNREADABLE,
        because=because,
        late_state=UNREADABLE,
        late_because=because,
        heard_ns=None,
        cause=None,
        mark=None,
        seen_ns=0,
    )
