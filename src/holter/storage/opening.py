"""Opens storage by URL: the part before the colon names a file in the folder `engines`."""

import contextlib
import functools
import importlib
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import msgspec

from holter.errors import UsageError
from holter.storage import engines
from holter.storage.acts import ActStore
from holter.storage.blobs import BlobStore
from holter.storage.changes import ChangeStore
from holter.storage.console import ConsoleStore
from holter.storage.journals import JournalStore
from holter.storage.leases import LeaseStore
from holter.storage.media import MediaStore
from holter.storage.papers import PaperStore
from holter.storage.places import PORTS, Places, without_password
from holter.storage.runs import RunStore
from holter.storage.series import SeriesStore
from holter.storage.settings import SettingStore
from holter.storage.sweeps import SweepStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from holter.storage.objects.bucket import Bucket
    from holter.storage.postgres.artifacts import PostgresShelf
    from holter.storage.tables.blob_names import BlobNames

T = TypeVar("T")


class Closable(Protocol):
    """Whatever an engine opens."""

    def close(self) -> None:
        """Let go of it without losing anything. Idempotent."""


class Engine(Protocol):
    """A file of the folder `engines`. One that is not made for a port leaves its function out.

    One that keeps runs may have `open_blob_names`, too: for the names of blobs of which another engine has the bytes.
    One that several servers may use at once says IS_SHARED, and has `open_leases` and `open_changes` if it keeps runs.
    One that keeps what was received has `open_journals`, which gets the URL and a function that opens the bucket of the
    blobs, if they have one: for what is to lie for years. One with `open_shelf` keeps artifacts beside such a bucket.
    """

    def open_runs(self, url: str) -> RunStore:
        """The runs."""

    def open_series(self, url: str) -> SeriesStore:
        """The series."""

    def open_console(self, url: str) -> ConsoleStore:
        """The console and the events."""

    def open_media(self, url: str) -> MediaStore:
        """The media."""

    def open_blobs(self, url: str, names: "Callable[[], BlobNames]") -> BlobStore:
        """The blobs. Where the engine has no transactions, `names` keeps their names, where the runs are."""

    def open_settings(self, url: str) -> SettingStore:
        """The settings."""

    def discard_index(self, url: str) -> None:
        """Remove what the journals can give back: all but blobs, whose names go where they are damaged, and settings.

        Nobody may have it open. Raises OSError.
        """


class Storage(msgspec.Struct, frozen=True, eq=False):
    """The six ports together. There is no transaction across them."""

    runs: RunStore
    series: SeriesStore
    console: ConsoleStore
    blobs: BlobStore
    settings: SettingStore
    media: MediaStore

    def close(self) -> None:
        """Close all six. Idempotent."""
        for port in (self.series, self.runs, self.console, self.media, self.blobs, self.settings):
            cast("Closable", port).close()


def engine_names() -> list[str]:
    """The schemes that can be opened."""
    return sorted(found.name for found in pkgutil.iter_modules(engines.__path__))


def load_engine(url: str) -> Engine:
    """The engine of a URL. Raises UsageError."""
    return cast("Engine", _module(url))


def open_storage(place: Places | str) -> Storage:
    """Open all six ports, each at its place or all at one URL; the caller closes it.

    Raises UsageError, StorageDamaged, StorageFailing, NewerStorage.
    """
    places = Places.at(place) if isinstance(place, str) else place
    with contextlib.ExitStack() as opened:  # one that can't be opened leaves none open

        def kept(port: T) -> T:
            opened.callback(cast("Closable", port).close)
            return port

        storage = Storage(*(kept(_open(port, places)) for port in PORTS))
        opened.pop_all()
        return storage


def open_journals(data: str, places: Places | None = None) -> JournalStore:
    """What was received: where the places say, or else in a data directory; the caller closes it. Raises as above."""
    if places is None or not places.journals:
        places = msgspec.structs.replace(places or Places.at(""), journals=f"directory:{data}")
    return cast("JournalStore", _open("journals", places))


def open_sweeps(data: str, places: Places | None = None) -> SweepStore:
    """The books of sweeps: where the places say, or else in a data directory; the caller closes it. Raises as above."""
    places = places or Places.at("")
    if not places.sweeps:
        follows = places.runs if places.runs and hasattr(_module(places.runs), "open_sweeps") else ""
        places = msgspec.structs.replace(places, sweeps=follows or f"directory:{data}")
    return cast("SweepStore", _open("sweeps", places))


