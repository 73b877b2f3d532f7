"""The embedded engine: `sqlite:DIRECTORY` keeps everything in SQLite files and two folders below that directory.

Needs no server and no other process; several processes may open the same directory. It must be on a local disk: SQLite
shares memory between processes, and network file systems do not.
"""

import os
from collections.abc import Callable

from holter.errors import UsageError
from holter.storage.embedded import schema
from holter.storage.embedded.blobs import DirectoryBlobs
from holter.storage.embedded.database import SqliteDatabase, discard, is_sound
from holter.storage.embedded.settings import DirectorySettings
from holter.storage.tables.blob_names import BlobNames
from holter.storage.tables.console import ConsoleTables
from holter.storage.tables.media import MediaTables
from holter.storage.tables.runs import RunTables
from holter.storage.tables.series import SeriesTables

INDEX_FILES = ("runs.db", "series.db", "console.db", "media.db")
NAMES_OF_BLOBS = "blobs.db"


def open_runs(url: str) -> RunTables:
    """The runs."""
    return RunTables(SqliteDatabase(os.path.join(_directory(url), "runs.db"), schema.RUNS))


def open_series(url: str) -> SeriesTables:
    """The series."""
    return SeriesTables(SqliteDatabase(os.path.join(_directory(url), "series.db"), schema.SERIES))


def open_console(url: str) -> ConsoleTables:
    """The console and the events."""
    return ConsoleTables(SqliteDatabase(os.path.join(_directory(url), "console.db"), schema.CONSOLE))


def open_media(url: str) -> MediaTables:
    """The media."""
    return MediaTables(SqliteDatabase(os.path.join(_directory(url), "media.db"), schema.MEDIA))


def open_blobs(url: str, names: Callable[[], BlobNames]) -> DirectoryBlobs:
    """The blobs, and their names beside them."""
    return DirectoryBlobs(_directory(url), open_blob_names(url))


def open_blob_names(url: str) -> BlobNames:
    """The names of blobs, wherever those are."""
    return BlobNames(SqliteDatabase(os.path.join(_directory(url), NAMES_OF_BLOBS), schema.BLOB_NAMES))


def open_settings(url: str) -> DirectorySettings:
    """The settings."""
    return DirectorySettings(_directory(url))


def discard_index(url: str) -> None:
    """Remove all that the journals can give back, and the names of blobs where they are damaged. Raises OSError."""
    for name in INDEX_FILES:
        discard(os.path.join(_directory(url), name))
    names = os.path.join(_directory(url), NAMES_OF_BLOBS)
    if not is_sound(names):
        discard(names)


def _directory(url: str) -> str:
    path = url.partition(":")[2]
    if not path:
        raise UsageError(f"{url!r} names no directory: write 'sqlite:/path/to/directory'")
    return os.path.abspath(os.path.expanduser(path))
