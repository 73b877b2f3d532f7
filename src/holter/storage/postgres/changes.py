"""Changes of runs as rows of PostgreSQL: the newest of each kind, numbered by the transactions that wrote them.

Transactions are not seen in the order of their numbers. But those before the oldest one that still runs are all there:
that is the number up to which all is known, in any session and through any pooler. NOTIFY only wakes.

Numbers that the database has not reached yet came with a dump of another one: they mean nothing here.
"""

import contextlib
import threading
import uuid
from collections.abc import Collection, Mapping, Sequence

import psycopg

from holter.storage.changes import Change, Told, Woken
from holter.storage.postgres.database import PostgresDatabase

CHANNEL, GROWN = "holter", "grown"
RETRY_S = 5.0
SAID_S = 7 * 86400.0
"""So long it is known what was said."""
SAYS_S, LATE_S = 30.0, 3600.0
"""Whoever says something and is not heard of for so long is dead; what has waited longer is no news any more."""
_OURS = "CAST(CAST(PG_CURRENT_XACT_ID() AS TEXT) AS BIGINT)"
_SOON = "CLOCK_TIMESTAMP() + MAKE_INTERVAL(secs => ?)"
_THESE = "= ANY(CAST(? AS TEXT[]))"
_KNOWN = "CAST(CAST(PG_SNAPSHOT_XMIN(PG_CURRENT_SNAPSHOT()) AS TEXT) AS BIGINT) - 1"

_NEXT = "CAST(CAST(PG_SNAPSHOT_XMAX(PG_CURRENT_SNAPSHOT()) AS TEXT) AS BIGINT)"


class PostgresChanges:
    """The port `ChangeStore`."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._channel = f"{CHANNEL}_{database.schema}"
        self._name = uuid.uuid4().hex
        self._listening: psycopg.Connection[tuple[object, ...]] | None = None
        self._is_closed = threading.Event()

    def tell(self, changes: Sequence[Change], *, has_grown: bool = False) -> None:
        """Keep changes."""
        # Always in the same order, so that no two servers wait for each other.
        rows = sorted((each.kind, each.about, each.run, each.project, each.user, each.data) for each in changes)
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO change (kind, about, run, project, for_user, data, seq, changed_at)"
                f" VALUES (?, ?, ?, ?, ?, ?, {_OURS}, CLOCK_TIMESTAMP()) ON CONFLICT (kind, about) DO UPDATE SET"
                " project = excluded.project, data = excluded.data, seq = excluded.seq,"
                " changed_at = excluded.changed_at",
                rows,
            )
            said = f"{self._name} {GROWN if has_grown else ''}"
            connection.execute("SELECT PG_NOTIFY(?, ?)", (self._channel, said))

    def since(self, seq: int, *, most: int) -> Told:
        """What is newer than a number."""
        with self._database.read() as connection:
            [[known, forgotten]] = connection.execute(
                f"SELECT {_KNOWN}, (SELECT COALESCE(MAX(up_to), 0) FROM forgotten_change WHERE up_to < {_NEXT})"
            ).fetchall()
            found = connection.execute(
                "SELECT seq, kind, run, project, data, for_user FROM change"
                f" WHERE seq > ? AND seq < {_NEXT} ORDER BY seq DESC LIMIT ?",
                (seq, most + 1),
            ).fetchall()
        changes = [
            Change(number, kind, run, project, bytes(data), user) for number, kind, run, project, data, user in found
        ]
        if len(changes) > most:
            forgotten = max(forgotten, changes.pop().seq)
        return Told(changes[::-1], known, forgotten)

    def is_first(self, word: str, data: bytes) -> bool:
        """Whether nobody has said this before. What earlier versions have said has neither data nor `until`."""
        with self._database.write() as connection:
            sql = (
                f"INSERT INTO said_once (word, said_at, data, until) VALUES (?, CLOCK_TIMESTAMP(), ?, {_SOON})"
                " ON CONFLICT DO NOTHING RETURNING 1"
            )
            return connection.execute(sql, (word, data, SAYS_S)).fetchone() is not None

    def unsaid(self, said: Collection[str], saying: Collection[str], *, most: int) -> Mapping[str, bytes]:
        """What nobody says any more."""
        with self._database.write("unsaid") as connection:
            connection.execute(f"UPDATE said_once SET data = NULL, until = NULL WHERE word {_THESE}", (list(said),))
            connection.execute(
                f"UPDATE said_once SET until = {_SOON} WHERE word {_THESE} AND until IS NOT NULL",
                (SAYS_S, list(saying)),
            )
            found = connection.execute(
                f"UPDATE said_once SET until = {_SOON} WHERE word IN (SELECT word FROM said_once"
                " WHERE until < CLOCK_TIMESTAMP() AND said_at > CLOCK_TIMESTAMP() - MAKE_INTERVAL(secs => ?)"
                " ORDER BY said_at LIMIT ?) RETURNING word, data",
                (SAYS_S, LATE_S, most),
            )
            return {word: bytes(data) for word, data in found.fetchall()}

    def forget(self, older_s: float) -> None:
        """Let go of what nobody can want any more."""
        with self._database.write("forgotten changes") as connection:
            connection.execute(
                "DELETE FROM said_once WHERE said_at < CLOCK_TIMESTAMP() - MAKE_INTERVAL(secs => ?)", (SAID_S,)
            )
            connection.execute(
                "WITH gone AS (DELETE FROM change WHERE changed_at < CLOCK_TIMESTAMP() - MAKE_INTERVAL(secs => ?)"
                " RETURNING seq) INSERT INTO forgotten_change (id, up_to) SELECT 1, MAX(seq) FROM gone"
                f" WHERE seq < {_NEXT} HAVING COUNT(*) > 0 ON CONFLICT (id) DO UPDATE SET up_to = CASE"
                f" WHEN forgotten_change.up_to < {_NEXT} THEN GREATEST(forgotten_change.up_to, excluded.up_to)"
                " ELSE excluded.up_to END",
                (older_s,),
            )

    def wait(self, within_s: float) -> Woken:
        """Until another server has told something."""
        try:
            if self._listening is None:
                self._listening = self._database.connect()
                self._listening.execute(f"LISTEN {self._channel}".encode())
            found = [each.payload.split(" ") for each in self._listening.notifies(timeout=within_s, stop_after=1)]
        except psycopg.Error:
            self._stop_listening()
            self._is_closed.wait(RETRY_S)
            return Woken()
        others = [word for name, word in found if name != self._name]
        return Woken(bool(others), GROWN in others)

    def close(self) -> None:
        """Idempotent."""
        self._is_closed.set()
        self._stop_listening()
        self._database.close()

    def _stop_listening(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            with contextlib.suppress(psycopg.Error):
                listening.close()
