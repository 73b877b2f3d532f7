"""Artifacts that several servers share: books and manifests as rows of PostgreSQL, pieces as objects of a bucket.

A piece is a row that names an object. An object that no piece names yet, or any more, is named among the loose ones
from before it is written until after it is removed: so none is forgotten, whoever dies when. None is written twice.
"""

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from holter.errors import StorageFailing
from holter.storage.postgres.database import Connection, PostgresDatabase

if TYPE_CHECKING:
    from holter.storage.objects.bucket import Bucket

FOLDER = "pieces/"
AT_ONCE = 500
"""So many rows are one statement."""
_WRITERS = 8
_WAIT = "SET LOCAL lock_timeout = '10s'"
_THESE = "= ANY(CAST(? AS TEXT[]))"


class PostgresShelf:
    """The port `Shelf` of `holter.artifacts`."""

    def __init__(self, database: PostgresDatabase, objects: "Bucket") -> None:
        self._database = database
        self._objects = objects
        self._own = threading.local()
        """The connection of a thread that is alone: it waits for no other, which those may have who wait for it."""

    def books(self, project: str | None = None) -> list[bytes]:
        """All of a project, or of all."""
        where, values = ("WHERE project = ?", (self._database.fitting(project),)) if project is not None else ("", ())
        with self._reading() as connection:
            found = connection.execute(f"SELECT data FROM artifact_book {where} ORDER BY project, name", values)
            return [bytes(data) for [data] in found.fetchall()]

    def book(self, project: str, name: str) -> bytes | None:
        """As it is now."""
        with self._database.read() as connection:
            return _book(connection, (self._database.fitting(project), name))

    @contextlib.contextmanager
    def page(self, project: str, name: str) -> Iterator["PostgresPage"]:
        """Open a book: one transaction."""
        place = self._database.fitting(project), name
        with self._database.write("/".join(place)) as connection:
            # Who removes something lets nobody have this lock meanwhile.
            connection.execute("LOCK TABLE artifact_book IN ROW EXCLUSIVE MODE")
            yield PostgresPage(connection, place)

    def manifest(self, digest: str) -> bytes | None:
        """None where it is absent."""
        with self._reading() as connection:
            return _manifest(connection, digest)

    def lacking(self, pieces: Sequence[str]) -> list[str]:
        """Which of them are not there; the others are marked as wanted."""
        with self._database.write() as connection:
            found = connection.execute(
                "UPDATE artifact_piece SET wanted_at = CLOCK_TIMESTAMP() WHERE digest IN"
                # Always in the same order, so that no two wait for each other.
                f" (SELECT digest FROM artifact_piece WHERE digest {_THESE} ORDER BY digest FOR UPDATE)"
                " RETURNING digest",
                (list(pieces),),
            )
            there = {digest for [digest] in found.fetchall()}
        return [piece for piece in dict.fromkeys(pieces) if piece not in there]

    def read(self, piece: str) -> tuple[bytes, bool]:
        """Its bytes as they are kept."""
        for _ in range(2):  # it may have been removed and added again since somebody looked where it is
            with self._database.read() as connection:
                found = connection.execute(
                    "SELECT object, is_compressed FROM artifact_piece WHERE digest = ?", (piece,)
                ).fetchone()
            if found is not None:
                with contextlib.suppress(FileNotFoundError):
                    return self._objects.read(found[0]), bool(found[1])
        raise FileNotFoundError(f"nobody has it in {self._database.shown}")

    def add(self, pieces: Sequence[tuple[str, bytes, bool]]) -> None:
        """Keep pieces: objects first, then the rows that name them."""
        lacking = set(self.lacking([digest for digest, _, _ in pieces]))
        new = {f"{FOLDER}{each[0][:2]}/{each[0]}-{uuid.uuid4().hex}": each for each in pieces if each[0] in lacking}
        names = list(new)
        for start in range(0, len(names), AT_ONCE):
            self._add_some({name: new[name] for name in names[start : start + AT_ONCE]})

    def stored_bytes(self, pieces: Iterable[str]) -> int:
        """What they take in the store."""
        with self._database.read() as connection:
            sql = f"SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM artifact_piece WHERE digest {_THESE}"
            [[total]] = connection.execute(sql, (list(set(pieces)),)).fetchall()
        return int(total)

    @contextlib.contextmanager
    def alone(self) -> Iterator[Callable[[set[str], float], tuple[int, int]]]:
        """While it is held no book is open; of what is removed the objects go when it is let go of."""
        graces: list[float] = []
        with self._database.write() as connection:
            connection.execute(_WAIT)
            connection.execute("LOCK TABLE artifact_book IN SHARE MODE")

            def remove(named: set[str], grace_s: float) -> tuple[int, int]:
                graces.append(grace_s)
                return _remove(connection, named, grace_s)

            self._own.connection = connection
            try:
                yield remove
            finally:
                self._own.connection = None
        for grace_s in graces:
            self._remove_loose(grace_s)

    def close(self) -> None:
        """Idempotent."""
        self._database.close()

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Connection]:
        if (own := getattr(self._own, "connection", None)) is not None:
            yield own
            return
        with self._database.read() as connection:
            yield connection

    def _add_some(self, new: dict[str, tuple[str, bytes, bool]]) -> None:
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO loose_object (object, since) VALUES (?, CLOCK_TIMESTAMP())", [(name,) for name in new]
            )
        with ThreadPoolExecutor(_WRITERS) as pool:
            list(pool.map(lambda item: self._objects.put(item[0], item[1][1]), new.items()))
        with self._database.write() as connection:
            ours = _taken(connection, list(new))
            # In order, so that no two wait for each other.
            rows = sorted((new[name][0], name, len(new[name][1]), new[name][2]) for name in ours)
            columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
            found = connection.execute(
                "INSERT INTO artifact_piece (digest, object, size, is_compressed, wanted_at)"
                " SELECT *, CLOCK_TIMESTAMP() FROM UNNEST(CAST(? AS TEXT[]), CAST(? AS TEXT[]), CAST(? AS BIGINT[]),"
                " CAST(? AS BOOLEAN[])) ON CONFLICT (digest) DO UPDATE SET wanted_at = CLOCK_TIMESTAMP()"
                " RETURNING object",
                columns,
            )
            named = {name for [name] in found.fetchall()}
            # Somebody else was quicker with the same piece: nobody names ours.
            _loosen(connection, [name for name in ours if name not in named])
        if len(ours) < len(new):
            raise StorageFailing(
                f"pieces took so long to {self._objects.shown} that they were removed as left over: send them again"
            )

    def _remove_loose(self, grace_s: float) -> None:
        """Remove objects that nobody names: first they are claimed, so that nobody will."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE loose_object SET since = '-infinity'"
                " WHERE since <= CLOCK_TIMESTAMP() - MAKE_INTERVAL(secs => ?)",
                (grace_s,),
            )
        while True:
            with self._database.read() as connection:
                sql = "SELECT object FROM loose_object WHERE since = '-infinity' ORDER BY object LIMIT ?"
                names = [name for [name] in connection.execute(sql, (AT_ONCE,)).fetchall()]
            if not names:
                return
            self._objects.remove(*names)
            with self._database.write() as connection:
                connection.execute(f"DELETE FROM loose_object WHERE object {_THESE}", (names,))


class PostgresPage:
    """The port `Page`: nothing of it is seen before its transaction ends."""

    def __init__(self, connection: Connection, place: tuple[str, str]) -> None:
        self._connection = connection
        self._place = place
        self.before = _book(connection, place)

    def manifest(self, digest: str) -> bytes | None:
        """None where it is absent."""
        return _manifest(self._connection, digest)

    def lacking(self, pieces: Sequence[str]) -> list[str]:
        """Which of them are not there."""
        sql = f"SELECT digest FROM artifact_piece WHERE digest {_THESE}"
        there = {digest for [digest] in self._connection.execute(sql, (list(pieces),)).fetchall()}
        return [piece for piece in dict.fromkeys(pieces) if piece not in there]

    def keep_manifest(self, digest: str, data: bytes) -> None:
        """Keep a manifest, or replace it."""
        self._connection.execute(
            "INSERT INTO artifact_manifest (digest, data) VALUES (?, ?)"
            " ON CONFLICT (digest) DO UPDATE SET data = excluded.data",
            (digest, data),
        )

    def keep(self, book: bytes) -> None:
        """Replace the book."""
        self._connection.execute(
            "INSERT INTO artifact_book (project, name, data) VALUES (?, ?, ?)"
            " ON CONFLICT (project, name) DO UPDATE SET data = excluded.data",
            (*self._place, book),
        )


def _book(connection: Connection, place: tuple[str, str]) -> bytes | None:
    found = connection.execute("SELECT data FROM artifact_book WHERE project = ? AND name = ?", place).fetchone()
    return bytes(found[0]) if found is not None else None


def _manifest(connection: Connection, digest: str) -> bytes | None:
    found = connection.execute("SELECT data FROM artifact_manifest WHERE digest = ?", (digest,)).fetchone()
    return bytes(found[0]) if found is not None else None


def _remove(connection: Connection, named: set[str], grace_s: float) -> tuple[int, int]:
    found = connection.execute("SELECT digest, LENGTH(data) FROM artifact_manifest").fetchall()
    gone = [(digest, size) for digest, size in found if digest not in named]
    count, freed = len(gone), sum(size for _, size in gone)
    connection.execute(f"DELETE FROM artifact_manifest WHERE digest {_THESE}", ([digest for digest, _ in gone],))
    is_old = "wanted_at <= CLOCK_TIMESTAMP() - MAKE_INTERVAL(secs => ?)"
    old = connection.execute(f"SELECT digest FROM artifact_piece WHERE {is_old} ORDER BY digest", (grace_s,)).fetchall()
    left = [digest for [digest] in old if digest not in named]
    for start in range(0, len(left), AT_ONCE):
        removed = connection.execute(
            # Somebody may want one of them since.
            f"DELETE FROM artifact_piece WHERE digest {_THESE} AND {is_old} RETURNING object, size",
            (left[start : start + AT_ONCE], grace_s),
        ).fetchall()
        _loosen(connection, [name for name, _ in removed])
        count, freed = count + len(removed), freed + sum(size for _, size in removed)
    return count, freed


def _taken(connection: Connection, names: list[str]) -> list[str]:
    """Those that are loose and not claimed by who removes them; now they are not loose any more."""
    sql = f"DELETE FROM loose_object WHERE object {_THESE} AND since > '-infinity' RETURNING object"
    return [name for [name] in connection.execute(sql, (names,)).fetchall()]


def _loosen(connection: Connection, names: list[str]) -> None:
    """Have objects removed with the next collection."""
    connection.executemany(
        "INSERT INTO loose_object (object, since) VALUES (?, '-infinity')", [(name,) for name in names]
    )
