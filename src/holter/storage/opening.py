"""Opens storage by URL: the part before the colon names a file in the folder `engines`."""

import contextlib
import importlib
import pkgutil
from typing import Protocol, TypeVar, cast

import msgspec

from holter.errors import UsageError
from holter.storage import engines
from holter.storage.blobs import BlobStore
from holter.storage.console import ConsoleStore
from holter.storage.runs import RunStore
from holter.storage.series import SeriesStore
from holter.storage.settings import SettingStore

T = TypeVar("T")


class Closable(Protocol):
    """Whatever an engine opens."""

    def close(self) -> None:
        """Let go of it without losing anything. Idempotent."""


class Engine(Protocol):
    """A file of the folder `engines`."""

    TEST_URL: str
    """Where the contract suite may open it; `{directory}` stands for an empty directory."""

    def open_runs(self, url: str) -> RunStore:
        """The runs."""

    def open_series(self, url: str) -> SeriesStore:
        """The series."""

    def open_console(self, url: str) -> ConsoleStore:
        """The console and the events."""

    def open_blobs(self, url: str) -> BlobStore:
        """The blobs."""

    def open_settings(self, url: str) -> SettingStore:
        """The settings."""

    def discard_index(self, url: str) -> None:
        """Remove what the journals can give back: runs, series, console; and the names of blobs where they are damaged.

        Nobody may have it open. Raises OSError.
        """


class Storage(msgspec.Struct, frozen=True, eq=False):
    """The five ports together. There is no transaction across them."""

    runs: RunStore
    series: SeriesStore
    console: ConsoleStore
    blobs: BlobStore
    settings: SettingStore

    def close(self) -> None:
        """Close all five. Idempotent."""
        for port in (self.series, self.runs, self.console, self.blobs, self.settings):
            cast("Closable", port).close()


def engine_names() -> list[str]:
    """The schemes that can be opened."""
    return sorted(found.name for found in pkgutil.iter_modules(engines.__path__))


def load_engine(url: str) -> Engine:
    """The engine of a URL. Raises UsageError."""
    scheme = url.partition(":")[0]
    if ":" not in url or scheme not in engine_names():
        raise UsageError(
            f"no storage engine for {url!r}: the part before ':' must name one of the files in "
            f"holter/storage/engines ({', '.join(engine_names())}), for example 'sqlite:/var/lib/holter'"
        )
    return cast("Engine", importlib.import_module(f"{engines.__name__}.{scheme}"))


def open_storage(url: str) -> Storage:
    """Open all five ports at one place; the caller closes it. Raises UsageError, StorageDamaged, NewerStorage."""
    engine = load_engine(url)
    with contextlib.ExitStack() as opened:  # one that can't be opened leaves none open

        def kept(port: T) -> T:
            opened.callback(cast("Closable", port).close)
            return port

        storage = Storage(
            kept(engine.open_runs(url)),
            kept(engine.open_series(url)),
            kept(engine.open_console(url)),
            kept(engine.open_blobs(url)),
            kept(engine.open_settings(url)),
        )
        opened.pop_all()
        return storage
