"""Tables in one schema of a PostgreSQL database: transactions out of a pool that the whole process shares."""

import contextlib
import functools
import hashlib
import logging
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import msgspec
import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from holter.errors import NewerStorage, StorageDamaged, StorageError, StorageFailing, StorageFull, UsageError
from holter.storage.places import without_password
from holter.storage.tables.database import Connection as AnyConnection
from holter.storage.tables.database import Values

SCHEMA = "holter"
"""Where the tables are, unless the URL has another: postgresql://host/database?schema=NAME."""
MOST_CONNECTIONS = 16
"""Of one process. They are opened when they are needed, and closed when they are not."""
WAIT_S = 5.0
"""For a connection; then the database counts as gone."""
ALONE_S = 5
"""Who stands still in the middle of a change, or is cut off, keeps others waiting for so long, and changes nothing."""
_OPTIONS = {
    "application_name": "holter",
    "connect_timeout": "5",
    # A machine that is gone says nothing: without these Linux waits for it for many minutes.
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "20000",
}
_IS_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}").fullmatch
# What only SQLite says, or says otherwise.
_WORDS = (
    (re.compile(r" INDEXED BY \w+"), ""),
    (re.compile(r"\bCROSS JOIN\b"), "JOIN"),
    (re.compile(r"\bINSTR\("), "STRPOS("),
    (
        re.compile(r"\bJSON_EACH\(([\w.]+)\)"),
        r"""(SELECT e COLLATE "C" AS value FROM JSON_ARRAY_ELEMENTS_TEXT(REPLACE(\1, '\\u0000', '')::JSON) e)""",
    ),
)
_MADE = re.compile(r"CREATE (TABLE|SEQUENCE|FUNCTION) (\w+)")
_MARKS = re.compile(r"%|\?|:(\w+)")
# Text can be anything here but these two, which it then is not.
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_VERSIONS = "CREATE TABLE IF NOT EXISTS schema_version (part TEXT PRIMARY KEY, version INTEGER NOT NULL)"

# What a part of the server takes as a whole: so many parts of its things at most are locked one by one.
_SHARES = 256
# An index takes a little more than this. What has more letters is kept under the first of them and a digest.
MOST_NAME_BYTES = 2000


