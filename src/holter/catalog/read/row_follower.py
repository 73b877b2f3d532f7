"""Reads a run's rows while they are being written: the last ones first, then each new one once."""

import os
from collections.abc import Sequence

import msgspec

from holter.catalog.read.run_view import MAIN, PROGRAM
from holter.errors import JournalError, NewerJournal
from holter.journal.decoding import Decoder, LoggedRow
from holter.journal.frame import HEAD, HEADER_SIZE
from holter.journal.reader import Frame, is_whole, read_records, scan
from holter.journal.rundir import list_segments
from holter.model.records import FIRST_PACKED, LOOSE_ROW, NUMBERS, Declared, Opened, Record
from holter.probes.identity import is_alive, writer_of

CHUNK_BYTES = 256 << 10


class Heard(msgspec.Struct):
    """What was read at one time: rows of the program in the order of their times, and the records of all writers."""

    rows: list[LoggedRow] = []
    records: list[Record] = []


class RunFollower:
    """Follows every journal of a run's directory, also those that appear later. Used by one thread."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._journals: dict[str, JournalFollower] = {}

    def last(self, count: int) -> list[LoggedRow]:
        """The last rows that are there now; `hear` goes on behind them. Raises NewerJournal, OSError."""
        rows = []
        for journal, paths in list_segments(self._directory).items():
            follower = self._journals.setdefault(journal, JournalFollower())
            rows += follower.last(paths, count)
        return sorted(rows, key=lambda row: row.at_ns)[-count:] if count else []

    def hear(self) -> Heard:
        """All that was added since the last call. Raises NewerJournal, OSError."""
        heard = Heard()
        for journal, paths in list_segments(self._directory).items():
            self._journals.setdefault(journal, JournalFollower()).hear(paths, heard)
        heard.rows.sort(key=lambda row: row.at_ns)
        return heard

    def has_dead_process(self) -> bool:
        """Whether a process is gone whose end may be the run's."""
        found = [each.opened for each in self._journals.values()]
        return any(each and each.writer in MAIN and is_alive(writer_of(each)) is False for each in found)


class JournalFollower:
    """A place in one journal. The paths that its methods take are all segments of that journal, listed just before."""

    def __init__(self) -> None:
        self.opened: Opened | None = None
        self._path = ""
        self._at = HEADER_SIZE
        self._decoder = Decoder()

    def last(self, paths: Sequence[str], count: int) -> list[LoggedRow]:
        """Up to `count` rows from the end, oldest first; none of a sidecar's."""
        rows: list[LoggedRow] = []
        for path in reversed(paths):
            with open(path, "rb") as file:
                data = file.read()
            try:
                scanned = scan(data)
            except NewerJournal:
                raise
            except JournalError:  # born a moment ago, or damaged: then the one before has the last rows
                continue
            rows = self._last_of_segment(data, scanned.frames, count=count - len(rows), decoder=Decoder()) + rows
            if not self._path:
                self._path, self._at = path, scanned.end
                _declare(self._decoder, data, scanned.frames)
            if len(rows) >= count:
                break
        return rows

    def hear(self, paths: Sequence[str], heard: Heard) -> None:
        """Add what is new, segment by segment."""
        self._path = self._path or paths[0]
        for path in [each for each in paths if each >= self._path]:
            if path != self._path:
                self._path, self._at, self._decoder = path, HEADER_SIZE, Decoder()
            self._hear_segment(heard, is_closed=path != paths[-1])

    def _hear_segment(self, heard: Heard, *, is_closed: bool) -> None:
        with open(self._path, "rb") as file:
            while added := _read_whole(file.fileno(), self._at):
                data, frames = added
                self._add(data, frames, heard)
                self._at += frames[-1].stop + 4
            if is_closed and self._at < os.fstat(file.fileno()).st_size:
                self._hear_behind_damage(file.read(), heard)

    def _hear_behind_damage(self, data: bytes, heard: Heard) -> None:
        """Nothing more is written to a closed segment: what is not whole now never will be."""
        try:
            frames = scan(data).frames
        except JournalError:
            return
        self._add(data, [frame for frame in frames if frame.at >= self._at], heard)

    def _add(self, data: bytes, frames: list[Frame], heard: Heard) -> None:
        for decoded in self._decoder.decode_all(data, frames):
            if isinstance(decoded, Opened):
                self.opened = decoded
            if isinstance(decoded, Record):
                heard.records.append(decoded)
            elif self._is_program:
                heard.rows.append(decoded)

    def _last_of_segment(self, data: bytes, frames: list[Frame], *, count: int, decoder: Decoder) -> list[LoggedRow]:
        opened = next(iter(decoder.decode_all(data, frames[:1])), None)
        if self.opened is None and isinstance(opened, Opened):
            self.opened = opened
        if not self._is_program or count <= 0:
            return []
        _declare(decoder, data, frames)
        rows = [frame for frame in frames if frame.kind == LOOSE_ROW or frame.kind >= FIRST_PACKED]
        decoded = [decoder.decode(data, frame) for frame in rows[-count:]]
        return [each for each in decoded if isinstance(each, LoggedRow)]

    @property
    def _is_program(self) -> bool:
        return self.opened is not None and self.opened.writer in PROGRAM


def _declare(decoder: Decoder, data: bytes, frames: list[Frame], /) -> None:
    for frame in frames:
        if frame.kind == NUMBERS[Declared]:
            decoder.decode(data, frame)


def _read_whole(fd: int, at: int) -> tuple[bytes, list[Frame]] | None:
    """The next whole records from a place on, not all of them at once; None where there is none yet."""
    data = read_records(fd, at, CHUNK_BYTES)
    frames = []
    place = 0
    while following := is_whole(data, place):
        frames.append(Frame(HEAD.unpack_from(data, place)[1], place, following - 4))
        place = following
    return (data, frames) if frames else None
