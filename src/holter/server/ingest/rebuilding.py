"""Makes the index again from the journals: after damage, or whenever somebody doubts it."""

from holter.model.clock import Clock
from holter.model.state import Lateness
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.uploads import name_all
from holter.storage.opening import load_engine, open_storage


def rebuild(data: str, url: str, *, clock: Clock, lateness: Lateness | None = None) -> int:
    """Discard the index at a URL and take in all runs anew; returns how many there are. Nobody else may have it open.

    Blobs stay; they get their names from the runs' directories. Raises StorageFull, OSError.
    """
    load_engine(url).discard_index(url)
    storage = open_storage(url)
    try:
        name_all(data, storage.blobs)
        ingest = Ingest(data, storage, clock=clock, lateness=lateness)
        ingest.catch_up()
        ingest.close()
        return len(storage.runs.seen())
    finally:
        storage.close()
