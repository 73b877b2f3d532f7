"""The way to a current ClickHouse: HTTP, by clickhouse-connect."""

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError
from urllib3.exceptions import HTTPError

from holter.errors import StorageDamaged, StorageError, StorageFailing, StorageFull
from holter.storage.clickhouse.address import Address

PASSWORD = "CLICKHOUSE_PASSWORD"
"""The variable that has it, where the URL has none."""
CONNECT_S = 5
ANSWER_S = 60
SETTINGS = {
    # Rows that a shard has not got yet are not kept, so an answer must not come before.
    "insert_distributed_sync": "1",
    # A run that was deleted comes again with the same bytes; what is written twice is replaced anyway.
    "insert_deduplicate": "0",
}
# The names of ClickHouse's errors.
_FULL = ("NOT_ENOUGH_SPACE", "No space left on device")
_DAMAGED = ("UNKNOWN_TABLE", "UNKNOWN_DATABASE", "UNKNOWN_IDENTIFIER", "CHECKSUM_DOESNT_MATCH", "CORRUPTED_DATA")

T = TypeVar("T")
# It tells of each question that fails; whoever asked is told, once.
logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)


class HttpTransport:
    """Asks the first of the address's hosts that answers, and stays with it."""

    def __init__(self, address: Address, shown: str) -> None:
        self._address = address
        self._shown = shown
        self._lock = threading.Lock()
        self._host = 0
        self._client: Client | None = None
        self._ask(lambda client: client.command("SELECT 1"))

    def query(self, sql: str) -> bytes:
        """The answer, in RowBinary."""
        return self._ask(lambda client: client.raw_query(sql, fmt="RowBinary"))

    def insert(self, table: str, columns: Sequence[str], *, rows: bytes) -> None:
        """Rows in RowBinary."""
        self._ask(lambda client: client.raw_insert(table, columns, rows, fmt="RowBinary"))

    def command(self, sql: str) -> None:
        """Do something that has no answer."""
        self._ask(lambda client: client.command(sql))

    def close(self) -> None:
        """Idempotent."""
        with self._lock:
            if self._client is not None:
                with contextlib.suppress(ClickHouseError, HTTPError, OSError):
                    self._client.close()
                self._client = None

    def _ask(self, question: Callable[[Client], T]) -> T:
        """All that is asked can be asked twice: it changes nothing, or nothing more."""
        hosts = len(self._address.hosts)
        for is_last in [False] * (hosts - 1) + [True]:
            client = None
            try:
                client = self._connected()
                return question(client)
            except (OperationalError, HTTPError, OSError) as error:
                self._turn_from(client)
                if is_last:
                    raise StorageFailing(f"{self._shown} can't be reached ({_said(error)}); nothing is lost") from error
            except ClickHouseError as error:
                raise self._explained(error) from error
        raise AssertionError

    def _connected(self) -> Client:
        with self._lock:
            if self._client is None:
                host, port = self._address.hosts[self._host]
                self._client = clickhouse_connect.get_client(
                    host=host,
                    port=port,
                    username=self._address.username,
                    password=self._address.password or os.environ.get(PASSWORD, ""),
                    secure=self._address.is_secure,
                    connect_timeout=CONNECT_S,
                    send_receive_timeout=ANSWER_S,
                    query_retries=0,
                    client_name="holter",
                    # Of two questions in one session the server refuses one.
                    autogenerate_session_id=False,
                    settings=SETTINGS | self._address.settings,
                )
            return self._client

    def _turn_from(self, client: Client | None) -> None:
        """The next host's turn, unless another thread has gone there already."""
        with self._lock:
            if client is self._client:
                self._client = None
                self._host = (self._host + 1) % len(self._address.hosts)

    def _explained(self, error: ClickHouseError) -> StorageError:
        said = _said(error)
        if any(word in said for word in _FULL):
            return StorageFull(f"{self._shown} can't be written ({said}): make room on its disk; nothing is lost")
        if any(word in said for word in _DAMAGED):
            return StorageDamaged(f"{self._shown} is damaged ({said}): `holter server rebuild` makes it again")
        return StorageFailing(f"{self._shown} refused ({said}); nothing is lost")


def _said(error: BaseException) -> str:
    """The driver tells of a refused connection in four lines; the system, at the bottom of them, in two words."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        found = found.__cause__ or found.__context__
    return str(error).strip().partition("\n")[0][:300]
