"""Console and events in tables: lines in compressed blocks, events as rows."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import zstandard

from holter.errors import OffsetGap, StorageDamaged
from holter.storage.console import ConsoleBatch, ConsoleLine, ConsoleRange, Event, Gap
from holter.storage.lines import decode_fields, encode_event, fits
from holter.storage.matching import ascii_lower
from holter.storage.tables.database import Connection, Database

# A block grows up to this many lines: a terminal at a slow program's pace must not make a row for each line.
BLOCK = 512
_BLOCK_BYTES = 256 << 10
_GAP = (
    "INSERT INTO gap (transcript, first, lines, size_bytes) VALUES (?, ?, ?, ?) ON CONFLICT (transcript, first)"
    " DO UPDATE SET lines = excluded.lines, size_bytes = excluded.size_bytes"
)
_BLOCK = (
    "INSERT INTO block (transcript, first, count, lines) VALUES (?, ?, ?, ?) ON CONFLICT (transcript, first)"
    " DO UPDATE SET count = excluded.count, lines = excluded.lines"
)

_Lines = list[tuple[int, int, str]]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Lines).decode


class ConsoleTables:
    """The port `ConsoleStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, batch: ConsoleBatch) -> None:
        """Add lines."""
        with self._database.write(batch.run) as connection:
            connection.execute(
                "INSERT INTO transcript (run, name, \"offset\", lines, rest, rest_ns) VALUES (?, ?, 0, 0, '', 0)"
                " ON CONFLICT (run, name) DO NOTHING",
                (batch.run, batch.transcript),
            )
            number, offset, count = connection.execute(
                'SELECT number, "offset", lines FROM transcript WHERE run = ? AND name = ?',
                (batch.run, batch.transcript),
            ).fetchone()
            if batch.stop < offset or (batch.stop == offset and batch.start < offset):
                return
            if batch.start != offset:
                raise OffsetGap(f"the console of {batch.run} has come to {offset}, not {batch.start}", offset)
            first = max(count, batch.first or 0)
            if batch.missed:
                gap = (number, count, first - count, batch.missed)
                connection.execute(_GAP, gap)
            self._add(connection, number, first, lines=list(batch.lines))
            connection.execute(
                'UPDATE transcript SET "offset" = ?, lines = ?, rest = ?, rest_ns = ? WHERE number = ?',
                (batch.stop, first + len(batch.lines), batch.rest, batch.lines[-1][0] if batch.lines else 0, number),
            )

    def transcripts(self, run: str) -> dict[str, int]:
        """The byte offset of each transcript."""
        with self._database.read() as connection:
            found = connection.execute('SELECT name, "offset" FROM transcript WHERE run = ? ORDER BY number', (run,))
            return dict(found.fetchall())

    def lines(self, run: str, transcript: str, *, wanted: ConsoleRange) -> list[ConsoleLine]:
        """Lines in order."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT number, lines, rest, rest_ns FROM transcript WHERE run = ? AND name = ?", (run, transcript)
            ).fetchone()
            if found is None or wanted.count <= 0:
                return []
            number, count, rest, rest_ns = found
            ending = [ConsoleLine(count, rest_ns, 3, rest)] if rest else []
            if wanted.start is not None:
                lines = self._forwards(connection, number, wanted=wanted)
                return _first([*ending], lines, wanted=wanted)
            return _last(ending, self._backwards(connection, number, wanted=wanted), wanted=wanted)

    def gaps(self, run: str, transcript: str) -> list[Gap]:
        """What was not kept."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT first, g.lines, size_bytes FROM gap g JOIN transcript t ON t.number = g.transcript"
                " WHERE t.run = ? AND t.name = ? ORDER BY first",
                (run, transcript),
            )
            return [Gap(*gap) for gap in found]

    def add_events(self, run: str, events: Sequence[Event]) -> None:
        """Keep events."""
        rows = []
        for event in events:
            digest, fields = encode_event(event)
            rows.append((run, digest, event.at_ns, event.journal, event.offset, event.kind, fields))
        with self._database.write(run) as connection:
            connection.executemany(
                "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, digest) DO NOTHING", rows
            )

    def events(self, run: str, kinds: Sequence[str] = ()) -> list[Event]:
        """All events of a run, or those of some kinds."""
        chosen = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        with self._database.read() as connection:
            rows = connection.execute(
                f'SELECT at_ns, journal, "offset", kind, fields FROM event WHERE run = ?{chosen}'
                ' ORDER BY at_ns, journal, "offset"',
                (run, *kinds),
            ).fetchall()
        return [
            Event(at_ns, journal, offset, kind, decode_fields(fields)) for at_ns, journal, offset, kind, fields in rows
        ]

    def delete(self, run: str) -> None:
        """Forget the run."""
        with self._database.write(run) as connection:
            for table in ("block", "gap"):
                numbers = "SELECT number FROM transcript WHERE run = ?"
                connection.execute(f"DELETE FROM {table} WHERE transcript IN ({numbers})", (run,))
            connection.execute("DELETE FROM transcript WHERE run = ?", (run,))
            connection.execute("DELETE FROM event WHERE run = ?", (run,))

    def close(self) -> None:
        """Idempotent."""
        self._database.close()

    def _add(self, connection: Connection, number: int, count: int, /, *, lines: _Lines) -> None:
        if not lines:
            return
        last = connection.execute(
            "SELECT first, count, lines FROM block WHERE transcript = ? ORDER BY first DESC LIMIT 1", (number,)
        ).fetchone()
        is_next = last is not None and last[0] + last[1] == count
        if is_next and last[1] + len(lines) <= BLOCK and len(last[2]) < _BLOCK_BYTES:
            count, lines = last[0], _unpacker()(last[2]) + lines
        for start in range(0, len(lines), BLOCK):
            part = lines[start : start + BLOCK]
            connection.execute(
                _BLOCK,
                (number, count + start, len(part), zstandard.compress(_encode(part), 1)),
            )

    def _forwards(self, connection: Connection, number: int, *, wanted: ConsoleRange) -> Iterator[ConsoleLine]:
        start = wanted.start or 0
        blocks = connection.execute(
            "SELECT first, lines FROM block WHERE transcript = ? AND first + count > ? ORDER BY first", (number, start)
        )
        unpack = _unpacker(wanted.text)
        for first, data in blocks:
            yield from (line for line in _numbered(first, unpack(data)) if line.number >= start)

    def _backwards(self, connection: Connection, number: int, *, wanted: ConsoleRange) -> Iterator[ConsoleLine]:
        blocks = connection.execute(
            "SELECT first, lines FROM block WHERE transcript = ? ORDER BY first DESC", (number,)
        )
        unpack = _unpacker(wanted.text)
        for first, data in blocks:
            yield from reversed(_numbered(first, unpack(data)))


def _unpacker(text: str = "") -> Callable[[bytes], _Lines]:
    """Gives the lines of a block; none where it can be told at once that the text is in none of them."""
    # A search unpacks thousands of blocks: to begin anew with each would be half of its cost.
    decompress = zstandard.ZstdDecompressor().decompress
    wanted = ascii_lower(text).encode(errors="surrogatepass")

    def unpack(data: bytes) -> _Lines:
        try:
            block = decompress(data)
            # Colours may stand between the letters.
            may_contain = not wanted or b"\x1b" in block or wanted in block.lower()
            return _decode(block) if may_contain else []
        except (zstandard.ZstdError, msgspec.MsgspecError) as error:
            raise StorageDamaged(f"a block of console lines can't be read: {error}") from error

    return unpack


def _numbered(first: int, lines: _Lines) -> list[ConsoleLine]:
    return [ConsoleLine(first + place, *line) for place, line in enumerate(lines)]


def _first(ending: list[ConsoleLine], lines: Iterator[ConsoleLine], *, wanted: ConsoleRange) -> list[ConsoleLine]:
    found: list[ConsoleLine] = []
    for line in lines:
        if len(found) == wanted.count:
            return found
        if fits(line, wanted):
            found.append(line)
    is_reached = wanted.start is not None and bool(ending) and ending[0].number >= wanted.start
    more = [line for line in ending if is_reached and fits(line, wanted)]
    return [*found, *more][: wanted.count]


def _last(ending: list[ConsoleLine], lines: Iterator[ConsoleLine], *, wanted: ConsoleRange) -> list[ConsoleLine]:
    found = [line for line in ending if fits(line, wanted)]
    for line in lines:
        if len(found) == wanted.count:
            break
        if fits(line, wanted):
            found.append(line)
    return found[::-1]
