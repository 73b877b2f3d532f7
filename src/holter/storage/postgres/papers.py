"""Small files that several servers have alike, as rows of PostgreSQL."""

import contextlib
from collections.abc import Collection, Iterator, Mapping

from holter.storage.papers import Paper
from holter.storage.postgres.database import PostgresDatabase

OVERLAP_S = 15.0
"""As for what is received: what was being changed while somebody asked is told later."""


class PostgresPapers:
    """The port `PaperStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def changed(self, since_s: float = 0.0) -> tuple[Mapping[str, int], float]:
        """The versions of what has changed."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT name, version FROM paper WHERE changed_at >= TO_TIMESTAMP(?)", (max(0.0, since_s),)
            ).fetchall()
            [[now_s]] = connection.execute("SELECT CAST(EXTRACT(EPOCH FROM NOW()) AS DOUBLE PRECISION)").fetchall()
        return dict(found), now_s - OVERLAP_S

    def read(self, names: Collection[str]) -> Mapping[str, Paper]:
        """Those that there are or were."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT name, version, data, at_ns FROM paper WHERE name = ANY(CAST(? AS TEXT[]))", (list(names),)
            ).fetchall()
        return {name: Paper(version, data, at_ns) for name, version, data, at_ns in found}

    def put(self, name: str, data: bytes | None, *, at_ns: int, before: int) -> int:
        """Replace a version."""
        with self._database.write() as connection:
            if before:
                sql = (
                    "UPDATE paper SET data = ?, at_ns = ?, version = version + 1, changed_at = CLOCK_TIMESTAMP()"
                    " WHERE name = ? AND version = ? RETURNING version"
                )
                found = connection.execute(sql, (data, at_ns, name, before)).fetchone()
            else:
                sql = (
                    "INSERT INTO paper (name, version, data, at_ns, changed_at) VALUES (?, 1, ?, ?, CLOCK_TIMESTAMP())"
                    " ON CONFLICT DO NOTHING RETURNING version"
                )
                found = connection.execute(sql, (name, data, at_ns)).fetchone()
        return int(found[0]) if found else 0

    @contextlib.contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Nobody else is here who asked for the same."""
        with self._database.write(name):
            yield

    def close(self) -> None:
        """Idempotent."""
        self._database.close()
