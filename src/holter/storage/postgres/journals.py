"""Received journals in PostgreSQL: a range is a row until it is sealed into an object of some MiB, with others of its
run."""

import uuid
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from holter.errors import JournalError, StorageError, UsageError
from holter.journal.rundir import is_journal_id
from holter.storage.journals import Answer, Grown, Held, Part, begins, refusal
from holter.storage.postgres.database import PostgresDatabase
from holter.storage.tables.database import Connection

if TYPE_CHECKING:
    from holter.storage.objects.bucket import Bucket

FOLDER = "received/"
OBJECT_BYTES = 8 << 20
"""No object has much more: a range is not cut."""
DUE_BYTES, DUE_S = 4 << 20, 900
"""It is time to seal a run when so much of it waits, or when some has waited for so long since the last was added."""
AT_ONCE = 64
"""So many parts are one transaction."""
OVERLAP_S = 15.0
"""What was being added while somebody asked for what is new has at most so long until it is seen."""


class _Source(msgspec.Struct):
    """A journal or text: its number, how much there is, and whether that has changed."""

    id: int
    size: int
    is_changed: bool = False


class _SealedElsewhereError(Exception):
    """Another server was quicker, or the run was deleted."""


class _Waiting(NamedTuple):
    """A range that can be sealed."""

    source: int
    start: int
    size: int


class PostgresJournals:
    """The port `JournalStore`.

    Each journal and text is a row, which whoever adds to it locks: so ranges follow on one another without a gap. What
    is sealed is dropped in the transaction that names the object, after the store has it; of two who seal the same, one
    finds that it was done. `objects` is None where there is no store: then all of it stays here.
    """

    def __init__(self, database: PostgresDatabase, objects: "Bucket | None") -> None:
        self._database = database
        self._objects = objects

    def accept_all(self, parts: Sequence[Part]) -> list[Answer]:
        """Keep ranges."""
        answers: list[Answer] = []
        for start in range(0, len(parts), AT_ONCE):
            some = parts[start : start + AT_ONCE]
            try:
                answers += self._accept_some(some)
            except StorageError as error:
                answers += [error] * len(some)
        return answers

    def held(self, run: str) -> Held:
        """How much there is of a run."""
        with self._database.read() as connection:
            found = connection.execute("SELECT name, size FROM received WHERE run = ? AND size > 0", (run,)).fetchall()
        journals = {name: size for name, size in found if is_journal_id(name)}
        return Held(journals, {name: size for name, size in found if name not in journals})

    def read(self, run: str, name: str, *, start: int, stop: int) -> bytes:
        """Bytes of a journal or text."""
        with self._database.read() as connection:
            sealed = connection.execute(
                "SELECT o.object, o.start, o.stop, o.place FROM sealed_range o JOIN received s ON s.id = o.source"
                " WHERE s.run = ? AND s.name = ? AND o.stop > ? AND o.start < ? ORDER BY o.start",
                (run, name, start, stop),
            ).fetchall()
            waiting = connection.execute(
                "SELECT r.start, r.data FROM received_range r JOIN received s ON s.id = r.source"
                # The range that begins before is the only one of them that may reach into it.
                " WHERE s.run = ? AND s.name = ? AND r.start < ? AND r.start >= COALESCE((SELECT MAX(b.start)"
                " FROM received_range b WHERE b.source = s.id AND b.start <= ?), 0) ORDER BY r.start",
                (run, name, stop, start),
            ).fetchall()
        pieces = [self._sealed_bytes(each, start, stop) for each in sealed]
        pieces += [bytes(data)[max(0, start - begin) : max(0, stop - begin)] for begin, data in waiting]
        return b"".join(pieces)

    def grown(self, since_s: float = 0.0) -> Grown:
        """The runs to which something was added."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT run, CAST(SUM(size) AS BIGINT) FROM received WHERE run IN"
                " (SELECT run FROM received WHERE grown_at >= TO_TIMESTAMP(?)) GROUP BY run HAVING SUM(size) > 0",
                (max(0.0, since_s),),
            ).fetchall()
            [[now_s]] = connection.execute("SELECT CAST(EXTRACT(EPOCH FROM NOW()) AS DOUBLE PRECISION)").fetchall()
        return Grown(dict(found), now_s - OVERLAP_S)

    def seal(self, run: str | None = None) -> int:
        """Move ranges into objects."""
        if self._objects is None:
            return 0
        total = 0
        for each in self._due() if run is None else [run]:
            while ranges := self._waiting(each):
                size = self._seal_some(each, ranges, self._objects)
                total += size
                if not size or (run is None and size < DUE_BYTES):  # somebody else was quicker, or the rest can wait
                    break
        return total

    def delete(self, run: str) -> None:
        """Remove all of a run; objects last, with those that nobody came to name."""
        if self._objects is not None:
            self._objects.list(f"{FOLDER}{run}/")  # where the store is away nothing is gone yet
        with self._database.write() as connection:
            connection.execute("DELETE FROM received WHERE run = ?", (run,))
        if self._objects is not None:
            self._objects.remove(*(each.name for each in self._objects.list(f"{FOLDER}{run}/")))

    def close(self) -> None:
        """Idempotent."""
        self._database.close()

    def _accept_some(self, parts: Sequence[Part]) -> list[Answer]:
        answers: list[Answer | None] = [refusal(part) for part in parts]
        good = [place for place, answer in enumerate(answers) if answer is None]
        if good:
            with self._database.write() as connection:
                sources = _lock(connection, [parts[place] for place in good])
                ranges = []
                for place in good:
                    part = parts[place]
                    if (source := sources.get((part.run, part.name))) is None:  # deleted at this moment
                        continue
                    new = _new_of(part, source.size)
                    if isinstance(new, bytes) and new:
                        ranges.append((source.id, source.size, new))
                        source.size += len(new)
                        source.is_changed = True
                    answers[place] = source.size if isinstance(new, bytes) else new
                connection.executemany("INSERT INTO received_range (source, start, data) VALUES (?, ?, ?)", ranges)
                _unlock(connection, [each for each in sources.values() if each.is_changed])
        return [answer if answer is not None else 0 for answer in answers]

    def _due(self) -> list[str]:
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT run FROM received WHERE size > sealed GROUP BY run HAVING SUM(size - sealed) >= ?"
                " OR MAX(grown_at) < NOW() - MAKE_INTERVAL(secs => ?) ORDER BY run",
                (DUE_BYTES, DUE_S),
            )
            return [run for [run] in found.fetchall()]

    def _waiting(self, run: str) -> list[_Waiting]:
        """The next ranges of a run that are an object together."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT source, start, size FROM (SELECT r.source, r.start, LENGTH(r.data) AS size, SUM(LENGTH(r.data))"
                " OVER (ORDER BY s.name, r.start) AS total FROM received_range r JOIN received s ON s.id = r.source"
                " WHERE s.run = ?) AS w WHERE total - size < ? ORDER BY total",
                (run, OBJECT_BYTES),
            )
            return [_Waiting(*row) for row in found.fetchall()]

    def _seal_some(self, run: str, ranges: list[_Waiting], objects: "Bucket") -> int:
        """Make an object of some ranges; returns its size, 0 where somebody else sealed one of them meanwhile."""
        data = b"".join(self._bytes_of(ranges))
        if len(data) != sum(each.size for each in ranges):
            return 0
        name = f"{FOLDER}{run}/{uuid.uuid4().hex}"
        objects.put(name, data)
        if objects.size(name) != len(data):
            raise StorageError(f"the object {name} was written and is not there: nothing is lost, it is tried again")
        try:
            self._name(name, ranges)
        except _SealedElsewhereError:
            objects.remove(name)
            return 0
        return len(data)

    def _bytes_of(self, ranges: list[_Waiting]) -> Iterator[bytes]:
        with self._database.read() as connection:
            for source, some in groupby(ranges, lambda each: each.source):
                places = list(some)
                found = connection.execute(
                    "SELECT data FROM received_range WHERE source = ? AND start BETWEEN ? AND ? ORDER BY start",
                    (source, places[0].start, places[-1].start),
                )
                yield from (bytes(data) for [data] in found)

    def _name(self, name: str, ranges: list[_Waiting]) -> None:
        """Put an object in the place of its ranges. Raises _SealedElsewhereError."""
        at = 0
        with self._database.write() as connection:
            for source, some in groupby(ranges, lambda each: each.source):
                places = list(some)
                start, stop = places[0].start, places[-1].start + places[-1].size
                moved = connection.execute(
                    "UPDATE received SET sealed = ? WHERE id = ? AND sealed = ? RETURNING id", (stop, source, start)
                ).fetchall()
                if not moved:
                    raise _SealedElsewhereError
                connection.execute("DELETE FROM received_range WHERE source = ? AND start < ?", (source, stop))
                connection.execute(
                    "INSERT INTO sealed_range (source, start, stop, object, place) VALUES (?, ?, ?, ?, ?)",
                    (source, start, stop, name, at),
                )
                at += stop - start

    def _sealed_bytes(self, sealed: tuple[str, int, int, int], start: int, stop: int) -> bytes:
        name, begin, end, place = sealed
        if self._objects is None:
            raise UsageError(
                f"{self._database.shown} has journals that were sealed into an object store: give --blobs its URL"
            )
        first, last = max(start, begin), min(stop, end)
        try:
            return self._objects.read(name, start=place + first - begin, stop=place + last - begin)
        except FileNotFoundError:  # deleted meanwhile
            return b""


