"""The engine `clickhouse:` on servers of 2018, which clickhouse-connect does not know: only the way is another."""

import time
from collections.abc import Sequence
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from holter.errors import StorageFailing
from holter.storage.clickhouse import schema
from holter.storage.clickhouse.address import Address
from holter.storage.clickhouse.console import ClickHouseConsole
from holter.storage.clickhouse.database import ClickHouseDatabase, Step
from holter.storage.clickhouse.series import ClickHouseSeries
from tests.clickhouse.old_words import in_old_words, old_columns

SETTINGS = {"insert_distributed_sync": "1", "insert_deduplicate": "0"}
PATIENCE_S = 60.0


class OldTransport:
    """Asks the first host that answers, by HTTP."""

    def __init__(self, address: Address, shown: str) -> None:
        self._address = address

    def query(self, sql: str) -> bytes:
        return self._ask(f"{in_old_words(sql)} FORMAT RowBinary".encode())

    def insert(self, table: str, columns: Sequence[str], *, rows: bytes) -> None:
        names = ", ".join(old_columns(table, tuple(columns)))
        self._ask(rows, query=f"INSERT INTO {table} ({names}) FORMAT RowBinary")

    def command(self, sql: str) -> None:
        """On each node: what is for the cluster is told to all of them."""
        said = in_old_words(sql)
        for host in self._address.hosts:
            before = self._mutations(host, said)
            self._ask_one(host, said.encode(), {})
            deadline = time.monotonic() + PATIENCE_S
            # A node hears of a change some time after it was asked for it, and does it later still.
            while before and ((now := self._mutations(host, said)) == before or not now.endswith(b"\t0\n")):
                assert time.monotonic() < deadline, said
                time.sleep(0.01)

    def close(self) -> None:
        """Do nothing."""

    def _mutations(self, host: tuple[str, int], said: str) -> bytes:
        """The last change to a table, and how many of them are not done; nothing where no rows are changed."""
        if not said.startswith("ALTER"):
            return b""
        database, name = said.split()[2].split(".")
        where = f"database = '{database}' AND table = '{name}'"
        sql = f"SELECT max(mutation_id), countIf(is_done = 0) FROM system.mutations WHERE {where}"
        return self._ask_one(host, sql.encode(), {})

    def _ask(self, body: bytes, **asked: str) -> bytes:
        why: OSError | None = None
        deadline = time.monotonic() + PATIENCE_S
        for host in self._address.hosts:
            try:
                return self._ask_one(host, body, asked)
            except HTTPError as error:
                said = error.read().decode(errors="replace")[:2000]
                if "Coordination" in said and time.monotonic() < deadline:  # a busy machine: its session is over
                    time.sleep(0.5)
                    return self._ask(body, **asked)
                raise StorageFailing(said) from error
            except OSError as error:
                why = error
        raise StorageFailing(f"no host answers: {why}")

    def _ask_one(self, host: tuple[str, int], body: bytes, asked: dict[str, str]) -> bytes:
        values = urlencode(SETTINGS | self._address.settings | asked)
        with urlopen(Request(f"http://{host[0]}:{host[1]}/?{values}", body), timeout=PATIENCE_S) as answer:
            data: bytes = answer.read()
            return data


def open_series(url: str) -> ClickHouseSeries:
    """The series."""
    return ClickHouseSeries(_open(url, "series", schema.SERIES))


def open_console(url: str) -> ClickHouseConsole:
    """The console and the events."""
    return ClickHouseConsole(_open(url, "console", schema.CONSOLE))


def _open(url: str, part: str, steps: Sequence[Step]) -> ClickHouseDatabase:
    return ClickHouseDatabase(url, part, steps=steps, connect=OldTransport)