def open_papers(places: Places) -> PaperStore | None:
    """What several servers have alike, kept where journals are; None where there is one server. The caller closes it.

    Raises as above.
    """
    opener = getattr(_module(places.journals), "open_papers", None) if places.journals else None
    return cast("PaperStore", opener(places.journals)) if opener is not None else None


def open_shelf(places: Places) -> "PostgresShelf | None":
    """Artifacts for any number of servers: rows where the runs are, bytes where the blobs are; None where one of these
    is on this machine. The caller closes it.

    Raises as above.
    """
    opener = getattr(_module(places.runs), "open_shelf", None)
    bucket = _open_bucket(places) if opener is not None else None
    return cast("PostgresShelf", opener(places.runs, bucket)) if opener is not None and bucket is not None else None


def open_acts(places: Places) -> ActStore | None:
    """What people did, kept where journals are; None where there is one server. The caller closes it. As above."""
    opener = getattr(_module(places.journals), "open_acts", None) if places.journals else None
    return cast("ActStore", opener(places.journals)) if opener is not None else None


def open_leases(places: Places) -> LeaseStore | None:
    """Who digests which run, kept where the runs are; None where there is one server, or each has an index of its own.

    The caller closes it. Raises as above.
    """
    return cast("LeaseStore", _open_shared(places, "open_leases")) if are_shared(places) else None


def open_changes(places: Places) -> ChangeStore | None:
    """What changed of runs, for several servers; None as above. The caller closes it."""
    return cast("ChangeStore", _open_shared(places, "open_changes")) if are_shared(places) else None


def open_series_views(places: Places) -> SeriesStore | None:
    """Series with points that others have not sealed; None where all see at once what one appends. As above."""
    opener = getattr(_module(places.series), "open_series_views", None) if are_shared(places) else None
    return cast("SeriesStore", opener(places.series)) if opener is not None else None


def are_shared(places: Places) -> bool:
    """Whether several servers may have the same index: none of it is on a disk of one of them."""
    kept = (places.runs, places.series, places.console, places.media)
    return bool(places.journals) and all(getattr(_module(url), "IS_SHARED", False) for url in kept)


def discard_index(place: Places | str) -> None:
    """Remove what the journals can give back, wherever it is. Nobody may have it open. Raises OSError."""
    places = Places.at(place) if isinstance(place, str) else place
    for url in places.urls():
        engine = _module(url)
        if hasattr(engine, "discard_index"):  # else it keeps nothing that the journals can give back
            engine.discard_index(url)


def _open(port: str, places: Places) -> Any:
    url = getattr(places, port)
    engine = _module(url)
    opener = getattr(engine, f"open_{port}", None)
    if opener is None:
        able = [name for name in engine_names() if hasattr(_module(f"{name}:"), f"open_{port}")]
        raise UsageError(
            f"{without_password(url)!r} is no place for {port}, which can be kept by "
            f"{', '.join(f'{name}:' for name in able)}; give --{port} a URL of its own"
        )
    try:
        more = [functools.partial(_NEEDS[port], places)] if port in _NEEDS else []
        return opener(url, *more)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{without_password(url)!r} needs {error.name}, which is not installed: "
            f"pip install 'holter[{engine.EXTRA}]'"
        ) from error


def _open_shared(places: Places, opener: str) -> Any:
    return getattr(_module(places.runs), opener)(places.runs)


def _open_names(places: Places) -> Any:
    opener = getattr(_module(places.runs), "open_blob_names", None)
    if opener is None:
        raise UsageError(
            f"{without_password(places.runs)!r} keeps no names of files that are in {without_password(places.blobs)!r}"
        )
    return opener(places.runs)


def _open_bucket(places: Places) -> "Bucket | None":
    opener = getattr(_module(places.blobs), "open_bucket", None)
    return cast("Bucket", opener(places.blobs)) if opener is not None else None


_NEEDS: "dict[str, Callable[[Places], Any]]" = {"blobs": _open_names, "journals": _open_bucket}


def _module(url: str) -> ModuleType:
    scheme = url.partition(":")[0]
    if ":" not in url or scheme not in engine_names():
        raise UsageError(
            f"no storage engine for {without_password(url)!r}: the part before ':' must name one of the files in "
            f"holter/storage/engines ({', '.join(engine_names())}), for example 'sqlite:/var/lib/holter'"
        )
    return importlib.import_module(f"{engines.__name__}.{scheme}")
