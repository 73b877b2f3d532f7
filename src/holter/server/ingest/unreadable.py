"""The row of a run that can't be shown: it says so, and takes no other run with it. Pure."""

import msgspec

from holter.model.state import UNREADABLE
from holter.storage.runs import RunRow

MOST_SAID = 300


def unreadable_row(run: str, before: RunRow | None, *, because: str, at_ns: int) -> RunRow:
    """What was known of the run, without a word on how it goes.

    It is not marked as seen: the next start of a server, which may be a newer one, tries again.
    """
    known = before or RunRow(id=run, name=run, started_ns=at_ns)
    return msgspec.structs.replace(
        known,
        state=UNREADABLE,
        because=because,
        late_state=UNREADABLE,
        late_because=because,
        heard_ns=None,
        cause=None,
        seen_ns=0,
    )


def reason_of(error: Exception) -> str:
    """A sentence for people."""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    said = said.encode("utf-8", "replace").decode()[:MOST_SAID]
    return f"holter can't show it ({said}); what was recorded is whole, and a newer holter may be able to"
