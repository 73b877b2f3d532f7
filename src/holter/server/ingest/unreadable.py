"""The row of a run that can't be shown: it says so, and takes no other run with it. Pure."""

import msgspec

from holter.model.state import UNREADABLE
from holter.storage.runs import RunRow

NAMELESS = "none of its journals says who wrote it: the record that does is damaged, or a newer holter wrote it"


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
