"""Books of sweeps as rows of PostgreSQL, for any number of servers: who adds to a book has locked its row."""

import contextlib
import time
from collections.abc import Callable

from holter.errors import NoSweep
from holter.storage.postgres.database import PostgresDatabase
from holter.storage.sweeps import Heard, Lines
from holter.storage.tables.database import Connection

ALONE_S = 10
"""A server that stands still while it adds to a book keeps the others waiting for so long, and then adds nothing."""
_NOW_NS = "CAST(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000000000 AS BIGINT)"


class PostgresSweeps:
    """The port `SweepStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def names(self) -> list[str]:
        """The sweeps that there are."""
        with self._database.read() as connection:
            return [name for [name] in connection.execute("SELECT name FROM sweep ORDER BY id")]

    def begin(self, sweep: str, lines: list[bytes]) -> None:
        """Make a book."""
        with self._database.write() as connection:
            sql = "INSERT INTO sweep (name) VALUES (?) ON CONFLICT DO NOTHING RETURNING id"
            made = connection.execute(sql, (sweep,)).fetchone()
            if made is None:
                raise FileExistsError(f"there is a sweep {sweep!r}")
            _add(connection, made[0], 0, lines)

    def open(self, sweep: str) -> "PostgresBook":
        """A book."""
        with self._database.read() as connection:
            found = connection.execute("SELECT id FROM sweep WHERE name = ?", (sweep,)).fetchone()
        if found is None:
            raise NoSweep(f"there is no sweep {sweep!r}: `holter sweep ls` lists them")
        return PostgresBook(self._database, found[0])

    def close(self) -> None:
        """Idempotent."""
        self._database.close()


class PostgresBook:
    """The port `SweepBook`. Times are kept by the clock of the database: those of the servers need not agree."""

    def __init__(self, database: PostgresDatabase, sweep: int) -> None:
        self._database = database
        self._sweep = sweep

    def read(self, start: int) -> Lines:
        """What there is from a place on."""
        with self._database.read() as connection:
            return self._read(connection, start)

    def append(self, start: int, make: Callable[[Lines], list[bytes]]) -> int:
        """Add what follows."""
        with self._database.write() as connection:
            connection.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{ALONE_S}s'")
            connection.execute("SELECT 1 FROM sweep WHERE id = ? FOR UPDATE", (self._sweep,))
            before = self._read(connection, start)
            lines = make(before)
            _add(connection, self._sweep, before.stop, lines)
            return before.stop + len(lines)

    def turn(self) -> contextlib.AbstractContextManager[None]:
        """Each server has one at a time; of several the first to add its trial wins, and the others ask anew."""
        return contextlib.nullcontext()

    def hear(self, agent: str, data: bytes, *, at_ns: int) -> None:
        """Replace what an agent said last."""
        with self._database.write() as connection:
            connection.execute(
                f"INSERT INTO sweep_agent (sweep, name, data, heard_ns) VALUES (?, ?, ?, ? + {_NOW_NS} - ?)"
                " ON CONFLICT (sweep, name) DO UPDATE SET data = excluded.data, heard_ns = excluded.heard_ns",
                (self._sweep, agent, data, at_ns, time.time_ns()),
            )

    def heard(self) -> list[Heard]:
        """What each agent said last."""
        with self._database.read() as connection:
            sql = f"SELECT data, heard_ns - {_NOW_NS} FROM sweep_agent WHERE sweep = ?"
            found = connection.execute(sql, (self._sweep,)).fetchall()
        now_ns = time.time_ns()
        return [Heard(bytes(data), now_ns + since_ns) for data, since_ns in found]

    def _read(self, connection: Connection, start: int) -> Lines:
        sql = "SELECT line FROM sweep_line WHERE sweep = ? AND place >= ? ORDER BY place"
        found = [bytes(line) for [line] in connection.execute(sql, (self._sweep, start))]
        return Lines(found, start + len(found))


def _add(connection: Connection, sweep: int, start: int, lines: list[bytes]) -> None:
    rows = [(sweep, place, line) for place, line in enumerate(lines, start)]
    connection.executemany("INSERT INTO sweep_line (sweep, place, line) VALUES (?, ?, ?)", rows)
