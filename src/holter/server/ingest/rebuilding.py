"""Makes the index again from the journals: after damage, or whenever somebody doubts it."""

from typing import NamedTuple

from holter.model.clock import Clock
from holter.model.state import Lateness
from holter.server.ingest.copies import CopiedRuns, adopt, bring_copies, open_received
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.uploads import name_all
from holter.storage.opening import discard_index, open_storage
from holter.storage.places import Places


class Rebuilt(NamedTuple):
    """How many runs the index has, and those of them that can't be shown, with the reason."""

    runs: int
    unreadable: dict[str, str]


def rebuild(data: str, place: Places | str, *, clock: Clock, lateness: Lateness | None = None) -> Rebuilt:
    """Discard the index at a place and take in all runs anew. Nobody else may have it open.

    Blobs stay; they get their names from the runs' directories. Raises StorageFull, OSError.
    """
    discard_index(place)
    storage = open_storage(place)
    try:
        received = open_received(data, place)
        if isinstance(received, CopiedRuns):
            adopt(received)
            bring_copies(received)
        name_all(data, storage.blobs)
        ingest = Ingest(data, storage, clock=clock, lateness=lateness, received=received)
        ingest.catch_up()
        ingest.close()
        return Rebuilt(len(storage.runs.seen()), ingest.unreadable)
    finally:
        storage.close()