def _lock(connection: Connection, parts: Sequence[Part]) -> dict[tuple[str, str], _Source]:
    """The sources of parts, made where they are missing, for us alone until the transaction ends."""
    wanted = sorted({(part.run, part.name) for part in parts})
    found = _locked(connection, wanted)
    missing = [each for each in wanted if each not in found]
    if missing:
        connection.executemany(
            "INSERT INTO received (run, name, size, sealed, grown_at) VALUES (?, ?, 0, 0, CLOCK_TIMESTAMP())"
            " ON CONFLICT DO NOTHING",
            missing,
        )
        found |= _locked(connection, missing)
    return found


def _locked(connection: Connection, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], _Source]:
    # Always in the same order, so that no two wait for each other.
    rows = connection.execute(
        "SELECT s.run, s.name, s.id, s.size FROM received s JOIN UNNEST(CAST(? AS TEXT[]), CAST(? AS TEXT[]))"
        " AS w (run, name) ON s.run = w.run AND s.name = w.name ORDER BY s.run, s.name FOR UPDATE OF s",
        ([run for run, _ in wanted], [name for _, name in wanted]),
    )
    return {(run, name): _Source(number, size) for run, name, number, size in rows.fetchall()}


def _unlock(connection: Connection, sources: Sequence[_Source]) -> None:
    connection.executemany(
        "UPDATE received SET size = ?, grown_at = CLOCK_TIMESTAMP() WHERE id = ?",
        [(each.size, each.id) for each in sources],
    )


def _new_of(part: Part, have: int) -> bytes | JournalError:
    """What a part adds to what there is of its source. Pure."""
    if not part.offset <= have < part.offset + len(part.data):
        return b""
    if part.kind == "journal" and not have:
        try:
            if not begins(part.name, part.data):
                return b""
        except JournalError as error:
            return error
    return part.data[have - part.offset :]
