"""Media by run, key and step in a table."""

from collections.abc import Sequence

from holter.storage.media import MediaEntry, MediaKey, MediaQuery
from holter.storage.tables.database import Database

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class MediaTables:
    """The port `MediaStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run: str, entries: Sequence[MediaEntry]) -> None:
        """Keep entries."""
        fitting = self._database.fitting
        rows = [(run, fitting(each.key), each.step, each.logged_ns, each.type, each.data) for each in entries]
        with self._database.write(run) as connection:
            connection.executemany(
                "INSERT INTO media VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (run, key, step) DO UPDATE"
                " SET logged_ns = excluded.logged_ns, type = excluded.type, data = excluded.data"
                " WHERE excluded.logged_ns >= media.logged_ns",
                rows,
            )

    def keys(self, run: str) -> list[MediaKey]:
        """All keys of a run."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT key, count(*), min(step), max(step) FROM media WHERE run = ? GROUP BY key ORDER BY key", (run,)
            ).fetchall()
            types = [
                connection.execute(
                    "SELECT type FROM media WHERE run = ? AND key = ? AND step = ?", (run, key, last)
                ).fetchone()[0]
                for key, _, _, last in found
            ]
        return [
            MediaKey(key=key, type=kind, steps=steps, first=first, last=last)
            for (key, steps, first, last), kind in zip(found, types, strict=True)
        ]

    def steps(self, run: str, key: str) -> list[int]:
        """The steps that have an entry."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT step FROM media WHERE run = ? AND key = ? ORDER BY step", (run, self._database.fitting(key))
            )
            return [step for (step,) in found]

    def select(self, run: str, query: MediaQuery) -> list[MediaEntry]:
        """Entries by step."""
        # What is beyond every step is asked for as the last one that a file holds.
        first = _LEAST if query.first is None else min(_MOST, max(_LEAST, query.first))
        last = _MOST if query.last is None else max(_LEAST, min(_MOST, query.last))
        order = "DESC" if query.newest else "ASC"
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT key, step, logged_ns, type, data FROM media WHERE run = ? AND key = ? AND step BETWEEN ? AND ?"
                f" ORDER BY step {order} LIMIT ?",
                (run, self._database.fitting(query.key), first, last, max(0, query.most)),
            ).fetchall()
        entries = [
            MediaEntry(key=key, step=step, logged_ns=logged_ns, type=kind, data=data)
            for key, step, logged_ns, kind, data in found
        ]
        return entries[::-1] if query.newest else entries

    def delete(self, run: str) -> None:
        """Forget the run."""
        with self._database.write(run) as connection:
            connection.execute("DELETE FROM media WHERE run = ?", (run,))

    def close(self) -> None:
        """Idempotent."""
        self._database.close()
