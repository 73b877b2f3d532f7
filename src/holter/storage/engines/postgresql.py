"""`postgresql://…` keeps all but the bytes of files in one schema of a PostgreSQL database, for any number of servers.

The series are the same sealed chunks as in SQLite. `?schema=NAME` names another schema than `holter`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holter.storage.postgres import schema
from holter.storage.tables.blob_names import BlobNames
from holter.storage.tables.console import ConsoleTables
from holter.storage.tables.media import MediaTables
from holter.storage.tables.runs import RunTables
from holter.storage.tables.series import SeriesTables
from holter.storage.tables.settings import SettingsTable
from holter.storage.tables.views import SeriesViews

if TYPE_CHECKING:
    from collections.abc import Callable

    from holter.storage.objects.bucket import Bucket
    from holter.storage.postgres.acts import PostgresActs
    from holter.storage.postgres.artifacts import PostgresShelf
    from holter.storage.postgres.changes import PostgresChanges
    from holter.storage.postgres.database import PostgresDatabase
    from holter.storage.postgres.journals import PostgresJournals
    from holter.storage.postgres.leases import PostgresLeases
    from holter.storage.postgres.papers import PostgresPapers
    from holter.storage.postgres.sweeps import PostgresSweeps

EXTRA = "postgres"
"""What installs the driver, which is loaded by who opens something."""
IS_SHARED = True
ASKING_S = 60
"""Some ask an object store, or wait for a file of their machine, within their transactions: so long at most."""


def open_runs(url: str) -> RunTables:
    """The runs."""
    return RunTables(_open(url, "runs", schema.RUNS))


def open_series(url: str) -> SeriesTables:
    """The series."""
    return SeriesTables(_open(url, "series", schema.SERIES))


def open_series_views(url: str) -> SeriesViews:
    """The series, with unsealed points that stay in this process."""
    return SeriesViews(_open(url, "series", schema.SERIES))


def open_console(url: str) -> ConsoleTables:
    """The console and the events."""
    return ConsoleTables(_open(url, "console", schema.CONSOLE))


def open_media(url: str) -> MediaTables:
    """The media."""
    return MediaTables(_open(url, "media", schema.MEDIA))


def open_blob_names(url: str) -> BlobNames:
    """The names of blobs, wherever those are."""
    return BlobNames(_open(url, "blob names", schema.BLOB_NAMES, alone_s=ASKING_S))


def open_settings(url: str) -> SettingsTable:
    """The settings."""
    return SettingsTable(_open(url, "settings", schema.SETTINGS))


def open_journals(url: str, bucket: "Callable[[], Bucket | None]") -> "PostgresJournals":
    """What was received; sealed into a bucket where there is one."""
    from holter.storage.postgres.journals import PostgresJournals

    return PostgresJournals(_open(url, "journals", schema.JOURNALS), bucket())


def open_papers(url: str) -> "PostgresPapers":
    """Small files that several servers have alike."""
    from holter.storage.postgres.papers import PostgresPapers

    return PostgresPapers(_open(url, "papers", schema.PAPERS, alone_s=ASKING_S))


def open_sweeps(url: str) -> "PostgresSweeps":
    """The books of sweeps."""
    from holter.storage.postgres.sweeps import PostgresSweeps

    return PostgresSweeps(_open(url, "sweeps", schema.SWEEPS))


def open_shelf(url: str, bucket: "Bucket") -> "PostgresShelf":
    """Artifacts, with their pieces in a bucket."""
    from holter.storage.postgres.artifacts import PostgresShelf

    return PostgresShelf(_open(url, "artifacts", schema.ARTIFACTS, alone_s=ASKING_S), bucket)


def open_acts(url: str) -> "PostgresActs":
    """What people did, on any server."""
    from holter.storage.postgres.acts import PostgresActs

    return PostgresActs(_open(url, "acts", schema.ACTS))


def open_leases(url: str) -> "PostgresLeases":
    """Who digests which run."""
    from holter.storage.postgres.leases import PostgresLeases

    return PostgresLeases(_open(url, "leases", schema.LEASES))


def open_changes(url: str) -> "PostgresChanges":
    """What changed of runs, for all servers."""
    from holter.storage.postgres.changes import PostgresChanges

    return PostgresChanges(_open(url, "changes", schema.CHANGES))


def discard_index(url: str) -> None:
    """Remove all that the journals can give back: no settings, sweeps, artifacts or names of blobs."""
    from holter.storage.postgres.database import drop_parts

    index = {"runs": schema.RUNS, "series": schema.SERIES, "console": schema.CONSOLE, "media": schema.MEDIA}
    drop_parts(url, index)


def _open(url: str, part: str, scripts: Sequence[str], *, alone_s: int | None = None) -> "PostgresDatabase":
    from holter.storage.postgres.database import ALONE_S, PostgresDatabase

    return PostgresDatabase(url, part, scripts=scripts, alone_s=alone_s or ALONE_S)
