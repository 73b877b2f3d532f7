"""Series in tables: sealed chunks, and tails in memory that the journals can give back."""

import threading
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from holter.errors import OffsetGap
from holter.storage.bucketing import cut_into_buckets
from holter.storage.merging import Writes, concatenate, settle_writes
from holter.storage.series import Buckets, Line, Points, SeriesBatch, SeriesInfo, Window
from holter.storage.tables.database import Database, marks
from holter.storage.tables.reading import Reader
from holter.storage.tables.sealed_offsets import SealedOffsets, Taken
from holter.storage.tables.sealing import CHUNK, Sealer
from holter.storage.tables.tails import JournalTails, Tail, together

# A key that is logged once in an hour must not make us read hours of a journal again: this is as far as we go back.
MOST_REPLAYED = 8 << 20
# With thousands of living runs, the longest tails are sealed before they are full.
MOST_TAIL_BYTES = 192 << 20

Tails = dict[str, JournalTails]


class SeriesTables:
    """The port `SeriesStore`. Every process has tails of its own; what is sealed once is sealed for all."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.RLock()
        self._runs: dict[str, Tails] = {}
        self._tail_bytes = 0

    def append(self, batch: SeriesBatch) -> None:
        """Add the rows of a range."""
        batch = self._fitting(batch)
        with self._lock:
            journal = self._journal(batch.run, batch.journal)
            if batch.start > journal.end:
                text = f"journal {batch.journal} has come to offset {journal.end}, the batch begins at {batch.start}"
                raise OffsetGap(text, journal.end)
            if batch.stop > journal.end:
                touched = self._add(journal, batch)
                journal.end = batch.stop
                self._seal(journal, journal.due(touched, most_replayed=MOST_REPLAYED))
            if self._tail_bytes > MOST_TAIL_BYTES:
                self._seal_longest()

    def offset(self, run: str, journal: str) -> int:
        """From where on the journal must be appended again if this process died now."""
        with self._lock:
            return self._journal(run, journal).durable

    def list_series(self, run: str) -> list[SeriesInfo]:
        """All series of a run, by key."""
        snapshot = self._snapshot_all(run)
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT s.key, CAST(SUM(c.points) AS BIGINT), MIN(c.first), MAX(c.last)"
                " FROM series s JOIN chunk c ON c.series = s.id WHERE s.run = ? GROUP BY s.id",
                (run,),
            ).fetchall()
            infos = {row[0]: SeriesInfo(*row) for row in rows}
            sealed = SealedOffsets(connection, run)
            for key, taken in snapshot.items():
                if found := sealed.left_of(taken):
                    infos[key] = _with_tail(infos.get(key), Reader(connection, Line(run, key), unsealed=found), found)
        return sorted(infos.values(), key=lambda info: info.key)

    def count_keys(self, runs: Sequence[str]) -> Mapping[str, int]:
        """Every key, and how many of the runs have it."""
        found = {run: self._unsealed_keys(run) for run in runs}
        open_runs = [run for run, keys in found.items() if keys]
        with self._database.read() as connection:
            # Of most runs there is nothing in memory: the database counts those, in one go.
            settled = [run for run, keys in found.items() if not keys]
            sql = f"SELECT key, COUNT(*) FROM series WHERE run IN ({marks(len(settled))}) GROUP BY key"
            counts = Counter(dict(connection.execute(sql, settled).fetchall() if settled else ()))
            for run in open_runs:
                rows = connection.execute("SELECT key FROM series WHERE run = ?", (run,)).fetchall()
                counts.update(found[run] | {key for [key] in rows})
        return counts

    def points(
        self, line: Line, *, first: int | None = None, last: int | None = None, most: int | None = None
    ) -> Points:
        """The points of a range of steps."""
        line = self._named(line)
        taken = self._snapshot(line)
        with self._database.read() as connection:
            unsealed = SealedOffsets(connection, line.run).left_of(taken) if taken else []
            return Reader(connection, line, unsealed=unsealed).points(first, last, most=most)

    def buckets(self, lines: Sequence[Line], window: Window) -> list[Buckets]:
        """At most so many buckets for each line."""
        lines = [self._named(line) for line in lines]
        # Tails first: what is sealed between the two looks is found in the file, and passed over here.
        snapshots = [self._snapshot(line) for line in lines]
        with self._database.read() as connection:
            sealed = {run: SealedOffsets(connection, run) for run in {line.run for line in lines}}
            found = []
            for line, taken in zip(lines, snapshots, strict=True):
                unsealed = sealed[line.run].left_of(taken) if taken else []
                spans = Reader(connection, line, unsealed=unsealed).spans(window)
                found.append(cut_into_buckets(spans, window.buckets, first=window.first, last=window.last))
            return found

    def sync(self, run: str | None = None) -> None:
        """Seal all tails of a run, or of all."""
        with self._lock:
            for each in [run] if run is not None else list(self._runs):
                for journal in self._runs.get(each, {}).values():
                    self._seal(journal, list(journal.tails.values()), is_forced=True)
                self._forget(each)

    def let_go(self, run: str) -> None:
        """Forget the tails of a run."""
        with self._lock:
            self._forget(run)

    def delete(self, run: str) -> None:
        """Forget the run."""
        with self._lock:
            self._forget(run)
            with self._database.write(run) as connection:
                of_run = "SELECT id FROM series WHERE run = ?"
                axes = connection.execute(
                    f"SELECT DISTINCT axis FROM chunk WHERE series IN ({of_run})", (run,)
                ).fetchall()
                connection.execute(
                    f"DELETE FROM pyramid WHERE chunk IN (SELECT id FROM chunk WHERE series IN ({of_run}))", (run,)
                )
                connection.execute(f"DELETE FROM chunk WHERE series IN ({of_run})", (run,))
                connection.executemany("DELETE FROM axis WHERE id = ?", axes)
                connection.execute("DELETE FROM series WHERE run = ?", (run,))
                connection.execute("DELETE FROM sealed WHERE journal IN (SELECT id FROM journal WHERE run = ?)", (run,))
                connection.execute("DELETE FROM journal WHERE run = ?", (run,))

    def close(self) -> None:
        """Idempotent. What is in tails stays in the journals."""
        self._database.close()

    def _fitting(self, batch: SeriesBatch) -> SeriesBatch:
        keys = [tuple(map(self._database.fitting, rows.keys)) for rows in batch.rows]
        if all(one == rows.keys for one, rows in zip(keys, batch.rows, strict=True)):
            return batch
        rows = [msgspec.structs.replace(each, keys=one) for one, each in zip(keys, batch.rows, strict=True)]
        return msgspec.structs.replace(batch, rows=tuple(rows))

    def _named(self, line: Line) -> Line:
        key = self._database.fitting(line.key)
        return line if key == line.key else msgspec.structs.replace(line, key=key)

    def _journal(self, run: str, journal: str) -> JournalTails:
        tails = self._runs.setdefault(run, {})
        if journal not in tails:
            with self._database.read() as connection:
                found = connection.execute(
                    "SELECT id, replay_from FROM journal WHERE run = ? AND journal = ?", (run, journal)
                ).fetchone()
            tails[journal] = JournalTails(run, journal, end=found[1] if found else 0)
        return tails[journal]

    def _add(self, journal: JournalTails, batch: SeriesBatch) -> list[Tail]:
        touched = []
        for rows in batch.rows:
            tail = journal.tails.get(rows.keys)
            if tail is None:
                tail = journal.tails[rows.keys] = self._new_tail(journal, rows.keys)
            before = tail.size_bytes
            tail.add(rows, journal.end)
            self._tail_bytes += tail.size_bytes - before
            touched.append(tail)
        return touched

    def _new_tail(self, journal: JournalTails, keys: tuple[str, ...]) -> Tail:
        # Runs that were started together shall not all seal in the same moment.
        phase = zlib.crc32(f"{journal.journal}{keys}".encode("utf-8", "surrogatepass")) % (CHUNK // 2)
        tail = Tail(journal.journal, keys, sealed=0, limit=CHUNK // 2 + phase)
        self._tail_bytes += tail.size_bytes
        with self._database.read() as connection:
            tail.sealed = SealedOffsets(connection, journal.run).up_to(tail.journal, tail.digest)
        return tail

    def _seal(self, journal: JournalTails, due: list[Tail], *, is_forced: bool = False) -> None:
        """Seal tails, and what goes with them, in one transaction."""
        if not due and not (is_forced and journal.end > journal.durable):
            return
        tails = journal.with_loose(due)
        up_to = {tail.digest: tail.next_offset for tail in tails}
        replay_from = journal.replay_from(tails)
        with self._database.write(journal.run) as connection:
            sealer = Sealer(connection, journal.run)
            number = sealer.journal_number(journal.journal)
            # Another process may have sealed some of it.
            sealed = SealedOffsets(connection, journal.run)
            for keys, writes in together(tails, sealed.of(journal.journal), default=sealed.start(journal.journal)):
                sealer.seal(keys, writes)
            sealer.finish()
            sealed.advance(number, up_to, replay_from=replay_from)
        for tail in tails:
            before = tail.size_bytes
            tail.drop(up_to[tail.digest])
            tail.limit = CHUNK
            self._tail_bytes += tail.size_bytes - before
        journal.durable = max(journal.durable, replay_from)

    def _seal_longest(self) -> None:
        tails = [
            (tail.size_bytes, journal, tail)
            for journals in self._runs.values()
            for journal in journals.values()
            for tail in journal.tails.values()
            if tail.count
        ]
        tails.sort(key=lambda each: -each[0])
        longest: dict[JournalTails, list[Tail]] = {}
        for _, journal, tail in tails[: max(1, len(tails) // 8)]:
            longest.setdefault(journal, []).append(tail)
        for journal, due in longest.items():
            self._seal(journal, due)

    def _forget(self, run: str) -> None:
        """Drop the tails of a run from memory."""
        self._tail_bytes -= sum(journal.size_bytes() for journal in self._runs.pop(run, {}).values())

    def _snapshot(self, line: Line) -> list[Taken]:
        with self._lock:
            tails = [tail for journal in self._runs.get(line.run, {}).values() for tail in journal.tails.values()]
            return [Taken(tail.journal, tail.digest, writes) for tail in tails if (writes := tail.writes_of(line.key))]

    def _unsealed_keys(self, run: str) -> set[str]:
        with self._lock:
            tails = [tail for journal in self._runs.get(run, {}).values() for tail in journal.tails.values()]
            return {key for tail in tails if tail.count for key in tail.keys}

    def _snapshot_all(self, run: str) -> dict[str, list[Taken]]:
        found: dict[str, list[Taken]] = {}
        with self._lock:
            for journal in self._runs.get(run, {}).values():
                for tail in journal.tails.values():
                    for key in tail.keys:
                        if writes := tail.writes_of(key):
                            found.setdefault(key, []).append(Taken(tail.journal, tail.digest, writes))
        return found


def _with_tail(info: SeriesInfo | None, reader: Reader, unsealed: list[Writes]) -> SeriesInfo:
    """What there is of a series, with the points in memory."""
    tail = settle_writes(concatenate(unsealed))
    first, last, key = int(tail.steps[0]), int(tail.steps[-1]), reader.key
    if info is None:
        return SeriesInfo(key, len(tail.steps), first, last)
    if first > info.last_step:
        return SeriesInfo(key, info.points + len(tail.steps), info.first_step, last)
    steps = reader.points(None, None).steps
    return SeriesInfo(key, len(steps), int(steps[0]), int(steps[-1]))
