"""What people did as rows of PostgreSQL, each under the digest of its line."""

import hashlib
from collections.abc import Sequence

from holter.storage.acts import Line
from holter.storage.postgres.database import PostgresDatabase


class PostgresActs:
    """The port `ActStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def add(self, lines: Sequence[Line]) -> None:
        """Keep lines."""
        # Always in the same order, so that no two servers wait for each other.
        rows = sorted((hashlib.blake2b(text, digest_size=16).digest(), at, text) for at, text in lines)
        with self._database.write() as connection:
            connection.executemany("INSERT INTO act (digest, at, line) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)

    def all(self) -> Sequence[Line]:
        """All of them."""
        with self._database.read() as connection:
            found = connection.execute("SELECT at, line FROM act ORDER BY at, digest").fetchall()
        return [Line(at, bytes(text)) for at, text in found]

    def close(self) -> None:
        """Idempotent."""
        self._database.close()
