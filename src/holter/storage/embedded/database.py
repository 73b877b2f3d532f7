"""One SQLite file: connections for many threads, one writer at a time, a schema that grows with the version."""

import contextlib
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from holter.errors import NewerStorage, StorageDamaged, StorageError, StorageFailing, StorageFull
from holter.journal.rundir import make_private
from holter.storage.tables.database import Connection

BUSY_S = 30.0
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
# A text that is none, and a schema that is not ours: for these it has no number.
_DAMAGED_WORDS = ("Could not decode", "no such table", "no such column", "no such index", "unsupported file format")
# A file system with less is full: the index that SQLite shares between processes grows by 32 KiB.
_LEAST_FREE_BYTES = 64 << 10
DAMAGED = ".damaged"
"""A file of this name beside a database says that damage was found in it."""
_PRAGMAS = (
    "journal_mode=WAL",
    # After a power cut the newest transactions may be missing, but never a part of one: the journals have them.
    "synchronous=NORMAL",
    "cache_size=-8192",
    "journal_size_limit=67108864",
    "temp_store=MEMORY",
)


class SqliteDatabase:
    """Thread-safe. Other processes may have the same file open; a writer waits for theirs.

    Args:
        scripts: the statements that lead from each version of the schema to the next one. They are only ever added.
    """

    def __init__(self, path: str, scripts: Sequence[str]) -> None:
        self.path = path
        self._idle: deque[sqlite3.Connection] = deque()
        self._lock = threading.RLock()
        make_private(os.path.dirname(path))
        if os.path.exists(path + DAMAGED):
            raise self._damage("damage was found when it was last used")
        with self._translated():
            self.writer = self._connect()
            try:
                self._migrate(scripts)
            except BaseException:
                self.writer.close()
                raise

    @contextlib.contextmanager
    def write(self, *alone: str) -> Iterator[sqlite3.Connection]:
        """A transaction that is kept as a whole when the block ends, and not at all where it raises.

        There is one at a time, whatever it is about. Raises StorageFull, StorageFailing, StorageDamaged.
        """
        with self._lock, self._translated():
            self.writer.execute("BEGIN IMMEDIATE")
            try:
                yield self.writer
                self.writer.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self.writer.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """What the file holds at one moment. Raises StorageDamaged."""
        with self._translated():
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("COMMIT")
                self._idle.append(connection)

    @property
    def is_shared(self) -> bool:
        """Another process may write here, but no run is taken in by two."""
        return False

    def moment(self, connection: Connection) -> tuple[int, int]:
        """Each connection counts for itself what others changed."""
        [version] = connection.execute("PRAGMA data_version").fetchone()
        return id(connection), version

    def fitting(self, name: str) -> str:
        """Every name fits."""
        return name

    def close(self) -> None:
        """Idempotent; nobody may be reading any more."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()
            self.writer.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, scripts: Sequence[str]) -> None:
        [version] = self.writer.execute("PRAGMA user_version").fetchone()
        if version == len(scripts):
            return  # without a write: a full disk can be read
        with self.write() as connection:
            [version] = connection.execute("PRAGMA user_version").fetchone()
            if version > len(scripts):
                raise NewerStorage(
                    f"{self.path} has version {version}, this holter knows up to {len(scripts)}: a newer holter made "
                    "it. Upgrade with `pip install -U holter`, or give it a directory of its own"
                )
            for script in scripts[version:]:
                for statement in script.split(";"):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={len(scripts)}")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._explain(error) from error
        except (UnicodeDecodeError, msgspec.DecodeError) as error:  # also in what SQLite says of a damaged schema
            self._remember_damage()
            raise self._damage(str(error)) from error
        except StorageDamaged:  # of what a row holds
            self._remember_damage()
            raise

    def _explain(self, error: sqlite3.Error) -> StorageError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGED or str(error).startswith(_DAMAGED_WORDS):
            self._remember_damage()
            return self._damage(str(error))
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and self._is_disk_full()):
            return StorageFull(f"{self.path} can't be written ({error}): make room on its disk; nothing is lost")
        if code == sqlite3.SQLITE_IOERR:
            name = getattr(error, "sqlite_errorname", "")
            return StorageFailing(
                f"{self.path} can't be read or written ({error}, {name}): the disk or its mount fails, see `dmesg`;"
                " nothing is lost"
            )
        return StorageError(f"{self.path}: {error}")

    def _is_disk_full(self) -> bool:
        """SQLite has its own word for a full disk, but not where the file that processes share can't grow."""
        try:
            found = os.statvfs(os.path.dirname(self.path))
        except OSError:
            return False
        return found.f_bavail * found.f_frsize < _LEAST_FREE_BYTES

    def _damage(self, because: str) -> StorageDamaged:
        return StorageDamaged(
            f"{self.path} is damaged ({because}): it can be made again from the runs, `holter server rebuild`"
        )

    def _remember_damage(self) -> None:
        """Damage in the middle of a file is not seen when it is opened: the next one to open it must know of it."""
        with contextlib.suppress(OSError):  # a disk that takes nothing any more
            os.close(os.open(self.path + DAMAGED, os.O_CREAT | os.O_CLOEXEC, 0o600))


def discard(path: str) -> None:
    """Remove a database with all that belongs to it; nobody may have it open. Idempotent. Raises OSError."""
    for suffix in ("", "-wal", "-shm", DAMAGED):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def is_sound(path: str) -> bool:
    """Whether a database can be read from its beginning to its end; reads all of it. One that is not there is."""
    if not os.path.exists(path):
        return True
    if os.path.exists(path + DAMAGED):
        return False
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_S)) as connection:
            tables = [name for [name] in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            for name in tables:  # a text that is none is seen by nobody but its reader
                for _ in connection.execute(f'SELECT * FROM "{name}"'):
                    pass
            return bool(connection.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))
    except (sqlite3.Error, UnicodeDecodeError):
        return False