class Connection:
    """A transaction that takes the SQL of this package: `?` and `:name` stand for values."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self.raw = connection

    def execute(self, sql: str, values: Values = ()) -> psycopg.Cursor[tuple[Any, ...]]:
        """Run a statement."""
        if not values:
            return self.raw.execute(_in_its_words(sql).encode(), binary=True)
        try:
            return self.raw.execute(_translated(sql), values, binary=True)
        except (UnicodeEncodeError, psycopg.DataError) as error:
            if getattr(error, "sqlstate", None) is not None:  # not ours: the server refused it
                raise
            return self.raw.execute(_translated(sql), _as_text(values), binary=True)

    def executemany(self, sql: str, rows: Iterable[Values]) -> None:
        """Run a statement for each row, without waiting for each."""
        texts = [_as_text(row) for row in rows]
        with self.raw.cursor() as cursor:
            if texts:
                cursor.executemany(_translated(sql), texts)


class _Shared(NamedTuple):
    pool: ConnectionPool[psycopg.Connection[tuple[Any, ...]]]
    users: set[int]


# It tells of each attempt to connect; whoever waits for one is told, once.
logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
_pools: dict[str, _Shared] = {}
_lock = threading.Lock()


class PostgresDatabase:
    """Thread-safe; shared between processes. Works through a pooler, too: nothing outlives a transaction.

    Args:
        part: whose tables these are; each part has a version of its own.
        scripts: the statements that lead from each version of the part to the next one. They are only ever added.
        alone_s: so long a transaction that writes may wait for its owner. Then it is ended, and nothing of it kept.
    """

    def __init__(self, url: str, part: str, *, scripts: Sequence[str], alone_s: int = ALONE_S) -> None:
        self.shown = without_password(url)
        self._part = part
        self._alone_s = alone_s
        self._address, self._schema = _split(url)
        self._number = _number(f"{self._schema} {part}") - (1 << 31)
        self._pool = _take_pool(self._address, id(self))
        try:
            with self._translated():
                self._migrate(scripts)
        except BaseException:
            self.close()
            raise

    @property
    def schema(self) -> str:
        """Where the tables are."""
        return self._schema

    @property
    def is_shared(self) -> bool:
        """Other servers write here, too."""
        return True

    @contextlib.contextmanager
    def write(self, *alone: str) -> Iterator[Connection]:
        """A transaction that is kept as a whole when the block ends, and not at all where it raises.

        Nobody else is in one that names one of the same things. Raises StorageFull, StorageFailing, StorageDamaged.
        """
        # Always in the same order, so that no two wait for each other.
        shares = sorted({_number(name) % _SHARES for name in alone})
        locks = ", ".join(f"pg_advisory_xact_lock({self._number}, {share})" for share in shares)
        begin = f"BEGIN; SET LOCAL idle_in_transaction_session_timeout = '{self._alone_s}s'"
        with self._transaction(begin, f"; SELECT {locks}" if locks else "") as connection:
            yield connection

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """What the tables hold at one moment. Raises StorageFailing, StorageDamaged."""
        with self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as connection:
            yield connection

    def moment(self, connection: AnyConnection) -> tuple[int, int]:
        """The tables of the runs count their own changes."""
        [[changes]] = connection.execute("SELECT last_value FROM run_changes").fetchall()
        return 0, changes

    def fitting(self, name: str) -> str:
        """A name as it can be kept and looked up by."""
        name = _NOT_TEXT.sub("�", name)
        if len(name) * 4 <= MOST_NAME_BYTES or len(found := name.encode()) <= MOST_NAME_BYTES:
            return name
        digest = hashlib.blake2b(found, digest_size=16).hexdigest()
        return f"{found[: MOST_NAME_BYTES - 40].decode(errors='ignore')}…{digest}"

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of the caller's own, which the caller closes. Raises psycopg.Error."""
        return psycopg.connect(self._address, autocommit=True, prepare_threshold=None)

    def close(self) -> None:
        """Idempotent. The last one to leave closes the pool."""
        _leave_pool(self._address, id(self))

    @contextlib.contextmanager
    def _transaction(self, begin: str, locks: str = "") -> Iterator[Connection]:
        with self._translated():
            connection = self._begun(begin, locks)
            try:
                yield Connection(connection)
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._pool.putconn(connection)

    def _begun(self, begin: str, locks: str) -> psycopg.Connection[tuple[Any, ...]]:
        """After a restart of the database those in the pool are all dead, and nobody knows before they are used."""
        for is_last in [False] * MOST_CONNECTIONS + [True]:
            connection = self._pool.getconn()
            try:
                connection.execute(f"{begin}; SET LOCAL search_path TO {self._schema}{locks}".encode())
            except psycopg.OperationalError:
                is_dead = connection.closed
                self._pool.putconn(connection)
                if is_last or not is_dead:
                    raise
            except BaseException:
                self._pool.putconn(connection)
                raise
            else:
                return connection
        raise AssertionError

    def _migrate(self, scripts: Sequence[str]) -> None:
        """Many servers may start at once: one makes the tables, the others wait for it."""
        with psycopg.connect(self._address, autocommit=True, prepare_threshold=None) as connection:
            lock = f"SELECT pg_advisory_xact_lock(hashtextextended('holter {self._schema}', 0))"
            with connection.transaction():
                connection.execute(lock.encode())
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self._schema}".encode())
                connection.execute(f"SET LOCAL search_path TO {self._schema}".encode())
                connection.execute(_VERSIONS)
                found = connection.execute("SELECT version FROM schema_version WHERE part = %s", (self._part,))
                row = found.fetchone()
                version = row[0] if row else 0
                if version > len(scripts):
                    raise NewerStorage(
                        f"{self._part} in {self.shown} has version {version}, this holter knows up to {len(scripts)}: "
                        "a newer holter made it. Upgrade with `pip install -U holter`"
                    )
                for script in scripts[version:]:
                    connection.execute(script.encode())
                connection.execute(
                    "INSERT INTO schema_version VALUES (%s, %s)"
                    " ON CONFLICT (part) DO UPDATE SET version = excluded.version",
                    (self._part, len(scripts)),
                )

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, PoolTimeout, PoolClosed) as error:
            raise self._explained(error) from error
        except msgspec.DecodeError as error:
            raise self._damage(str(error)) from error

    def _damage(self, because: str) -> StorageDamaged:
        return StorageDamaged(f"{self.shown} is damaged ({because}): `holter server rebuild` makes it again")

    def _explained(self, error: Exception) -> StorageError:
        said = str(error).strip().partition("\n")[0]
        match error:
            case errors.DiskFull():
                return StorageFull(f"{self.shown} can't be written ({said}): make room on its disk; nothing is lost")
            case errors.UndefinedTable() | errors.UndefinedColumn() | errors.DataCorrupted() | errors.IndexCorrupted():
                return self._damage(said)
            case (
                psycopg.OperationalError()
                | psycopg.InterfaceError()
                | errors.IdleInTransactionSessionTimeout()
                | PoolTimeout()
                | PoolClosed()
            ):
                return StorageFailing(f"{self.shown} can't be reached ({said}); nothing is lost")
            case _:
                return StorageError(f"{self.shown}: {said}")


