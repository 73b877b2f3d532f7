"""The embedded engine: `sqlite:DIRECTORY` keeps everything in SQLite files and two folders below that directory.

Needs no server and no other process; several processes may open the same directory. It must be on a local disk: SQLite
shares memory between processes, and network file systems do not.
"""

import os

from holter.errors import UsageError
from holter.storage.embedded.blobs import NAMES_OF_BLOBS, DirectoryBlobs
from holter.storage.embedded.console import SqliteConsole
from holter.storage.embedded.database import discard, is_sound
from holter.storage.embedded.runs import SqliteRuns
from holter.storage.embedded.series import SqliteSeries
from holter.storage.embedded.settings import DirectorySettings

TEST_URL = "sqlite:{directory}"
INDEX_FILES = ("runs.db", "series.db", "console.db")


def open_runs(url: str) -> SqliteRuns:
    """The runs."""
    return SqliteRuns(_directory(url))


def open_series(url: str) -> SqliteSeries:
    """The series."""
    return SqliteSeries(_directory(url))


def open_console(url: str) -> SqliteConsole:
    """The console and the events."""
    return SqliteConsole(_directory(url))


def open_blobs(url: str) -> DirectoryBlobs:
    """The blobs."""
    return DirectoryBlobs(_directory(url))


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
