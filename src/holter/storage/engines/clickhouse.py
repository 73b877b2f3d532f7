"""`clickhouse://HOST/DATABASE` keeps points, lines and events in ClickHouse, for any number of servers.

`?secure=1` asks by HTTPS, `?cluster=NAME` makes tables on a cluster; what else stands there is a setting of ClickHouse.
"""

from typing import TYPE_CHECKING

from holter.storage.clickhouse import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holter.storage.clickhouse.console import ClickHouseConsole
    from holter.storage.clickhouse.database import ClickHouseDatabase, Step
    from holter.storage.clickhouse.series import ClickHouseSeries

EXTRA = "clickhouse"
"""What installs the client, which is loaded by who opens something."""
IS_SHARED = True


def open_series(url: str) -> "ClickHouseSeries":
    """The series."""
    from holter.storage.clickhouse.series import ClickHouseSeries

    return ClickHouseSeries(_open(url, "series", schema.SERIES))


def open_console(url: str) -> "ClickHouseConsole":
    """The console and the events."""
    from holter.storage.clickhouse.console import ClickHouseConsole

    return ClickHouseConsole(_open(url, "console", schema.CONSOLE))


def discard_index(url: str) -> None:
    """Remove all of it."""
    database = _open(url, "dropping", ())
    try:
        database.drop({"series": schema.SERIES, "console": schema.CONSOLE})
    finally:
        database.close()


def _open(url: str, part: str, steps: "Sequence[Step]") -> "ClickHouseDatabase":
    from holter.storage.clickhouse.database import ClickHouseDatabase
    from holter.storage.clickhouse.http import HttpTransport

    return ClickHouseDatabase(url, part, steps=steps, connect=HttpTransport)
