"""Makes the index again from the journals: after damage, or whenever somebody doubts it."""

from typing import NamedTuple

from holter.model.clock import Clock
from holter.model.state import Lateness
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.uploads import name_all
from holter.storage.opening import load_engine, open_storage


class Rebuilt(NamedTuple):
    """How many runs the index has, and those of them that can't be shown, with the reason."""

    runs: int
    unreadable: dict[str, str]


def rebuild(data: str, url: str, *, clock: Clock, lateness: Lateness | None = None) -> Rebuilt:
    """Discard the index at a URL and take in all runs anew. Nobody else may have it open.

    Blobs stay; they get their names from the runs' directories. Raises StorageFull, OSError.
    """
    load_engine(url).discard_index(url)
    storage = open_storage(url)
    try:
        name_all(data, storage.blobs)
        ingest = Ingest(data, storage, clock=clock, lateness=lateness)
        ingest.catch_up()
        ingest.close()
        return Rebuilt(len(storage.runs.seen()), ingest.unreadable)
    finally:
        storage.close()
