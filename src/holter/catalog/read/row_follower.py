"""Reads a run's rows while they are being written: the last ones first, then each new one once."""

from collections import deque
from functools import partial

import msgspec

from holter.catalog.read.loaded_run import MAIN, PROGRAM
from holter.journal.decoding import LoggedRow, Told
from holter.journal.digest import GrowingDigest
from holter.journal.rundir import list_segments, segments_of
from holter.model.record import Record
from holter.probes.identity import is_alive, writer_of


class Heard(msgspec.Struct):
    """What was read at one time: rows of the program in the order of their times, and the records of all writers."""

    rows: list[LoggedRow] = []
    records: list[Record] = []


class RunFollower:
    """Follows every journal of a run's directory, also those that appear later. Used by one thread."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._journals: dict[str, GrowingDigest] = {}

    def last(self, count: int) -> list[LoggedRow]:
        """The last rows that are there now; `hear` goes on behind them. Raises NewerJournal, OSError."""
        rows = []
        for journal, paths in list_segments(self._directory).items():
            rows += self._last_of(journal, paths, count)
        return sorted(rows, key=lambda row: row.at_ns)[-count:] if count else []

    def hear(self, *, is_final: bool = False) -> Heard:
        """All that was added since the last call; the last of it where nobody adds any more.

        Raises NewerJournal, OSError.
        """
        heard = Heard()
        for journal, paths in list_segments(self._directory).items():
            growing = self._journals.get(journal) or self._begin(journal)
            for told in growing.read(paths, is_final=is_final):
                heard.records += [record for _, record in told.records]
                heard.rows += _rows(growing, told)
        heard.rows.sort(key=lambda row: row.at_ns)
        return heard

    def has_dead_process(self) -> bool:
        """Whether a process is gone whose end may be the run's."""
        found = [each.digest.opened for each in self._journals.values() if each.digest is not None]
        return any(each.writer in MAIN and is_alive(writer_of(each)) is False for each in found)

    def _begin(self, journal: str) -> GrowingDigest:
        self._journals[journal] = GrowingDigest(journal, partial(segments_of, self._directory, journal))
        return self._journals[journal]

    def _last_of(self, journal: str, paths: list[str], count: int) -> list[LoggedRow]:
        """From as few of its segments as have so many."""
        behind = 1
        while True:
            growing, rows = self._begin(journal), deque[LoggedRow](maxlen=count)
            growing.place.start(paths[: max(1, len(paths) - behind + 1)])
            for told in growing.read(paths):
                rows += _rows(growing, told, most=count)
            if len(rows) >= count or behind >= len(paths):
                return list(rows)
            behind *= 2


def _rows(growing: GrowingDigest, told: Told, *, most: int | None = None) -> list[LoggedRow]:
    """None of a sidecar's."""
    if growing.digest is None or growing.digest.opened.writer not in PROGRAM:
        return []
    return [row for _, row in told.rows(most)]
