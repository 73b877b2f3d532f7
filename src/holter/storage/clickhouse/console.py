"""Console and events as rows of a table; a transcript's state is inserted together with its lines."""

from collections.abc import Iterator, Sequence
from typing import cast

from holter.errors import OffsetGap
from holter.storage.clickhouse.binary import literal, literals, pack_rows
from holter.storage.clickhouse.database import ClickHouseDatabase
from holter.storage.console import ConsoleBatch, ConsoleLine, ConsoleRange, Event, Gap
from holter.storage.lines import decode_fields, encode_event, fits
from holter.storage.matching import ascii_lower

_STATE, _LINE, _GAP = 0, 1, 2
_COLUMNS = ("run", "transcript", "kind", "number", "at_ns", "stream", "text", "lines", "size", "version")
_EVENT_COLUMNS = ("run", "digest", "at_ns", "journal", "offset", "kind", "fields", "version")
_TABLES = ("console", "event")
_AT_ONCE = 1000
"""Lines that are looked through for a text before the next ones are asked for."""


class ClickHouseConsole:
    """The port `ConsoleStore`."""

    def __init__(self, database: ClickHouseDatabase) -> None:
        self._database = database

    def append(self, batch: ConsoleBatch) -> None:
        """Add lines. Of two processes that add the same at once the second one changes nothing."""
        offset, count, _, _, version = self._state(batch.run, batch.transcript) or (0, 0, "", 0, 0)
        if batch.stop < offset or (batch.stop == offset and batch.start < offset):
            return
        if batch.start != offset:
            raise OffsetGap(f"the console of {batch.run} has come to {offset}, not {batch.start}", offset)
        first, place = max(count, batch.first or 0), (batch.run, batch.transcript)
        version += 1
        last_ns = batch.lines[-1][0] if batch.lines else 0
        rows: list[tuple[object, ...]] = [
            (*place, _LINE, number, at_ns, stream, text, 0, 0, version)
            for number, (at_ns, stream, text) in enumerate(batch.lines, first)
        ]
        if batch.missed:
            rows.append((*place, _GAP, count, 0, 0, "", first - count, batch.missed, version))
        lines = first + len(batch.lines)
        rows.append((*place, _STATE, 0, last_ns, 0, batch.rest, lines, batch.stop, version))
        self._database.insert("console", _COLUMNS, rows=pack_rows("ssBqqBsqqQ", rows))

    def transcripts(self, run: str) -> dict[str, int]:
        """The byte offset of each transcript."""
        rows = self._database.rows(
            "sq", f"SELECT transcript, size FROM {self._console} FINAL WHERE run = {literal(run)} AND kind = {_STATE}"
        )
        return dict(cast("list[tuple[str, int]]", rows))

    def lines(self, run: str, transcript: str, *, wanted: ConsoleRange) -> list[ConsoleLine]:
        """Lines in order."""
        state = self._state(run, transcript)
        if state is None or wanted.count <= 0:
            return []
        # What comes meanwhile is not looked at: the line that is not ended yet would be there twice.
        _, count, rest, rest_ns, _ = state
        ending = [ConsoleLine(count, rest_ns, 3, rest)] if rest else []
        ending = [line for line in ending if fits(line, wanted)]
        where = _of(run, transcript, _LINE)
        found: list[ConsoleLine] = []
        if wanted.start is None:
            for line in self._backwards(where, count, wanted=wanted):
                if len(found) + len(ending) >= wanted.count:
                    break
                found.append(line)
            return [*found[::-1], *ending]
        for line in self._forwards(where, count, wanted=wanted):
            if len(found) == wanted.count:
                break
            found.append(line)
        ending = [line for line in ending if line.number >= wanted.start]
        return [*found, *ending][: wanted.count]

    def gaps(self, run: str, transcript: str) -> list[Gap]:
        """What was not kept."""
        rows = self._database.rows(
            "qqq",
            f"SELECT number, lines, size FROM {self._console} FINAL WHERE {_of(run, transcript, _GAP)} ORDER BY number",
        )
        return [Gap(*cast("tuple[int, int, int]", row)) for row in rows]

    def add_events(self, run: str, events: Sequence[Event]) -> None:
        """Keep events: of those that are the same the one that was said first."""
        rows = []
        for event in events:
            digest, fields = encode_event(event)
            last = (1 << 63) - 1 - event.offset
            rows.append((run, digest, event.at_ns, event.journal, event.offset, event.kind, fields, last))
        if rows:
            self._database.insert("event", _EVENT_COLUMNS, rows=pack_rows("sfqsqsbQ", rows))

    def events(self, run: str, kinds: Sequence[str] = ()) -> list[Event]:
        """All events of a run, or those of some kinds."""
        chosen = f" AND kind IN ({literals(kinds)})" if kinds else ""
        rows = self._database.rows(
            "qsqsb",
            f"SELECT at_ns, journal, offset, kind, fields FROM {self._database.table('event')} FINAL"
            f" WHERE run = {literal(run)}{chosen} ORDER BY at_ns, journal, offset",
        )
        found = cast("list[tuple[int, str, int, str, bytes]]", rows)
        return [Event(*row[:-1], decode_fields(row[-1])) for row in found]

    def delete(self, run: str) -> None:
        """Forget the run."""
        self._database.forget(run, _TABLES)

    def close(self) -> None:
        """Idempotent."""
        self._database.close()

    @property
    def _console(self) -> str:
        return self._database.table("console")

    def _state(self, run: str, transcript: str) -> tuple[int, int, str, int, int] | None:
        """Offset, lines, the line that is not ended yet and its time, and how often that was written."""
        rows = self._database.rows(
            "qqsqQ",
            f"SELECT size, lines, text, at_ns, version FROM {self._console} FINAL WHERE {_of(run, transcript, _STATE)}",
        )
        return cast("tuple[int, int, str, int, int]", rows[0]) if rows else None

    def _forwards(self, where: str, end: int, *, wanted: ConsoleRange) -> Iterator[ConsoleLine]:
        start, size = wanted.start or 0, wanted.count if not wanted.text else _AT_ONCE
        while found := self._some(
            f"{where} AND number >= {start} AND number < {end}{_mentioning(wanted.text)} ORDER BY number LIMIT {size}"
        ):
            yield from (line for line in found if fits(line, wanted))
            start = found[-1].number + 1

    def _backwards(self, where: str, end: int, *, wanted: ConsoleRange) -> Iterator[ConsoleLine]:
        size = wanted.count if not wanted.text else _AT_ONCE
        while found := self._some(
            f"{where} AND number < {end}{_mentioning(wanted.text)} ORDER BY number DESC LIMIT {size}"
        ):
            yield from (line for line in found if fits(line, wanted))
            end = found[-1].number

    def _some(self, where: str) -> list[ConsoleLine]:
        rows = self._database.rows(
            "qqBs", f"SELECT number, at_ns, stream, text FROM {self._console} FINAL WHERE {where}"
        )
        return [ConsoleLine(*cast("tuple[int, int, int, str]", row)) for row in rows]


def _of(run: str, transcript: str, kind: int) -> str:
    return f"run = {literal(run)} AND transcript = {literal(transcript)} AND kind = {kind}"


def _mentioning(text: str) -> str:
    """Lines that may contain it: colours may stand between the letters."""
    wanted = literal(ascii_lower(text))
    return f" AND (position(lower(text), {wanted}) > 0 OR position(text, '\\x1b') > 0)" if text else ""
