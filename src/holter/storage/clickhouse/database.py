"""Tables in one database of ClickHouse: how they are named, made and asked, on one server or on a cluster."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from holter.errors import NewerStorage
from holter.storage.clickhouse import schema
from holter.storage.clickhouse.address import Address, parse_address
from holter.storage.clickhouse.binary import literal, pack_rows, unpack_rows
from holter.storage.places import without_password

Step = Sequence[tuple[str, str]]
"""Tables by name, with the statement that makes each."""


class Transport(Protocol):
    """The way to ClickHouse. Thread-safe. All raise StorageFailing, StorageFull, StorageDamaged."""

    def query(self, sql: str) -> bytes:
        """The answer, in RowBinary."""

    def insert(self, table: str, columns: Sequence[str], *, rows: bytes) -> None:
        """Rows in RowBinary: all of them, once they are where they last."""

    def command(self, sql: str) -> None:
        """Do something that has no answer."""

    def close(self) -> None:
        """Idempotent."""


class ClickHouseDatabase:
    """Thread-safe; shared between processes.

    Args:
        part: whose tables these are; each part has a version of its own.
        steps: what leads from each version of the part to the next one.
        connect: how ClickHouse is reached.
    """

    def __init__(
        self, url: str, part: str, *, steps: Sequence[Step], connect: Callable[[Address, str], Transport]
    ) -> None:
        self.shown = without_password(url)
        self._address = parse_address(url)
        self._transport = connect(self._address, self.shown)
        try:
            self._migrate(part, steps)
        except BaseException:
            self.close()
            raise

    def table(self, name: str) -> str:
        """What statements call a table."""
        return f"{self._address.database}.{name}"

    def query(self, sql: str) -> bytes:
        """The answer, in RowBinary."""
        return self._transport.query(sql)

    def rows(self, kinds: str, sql: str) -> list[tuple[object, ...]]:
        """The rows of an answer; `unpack_rows` says which kinds there are."""
        return unpack_rows(kinds, self._transport.query(sql))

    def insert(self, name: str, columns: Sequence[str], *, rows: bytes) -> None:
        """All rows, or none where there are fewer than a million of them for one shard."""
        self._transport.insert(self.table(name), columns, rows=rows)

    def forget(self, run: str, names: Iterable[str]) -> None:
        """Remove the rows of a run, once that is so wherever they are."""
        for name in names:
            self._transport.command(f"DELETE FROM {self._kept(name)} WHERE run = {literal(run)}")

    def drop(self, parts: dict[str, Sequence[Step]]) -> None:
        """Remove all that these parts have."""
        for part, steps in parts.items():
            for name in [name for step in steps for name, _ in step]:
                self._transport.command(f"DROP TABLE IF EXISTS {self.table(name)}{self._everywhere} SYNC")
                if self._address.cluster:
                    self._transport.command(f"DROP TABLE IF EXISTS {self._kept(name)} SYNC")
            self.forget(part, ["schema_version"])

    def close(self) -> None:
        """Idempotent."""
        self._transport.close()

    @property
    def _everywhere(self) -> str:
        return f" ON CLUSTER {self._address.cluster}" if self._address.cluster else ""

    def _kept(self, name: str) -> str:
        """The table that has the rows, as a statement that is for all of its replicas names it."""
        return f"{self.table(name)}_local{self._everywhere}" if self._address.cluster else self.table(name)

    def _migrate(self, part: str, steps: Sequence[Step]) -> None:
        versions = self.table("schema_version")
        # What is for the whole cluster waits for all of its nodes: a server begins also while one of them is away.
        if self._transport.query(f"EXISTS TABLE {versions}") == b"\0":
            self._transport.command(f"CREATE DATABASE IF NOT EXISTS {self._address.database}{self._everywhere}")
            self._make(*schema.VERSIONS)
        [(found,)] = self.rows("Q", f"SELECT max(version) FROM {versions} WHERE run = {literal(part)}")
        version = int(str(found))
        if version > len(steps):
            raise NewerStorage(
                f"{part} in {self.shown} has version {version}, this holter knows up to {len(steps)}: "
                "a newer holter made it. Upgrade with `pip install -U holter`"
            )
        for step in steps[version:]:
            for name, sql in step:
                self._make(name, sql)
        if version < len(steps):
            self.insert("schema_version", ("run", "version"), rows=pack_rows("sQ", [(part, len(steps))]))

    def _make(self, name: str, sql: str) -> None:
        if not self._address.cluster:
            self._transport.command(sql.format(engine="ReplacingMergeTree(version)", **{name: self.table(name)}))
            return
        place = f"'/clickhouse/tables/{{shard}}/{self._address.database}/{name}', '{{replica}}'"
        engine = f"ReplicatedReplacingMergeTree({place}, version)"
        self._transport.command(sql.format(engine=engine, **{name: self._kept(name)}))
        # A run is on one shard as a whole: what replaces what is the same there as on one server.
        shards = f"{self._address.cluster}, {self._address.database}, {name}_local, cityHash64(run)"
        self._transport.command(
            f"CREATE TABLE IF NOT EXISTS {self.table(name)}{self._everywhere} AS {self.table(name)}_local"
            f" ENGINE = Distributed({shards})"
        )
