"""Series as rows of a table: inserted together about once in a second, cut into buckets where they lie."""

import contextlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from holter.errors import StorageError
from holter.storage.clickhouse.binary import literal, literals, pack_rows
from holter.storage.clickhouse.charts import Charts, in_range
from holter.storage.clickhouse.database import ClickHouseDatabase
from holter.storage.clickhouse.pending import COLUMNS, JournalEnd, RunPending
from holter.storage.series import Buckets, Line, Points, SeriesBatch, SeriesInfo, Window

EVERY_S = 1.0
"""How long rows wait for others before they are inserted."""
MOST_PENDING_BYTES = 64 << 20
_POINT = np.dtype([("step", "<i8"), ("at_ns", "<i8"), ("value", "<f8")])
_TABLES = ("points", "series", "journal")


class ClickHouseSeries:
    """The port `SeriesStore`. What waits to be inserted is in the journals, and inserted before it is asked for."""

    def __init__(self, database: ClickHouseDatabase) -> None:
        self._database = database
        self._charts = Charts(database)
        self._lock = threading.RLock()
        self._runs: dict[str, RunPending] = {}
        self._pending_bytes = 0
        self._is_failing = False
        """Whether nothing could be inserted last time: whoever appends next is told."""
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def append(self, batch: SeriesBatch) -> None:
        """Add the rows of a range."""
        with self._lock:
            if self._is_failing or self._pending_bytes > MOST_PENDING_BYTES:
                self._insert()
            self._end_of(batch.run, batch.journal)
            self._pending_bytes += self._runs[batch.run].add(batch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._insert_in_turn, name="holter-clickhouse", daemon=True)
                self._thread.start()

    def offset(self, run: str, journal: str) -> int:
        """From where on the journal must be appended again."""
        with self._lock:
            return self._end_of(run, journal).durable

    def list_series(self, run: str) -> list[SeriesInfo]:
        """All series of a run, by key."""
        self._bring([run])
        rows = self._database.rows(
            "sQqq",
            f"SELECT key, count(), min(step), max(step) FROM {self._points} FINAL WHERE run = {literal(run)}"
            " GROUP BY key ORDER BY key",
        )
        return sorted((SeriesInfo(*cast("tuple[str, int, int, int]", row)) for row in rows), key=lambda info: info.key)

    def count_keys(self, runs: Sequence[str]) -> Mapping[str, int]:
        """Every key, and how many of the runs have it."""
        if not runs:
            return {}
        self._bring(runs)
        rows = self._database.rows(
            "sQ",
            f"SELECT key, uniqExact(run) FROM {self._database.table('series')} WHERE run IN ({literals(runs)})"
            " GROUP BY key",
        )
        return dict(cast("list[tuple[str, int]]", rows))

    def points(
        self, line: Line, *, first: int | None = None, last: int | None = None, most: int | None = None
    ) -> Points:
        """The points of a range of steps."""
        self._bring([line.run])
        ends = [f" AND step >= {in_range(first)}"] if first is not None else []
        ends += [f" AND step <= {in_range(last)}"] if last is not None else []
        data = self._database.query(
            f"SELECT step, at_ns, value FROM {self._points} FINAL"
            f" WHERE run = {literal(line.run)} AND key = {literal(line.key)}{''.join(ends)} ORDER BY step"
            + (f" LIMIT {max(0, most)}" if most is not None else "")
        )
        found = np.frombuffer(data, _POINT)
        return Points(*(np.ascontiguousarray(found[name]) for name in ("step", "at_ns", "value")))

    def buckets(self, lines: Sequence[Line], window: Window) -> list[Buckets]:
        """At most so many buckets for each line."""
        self._bring([line.run for line in lines])
        return self._charts.buckets(lines, window)

    def sync(self, run: str | None = None) -> None:
        """Insert what waits, and forget how far the run has come, or all of them."""
        with self._lock:
            self._insert()
            if run is None:
                self._runs.clear()
            else:
                self._runs.pop(run, None)

    def let_go(self, run: str) -> None:
        """Forget what waits to be inserted."""
        with self._lock:
            self._let_go(run)

    def delete(self, run: str) -> None:
        """Forget the run."""
        with self._lock:
            self._let_go(run)
            self._database.forget(run, _TABLES)

    def close(self) -> None:
        """Idempotent. What could not be inserted stays in the journals."""
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            with contextlib.suppress(StorageError):
                self._insert()
        if self._thread is not None:
            self._thread.join()
        self._database.close()

    def _let_go(self, run: str) -> None:
        if dropped := self._runs.pop(run, None):
            self._pending_bytes -= dropped.size_bytes

    @property
    def _points(self) -> str:
        return self._database.table("points")

    def _end_of(self, run: str, journal: str) -> JournalEnd:
        journals = self._runs.setdefault(run, RunPending()).journals
        if journal not in journals:
            [(found,)] = self._database.rows(
                "Q",
                f"SELECT max(version) FROM {self._database.table('journal')}"
                f" WHERE run = {literal(run)} AND journal = {literal(journal)}",
            )
            journals[journal] = JournalEnd(cast("int", found), cast("int", found))
        return journals[journal]

    def _bring(self, runs: Iterable[str]) -> None:
        """Whoever asks sees what this process was given; where nothing can be inserted, what is there."""
        with self._lock, contextlib.suppress(StorageError):
            if any((found := self._runs.get(run)) is not None and found.is_dirty for run in runs):
                self._insert()

    def _insert(self) -> None:
        """First the rows, then how far the journals are: where we die between the two, the rows come once more."""
        dirty = {run: pending for run, pending in self._runs.items() if pending.is_dirty}
        self._is_failing = True
        if keys := [(run, key, 0) for run, pending in dirty.items() for key in sorted(pending.new_keys)]:
            self._database.insert("series", ("run", "key", "version"), rows=pack_rows("ssQ", keys))
        if parts := [part for pending in dirty.values() for part in pending.parts]:
            self._database.insert("points", COLUMNS, rows=b"".join(parts))
        if ends := [(run, *end) for run, pending in dirty.items() for end in pending.taken().items()]:
            self._database.insert("journal", ("run", "journal", "version"), rows=pack_rows("ssQ", ends))
        for pending in dirty.values():
            self._pending_bytes -= pending.size_bytes
            pending.settle()
        self._is_failing = False

    def _insert_in_turn(self) -> None:
        """Rows of a run that says no more are inserted, too."""
        while not self._closed.wait(EVERY_S):
            # Where nothing can be inserted whoever appends next is told.
            with self._lock, contextlib.suppress(StorageError):
                self._insert()
