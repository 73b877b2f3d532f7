"""Sends what a server does not have yet of one run's journals and texts, batch by batch."""

import os
import re
import time
from collections.abc import Iterable, Iterator

import msgspec

from holter.errors import JournalError, Refused, Unreachable
from holter.journal.digest import read_opened, read_project
from holter.journal.ranges import JournalStream
from holter.journal.row_count import RowCount
from holter.journal.rundir import list_segments, segments_of
from holter.journal.stop_request import StopRequest
from holter.model.records import Opened
from holter.model.secrets import masked
from holter.probes.identity import host_name
from holter.wire.batches import (
    MEDIA_TYPE,
    MOST_CLAIMED,
    MOST_RANGES,
    Claim,
    Head,
    HeldFile,
    Holdings,
    Kept,
    Range,
    encode_batch,
)
from holter.wire.connection import Connection, quoted

BATCH_BYTES, LEAST_BATCH_BYTES = 4 << 20, 128 << 10
# A message that takes longer than this holds heartbeats up: the next one is smaller.
SLOW_S = 4.0
LEVEL = 1
# A text is looked through for secrets together with so much of what was sent before it.
OVERLAP_BYTES = 8 << 10
# An unfinished line waits for its end, unless it is longer than this.
LONG_LINE = 64 << 10
TEXT = re.compile(r"(output(-\d+)?(\.\d{12,})?|signals(-\d+)?|faults(-\d+)?|debug(-internal)?)\.log|output[-.\d]*\.idx")


