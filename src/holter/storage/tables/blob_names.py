"""The names that runs have for blobs, in a table: who keeps the bytes needs no transactions of its own."""

import re
from collections.abc import Callable, Iterable, Mapping

from holter.errors import NoBlob, UsageError
from holter.storage.tables.database import Connection, Database

_DIGEST = re.compile(r"[0-9a-f]{64}")


def check_digest(digest: str) -> None:
    """Raises UsageError for what is none."""
    if not _DIGEST.fullmatch(digest):
        raise UsageError(f"a blob's name is its SHA-256 in 64 lower-case hexadecimal digits, not {digest[:80]!r}")


class BlobNames:
    """What the port `BlobStore` promises of names. A blob is removed while nobody can give it a name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def attach(self, run: str, names: Mapping[str, str], *, is_there: Callable[[str], bool]) -> None:
        """Give blobs names in a run, all at once. Raises NoBlob."""
        with self._database.write(run, *_shares(names.values())) as connection:
            missing = [digest for digest in dict.fromkeys(names.values()) if not is_there(digest)]
            if missing:
                raise NoBlob(f"there is no blob {missing[0]}: stage and seal it first")
            connection.executemany(
                "INSERT INTO name (run, path, digest) VALUES (?, ?, ?)"
                " ON CONFLICT (run, path) DO UPDATE SET digest = excluded.digest",
                [(run, self._database.fitting(path), digest) for path, digest in sorted(names.items())],
            )

    def attached(self, run: str) -> dict[str, str]:
        """The digests of a run's blobs by name."""
        with self._database.read() as connection:
            found = connection.execute("SELECT path, digest FROM name WHERE run = ? ORDER BY path", (run,))
            return dict(found.fetchall())

    def delete(self, run: str, *, remove: Callable[[str], None]) -> None:
        """Forget the run's names, and remove the blobs that nobody else names."""
        with self._database.read() as connection:
            locked = set(_digests(connection, run))
        with self._database.write(run, *_shares(locked)) as connection:
            digests = _digests(connection, run)
            connection.execute("DELETE FROM name WHERE run = ?", (run,))
            for digest in digests:
                is_named = connection.execute("SELECT 1 FROM name WHERE digest = ? LIMIT 1", (digest,)).fetchone()
                if not is_named and digest in locked:  # else it got its name just now: it stays, as one never named
                    remove(digest)

    def close(self) -> None:
        """Idempotent."""
        self._database.close()


def _digests(connection: Connection, run: str) -> list[str]:
    found = connection.execute("SELECT DISTINCT digest FROM name WHERE run = ? ORDER BY digest", (run,))
    return [digest for [digest] in found.fetchall()]


def _shares(digests: Iterable[str]) -> set[str]:
    """Who has one of these to itself has all blobs to itself that begin alike: there may be thousands of them."""
    return {f"blobs {digest[:1]}" for digest in digests}