def drop_parts(url: str, parts: Mapping[str, Sequence[str]]) -> None:
    """Remove parts with all that their scripts made. Idempotent. Raises StorageFailing."""
    database = PostgresDatabase(url, "dropping", scripts=())
    try:
        with database.write() as connection:
            for part, scripts in parts.items():
                for kind, name in _MADE.findall(" ".join(scripts)):
                    connection.execute(f"DROP {kind} IF EXISTS {name} CASCADE")
                connection.execute("DELETE FROM schema_version WHERE part = ?", (part,))
    finally:
        database.close()


def _number(name: str) -> int:
    return zlib.crc32(name.encode(errors="surrogatepass"))


def _split(url: str) -> tuple[str, str]:
    """What the driver takes, and the schema. Raises UsageError."""
    base, _, query = url.partition("?")
    options = dict(parse_qsl(query))
    schema = options.pop("schema", SCHEMA)
    if not _IS_NAME(schema):
        raise UsageError(f"{schema!r} is no schema: small letters, digits and underscores are")
    address = f"{base}?{urlencode(_OPTIONS | options)}"
    try:
        psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        shown = without_password(url)
        raise UsageError(f"{shown!r} is no address of a PostgreSQL database ({str(error).strip()})") from None
    return address, schema


def _take_pool(address: str, user: int) -> ConnectionPool[psycopg.Connection[tuple[Any, ...]]]:
    with _lock:
        if address not in _pools:
            pool = ConnectionPool(
                address,
                min_size=0,
                max_size=MOST_CONNECTIONS,
                # A pooler may hand the next transaction to another connection, which knows no prepared statements.
                kwargs={"autocommit": True, "prepare_threshold": None},
                timeout=WAIT_S,
                max_idle=60,
                reconnect_timeout=WAIT_S,
                open=True,
            )
            _pools[address] = _Shared(pool, set())
        _pools[address].users.add(user)
        return _pools[address].pool


def _leave_pool(address: str, user: int) -> None:
    with _lock:
        shared = _pools.get(address)
        if shared is None or user not in shared.users:
            return
        shared.users.discard(user)
        if not shared.users:
            del _pools[address]
            shared.pool.close()


@functools.lru_cache(2048)
def _translated(sql: str) -> bytes:
    """The SQL of this package in the driver's."""

    def mark(found: re.Match[str]) -> str:
        if found[0] == "%":
            return "%%"
        return "%s" if found[0] == "?" else f"%({found[1]})s"

    return _in_its_words(_MARKS.sub(mark, sql)).encode()


def _in_its_words(sql: str) -> str:
    for pattern, words in _WORDS:
        sql = pattern.sub(words, sql)
    return sql


def _as_text(values: Values) -> Values:
    if isinstance(values, Mapping):
        return {name: _NOT_TEXT.sub("�", each) if type(each) is str else each for name, each in values.items()}
    return [_NOT_TEXT.sub("�", each) if type(each) is str else each for each in values]