class Part(msgspec.Struct, frozen=True):
    """Bytes that the server does not have."""

    range: Range
    data: bytes


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one message: how many bytes the server has more, and what it says."""

    bytes: int = 0
    pace_s: float = 1.0
    stop: StopRequest | None = None
    is_all: bool = True
    """Nothing is left to be sent now."""


class RunSender:
    """Knows how much of a run a server has. Used by one thread; holds one batch in memory at most.

    Args:
        is_alone: whether nobody else sends this run. Else journals of other hosts are left to the sidecars there, and
            only sent where those don't.
    """

    def __init__(self, directory: str, run: str, *, connection: Connection, is_alone: bool = True) -> None:
        self.directory = directory
        self.run = self.there = run
        """Its id, and the one that it has on the server; the same until that says otherwise."""
        self.refused: dict[str, str] = {}
        """What the server does not take, and why."""
        self.files: dict[str, HeldFile] = {}
        """What the server had of files when we asked."""
        self._connection = connection
        self._is_alone = is_alone
        self._streams: dict[str, JournalStream] = {}
        self._counts: dict[str, RowCount] = {}
        self._foreign: dict[str, bool] = {}
        self._writers: dict[str, Opened] = {}
        self._room = BATCH_BYTES
        self._have: dict[str, int] | None = None
        self._batches = 0

    def ask(self) -> None:
        """Learn what the server has, and by which id. Raises Refused, Unreachable, OSError."""
        found = self._claim() or self._connection.ask("GET", self._path).json(Holdings)
        self._have = {**found.transcripts, **found.journals}
        self.files = found.files
        self.there = found.run or self.run

    def _fit(self, took_s: float) -> None:
        """Send less at once where the way is slow: a heartbeat must not wait behind minutes of rows."""
        if took_s > SLOW_S:
            self._room = max(LEAST_BATCH_BYTES, self._room // 2)
        elif took_s < SLOW_S / 4:
            self._room = min(BATCH_BYTES, self._room * 2)

    def send(self, *, is_final: bool = False, with_foreign: bool = True) -> Sent:
        """Send one batch. Raises Refused, Unreachable, OSError.

        With `is_final` nobody adds to the run any more.
        """
        if self._have is None:
            self.ask()
        parts, is_all = self._collect(is_final=is_final, with_foreign=with_foreign)
        if not parts:
            return Sent()
        began = time.monotonic()
        try:
            kept = self._post(parts)
        finally:
            self._fit(time.monotonic() - began)
        grown = sum(self._take(part, kept) for part in parts)
        # It may have kept less, to be sent again; but where nothing moves, nothing is gained by trying at once.
        has_moved = any(self._have_of(part) != part.range.offset for part in parts)
        has_all = all(self._have_of(part) >= part.range.offset + part.range.count for part in parts)
        return Sent(bytes=grown, pace_s=kept.pace_s, stop=kept.stop, is_all=(is_all and has_all) or not has_moved)

    def rows_there(self, journal: str) -> int:
        """How many rows of a journal the server has. Raises OSError."""
        have = (self._have or {}).get(journal, 0)
        return self._counts.setdefault(journal, RowCount()).before(have, segments_of(self.directory, journal))

    @property
    def has_foreign(self) -> bool:
        """Whether journals of other hosts were seen."""
        return any(self._foreign.values())

    @property
    def _path(self) -> str:
        return f"/ingest/{quoted(self.there)}"

    def _claim(self) -> Holdings | None:
        """None where the server keeps no owners."""
        segments = list_segments(self.directory)
        claim = Claim(project=_project(segments.values()), journals=list(segments)[:MOST_CLAIMED])
        path = f"/ingest/{quoted(self.run)}/claim"
        try:
            found: Holdings = self._connection.ask("POST", path, data=msgspec.json.encode(claim)).json(Holdings)
        except Refused as error:
            if error.status in (404, 405):
                return None
            raise
        return found

    def _post(self, parts: list[Part]) -> Kept:
        import zstandard  # only in the process that sends, and only when it does

        self._batches += 1
        head = Head(id=f"{os.getpid()}.{self._batches}.{os.urandom(4).hex()}", ranges=[part.range for part in parts])
        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        data = packer.compress(encode_batch(head, [part.data for part in parts]))
        kept: Kept = self._connection.ask("POST", self._path, data=data, media=MEDIA_TYPE).json(Kept)
        if kept.id != head.id:
            self._connection.close()
            raise Unreachable("the answer belongs to another message")
        return kept

    def _take(self, part: Part, kept: Kept) -> int:
        """Believe the server, whatever it says: it alone knows what it has. Returns by how much that grew."""
        name = part.range.name
        if name in kept.refused:
            self.refused[name] = kept.refused[name]
            return 0
        have = kept.offsets.get(name, part.range.offset)
        assert self._have is not None
        self._have[name] = have
        return max(0, have - part.range.offset)

    def _have_of(self, part: Part) -> int:
        """What the server has of it; of what it does not take, there is nothing left to be sent."""
        name = part.range.name
        if name in self.refused:
            return part.range.offset + part.range.count
        return (self._have or {}).get(name, 0)

    def _collect(self, *, is_final: bool, with_foreign: bool) -> tuple[list[Part], bool]:
        """A batch, and whether it is all that there is."""
        room = self._room
        parts: list[Part] = []
        for part in self._parts(is_final=is_final, with_foreign=with_foreign):
            parts.append(part)
            room -= len(part.data)
            if room <= 0 or len(parts) >= MOST_RANGES:
                return parts, False
        return parts, all(len(part.data) < self._room // 2 for part in parts)

    def _parts(self, *, is_final: bool, with_foreign: bool) -> Iterator[Part]:
        have = self._have or {}
        # Heartbeats first: whatever waits behind them, the run is seen to be alive.
        journals = sorted(list_segments(self.directory).items(), key=lambda item: not self._is_sidecar(*item))
        for journal, paths in journals:
            if journal in self.refused or (not with_foreign and self._is_foreign(journal, paths)):
                continue
            offset = have.get(journal, 0)
            try:
                data = self._read_journal(journal, paths, offset=offset, is_final=is_final)
            except JournalError as error:
                self.refused[journal] = str(error)
                continue
            if data:
                yield Part(Range(kind="journal", name=journal, offset=offset, count=len(data)), data)
        for name in sorted(name for name in os.listdir(self.directory) if TEXT.fullmatch(name)):
            offset = have.get(name, 0)
            data = b"" if name in self.refused else self._read_text(name, offset, is_final=is_final)
            if data:
                yield Part(Range(kind="text", name=name, offset=offset, count=len(data)), data)

    def _read_journal(self, journal: str, paths: list[str], *, offset: int, is_final: bool) -> bytes:
        """What follows an offset, over the ends of segments; half of a batch where there is more than that."""
        stream = self._streams.setdefault(journal, JournalStream())
        data, most = b"", self._room // 2
        while more := stream.read(paths, offset + len(data), most=most - len(data), is_final=is_final):
            data += more
            if len(data) >= most:
                break
        return data

    def _is_foreign(self, journal: str, paths: list[str]) -> bool:
        if self._is_alone:
            return False
        if journal not in self._foreign:
            opened = self._opened(journal, paths)
            if opened is None:
                return False
            self._foreign[journal] = opened.host != host_name()
        return self._foreign[journal]

    def _is_sidecar(self, journal: str, paths: list[str]) -> bool:
        opened = self._opened(journal, paths)
        return opened is not None and opened.writer == "sidecar"

    def _opened(self, journal: str, paths: list[str]) -> Opened | None:
        """Who writes a journal; None where that can't be read yet."""
        if journal not in self._writers:
            try:
                opened = read_opened(paths[-1])
            except OSError:
                return None
            if opened is None:
                return None
            self._writers[journal] = opened
        return self._writers[journal]

    def _read_text(self, name: str, offset: int, *, is_final: bool) -> bytes:
        start = max(0, offset - OVERLAP_BYTES)
        try:
            with open(os.path.join(self.directory, name), "rb") as file:
                if os.fstat(file.fileno()).st_size <= offset:
                    return b""
                file.seek(start)
                data = file.read(offset - start + self._room // 2)
        except FileNotFoundError:  # it made room for a newer piece
            return b""
        if name.endswith(".idx"):
            return data[offset - start :]
        # Secrets stay here, also those that the scrubber has not come to yet.
        found = masked(data)[offset - start :]
        end = found.rfind(b"\n") + 1
        return found if is_final or len(found) - end > LONG_LINE else found[:end]


def _project(journals: Iterable[list[str]]) -> str | None:
    """The one that the run began in; None where its journals don't say."""
    for paths in journals:
        if (project := read_project(paths[0])) is not None:
            return project
    return None
