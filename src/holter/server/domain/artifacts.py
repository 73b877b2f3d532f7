"""The artifacts of a server: in its data directory, or where several servers share them."""

from holter.artifacts.store import Store
from holter.artifacts.versions import Versions
from holter.storage.opening import open_shelf
from holter.storage.places import Places


def open_artifacts(data: str, places: Places) -> Versions:
    """Where the places say; the caller closes it. Raises as `open_storage`."""
    shelf = open_shelf(places)
    return Versions(shelf) if shelf is not None else Store(data)
