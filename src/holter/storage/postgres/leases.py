"""Leases as rows of PostgreSQL: one for each run, and one for each server, which says that it lives."""

from collections.abc import Mapping

from holter.storage.leases import DEAD_S, Standing
from holter.storage.postgres.database import PostgresDatabase

KEPT_S = 3600.0
"""A server that has died is forgotten after so long."""
_LIVES = "s.beat_at > CLOCK_TIMESTAMP() - MAKE_INTERVAL(secs => ?)"


class PostgresLeases:
    """The port `LeaseStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def beat(self, server: str) -> Standing:
        """Say that a server lives."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO server (id, beat_at) VALUES (?, CLOCK_TIMESTAMP())"
                " ON CONFLICT (id) DO UPDATE SET beat_at = CLOCK_TIMESTAMP()",
                (server,),
            )
            connection.execute(
                "DELETE FROM server WHERE beat_at < CLOCK_TIMESTAMP() - MAKE_INTERVAL(secs => ?)", (KEPT_S,)
            )
            leases = connection.execute(
                f"SELECT l.run, l.server, l.number, COALESCE({_LIVES}, FALSE) FROM lease l"
                " LEFT JOIN server s ON s.id = l.server WHERE l.is_open",
                (DEAD_S,),
            ).fetchall()
            [[servers]] = connection.execute(f"SELECT COUNT(*) FROM server s WHERE {_LIVES}", (DEAD_S,)).fetchall()
        return Standing(
            ours={run: number for run, whose, number, _ in leases if whose == server},
            others={run for run, whose, _, _ in leases if whose != server},
            left=[run for run, whose, _, _ in leases if not whose],
            orphaned=[run for run, whose, _, lives in leases if whose not in ("", server) and not lives],
            servers=servers,
        )

    def take(self, server: str, sizes: Mapping[str, int], *, dead_s: float = DEAD_S) -> Mapping[str, int]:
        """The numbers of those runs that are the server's from now on."""
        with self._database.write() as connection:
            # Whoever others count as dead may take nothing: they would take it at once.
            heard = connection.execute(f"SELECT 1 FROM server s WHERE id = ? AND {_LIVES}", (server, DEAD_S)).fetchone()
            if heard is None:
                return {}
            found = connection.execute(
                "INSERT INTO lease (run, server, number, is_open, size) SELECT w.run, ?, 1, TRUE, w.size"
                " FROM UNNEST(CAST(? AS TEXT[]), CAST(? AS BIGINT[])) AS w (run, size) ORDER BY w.run"
                " ON CONFLICT (run) DO UPDATE SET server = excluded.server, number = lease.number + 1,"
                " is_open = TRUE, size = lease.size"
                " WHERE CASE WHEN lease.is_open THEN lease.server <> excluded.server AND NOT EXISTS"
                f" (SELECT 1 FROM server s WHERE s.id = lease.server AND {_LIVES})"
                " ELSE lease.size < excluded.size END RETURNING run, number",
                (server, list(sizes), list(sizes.values()), dead_s),
            )
            return dict(found.fetchall())

    def settle(self, server: str, sizes: Mapping[str, int]) -> None:
        """So many bytes are digested."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE lease SET is_open = FALSE, size = w.size"
                " FROM UNNEST(CAST(? AS TEXT[]), CAST(? AS BIGINT[])) AS w (run, size)"
                " WHERE lease.run = w.run AND lease.server = ?",
                (list(sizes), list(sizes.values()), server),
            )

    def leave(self, server: str) -> None:
        """What is the server's is anybody's now."""
        with self._database.write() as connection:
            connection.execute("UPDATE lease SET server = '' WHERE server = ? AND is_open", (server,))
            connection.execute("DELETE FROM server WHERE id = ?", (server,))

    def forget(self, run: str) -> None:
        """The run is deleted."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM lease WHERE run = ?", (run,))

    def close(self) -> None:
        """Idempotent."""
        self._database.close()
