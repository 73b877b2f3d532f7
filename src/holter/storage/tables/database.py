"""What the tables need of a database, whichever it is. The SQL is what SQLite and PostgreSQL both take, but for a few
words that only SQLite has (`INDEXED BY`, `CROSS JOIN … ON`, `INSTR`, `JSON_EACH`); `?` and `:name` stand for values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from holter.errors import StorageDamaged

Values = Sequence[Any] | Mapping[str, Any]


class Cursor(Protocol):
    """What a statement found."""

    def fetchone(self) -> Any:
        """The next row, None behind the last one."""

    def fetchall(self) -> list[Any]:
        """All rows."""

    def __iter__(self) -> Iterator[Any]:
        """One row after the other."""


class Connection(Protocol):
    """A transaction."""

    def execute(self, sql: str, values: Any = ..., /) -> Cursor:
        """Run a statement."""

    def executemany(self, sql: str, rows: Iterable[Any], /) -> object:
        """Run a statement for each row."""


class Database(Protocol):
    """Thread-safe; shared between processes."""

    @property
    def is_shared(self) -> bool:
        """Whether what this process wrote last may be something else by now, as others write there, too."""

    def write(self, *alone: str) -> AbstractContextManager[Connection]:
        """A transaction that is kept as a whole when the block ends, and not at all where it raises.

        Nobody else is in one that names one of the same things, on whatever machine.
        Raises StorageFull, StorageFailing, StorageDamaged.
        """

    def read(self) -> AbstractContextManager[Connection]:
        """What the tables hold at one moment. Raises StorageFailing, StorageDamaged."""

    def moment(self, connection: Connection) -> tuple[int, int]:
        """Whose count of changes it is, and that count: the same two for the same content of the runs' tables."""

    def fitting(self, name: str) -> str:
        """A name as it can be kept and looked up by: itself, but where it has no room or no letters for it."""

    def close(self) -> None:
        """Idempotent; nobody may be reading any more."""


def fetch_one(cursor: Cursor) -> tuple[Any, ...]:
    """The row to which another one points. Raises StorageDamaged where it is gone."""
    row: tuple[Any, ...] | None = cursor.fetchone()
    if row is None:
        raise StorageDamaged("what a row points at is gone")
    return row


def marks(many: int) -> str:
    """So many values in a list."""
    return ", ".join("?" * many)
