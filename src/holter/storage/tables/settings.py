"""Settings in a table: a row for each owner in each project."""

import msgspec

from holter.storage.settings import Changes, Sets, merged
from holter.storage.tables.database import Connection, Database

_decode = msgspec.json.Decoder(Sets).decode


class SettingsTable:
    """The port `SettingStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, project: str, owner: str) -> Sets:
        """All sets of an owner in a project."""
        with self._database.read() as connection:
            return self._get(connection, project, owner)

    def owners(self) -> list[tuple[str, str]]:
        """All who have set something."""
        with self._database.read() as connection:
            found = connection.execute("SELECT project, owner FROM setting ORDER BY project, owner").fetchall()
            return [(project, owner) for project, owner in found]

    def merge(self, project: str, owner: str, *, changes: Changes) -> Sets:
        """Change some settings."""
        with self._database.write(f"{project} {owner}") as connection:
            before = self._get(connection, project, owner)
            sets = merged(before, changes)
            if sets != before:
                connection.execute(
                    "INSERT INTO setting (project, owner, sets) VALUES (?, ?, ?)"
                    " ON CONFLICT (project, owner) DO UPDATE SET sets = excluded.sets",
                    (self._database.fitting(project), self._database.fitting(owner), msgspec.json.encode(sets)),
                )
            return sets

    def close(self) -> None:
        """Idempotent."""
        self._database.close()

    def _get(self, connection: Connection, project: str, owner: str, /) -> Sets:
        found = connection.execute(
            "SELECT sets FROM setting WHERE project = ? AND owner = ?",
            (self._database.fitting(project), self._database.fitting(owner)),
        ).fetchone()
        return _decode(found[0]) if found else {}
