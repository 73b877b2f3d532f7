"""Keeps the digests of a run's journals up to date by reading only what was added."""

import os
import zlib
from typing import NamedTuple

from holter.errors import JournalError
from holter.journal.decoding import Decoder
from holter.journal.digest import Digest, add_record, add_rows, add_stretches, is_control
from holter.journal.frame import HEAD, HEADER_SIZE, RESIDUE, decode_header
from holter.journal.reader import Frame, Stretch, hop_over, is_whole, read_records
from holter.journal.rundir import list_segments
from holter.model.records import Opened, Saved

CHUNK_BYTES = 64 << 10


class GrowingDigests:
    """All journals of a directory, also those that appear later. Used by one thread."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._journals: dict[str, _Journal] = {}
        # Also over a failure: what was read once is not read again.
        self._asked: list[tuple[Opened, Saved]] = []

    @property
    def digests(self) -> list[Digest]:
        """What the journals said up to the last `update`, the oldest first."""
        found = [each.digest for each in self._journals.values() if each.digest is not None]
        return sorted(found, key=lambda each: (each.opened.at_ns, each.journal))

    def update(self) -> list[tuple[Opened, Saved]]:
        """Read what is new; returns what was asked to be saved since the last call, and by whom. Raises OSError."""
        for journal, paths in list_segments(self._directory).items():
            each = self._journals.setdefault(journal, _Journal(journal))
            each.read(paths, self._asked)
        asked, self._asked = self._asked, []
        return asked


class _Journal:
    """A place in one journal, and what it says up to there."""

    def __init__(self, journal: str) -> None:
        self.digest: Digest | None = None
        self._journal = journal
        self._path = ""
        self._begin("")

    def read(self, paths: list[str], asked: list[tuple[Opened, Saved]]) -> None:
        # Of a journal that is new to us the last segment is enough: it begins with what the others add up to.
        for path in [path for path in paths if path >= self._path] if self._path else paths[-1:]:
            if path != self._path:
                self._begin(path)
            self._read_segment(asked)
        self.digest = self._fresh or self.digest

    def _begin(self, path: str) -> None:
        self._path = path
        self._at = HEADER_SIZE
        self._decoder = Decoder()
        self._fresh: Digest | None = None

    def _read_segment(self, asked: list[tuple[Opened, Saved]]) -> None:
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # deleted meanwhile; whoever writes it lays down another
            return
        try:
            if self._at == HEADER_SIZE and not _has_header(file):
                return
            while (added := _read_whole(file, self._at)).frames:
                self._add(added, asked)
                self._at += added.frames[-1].stop + 4
        finally:
            os.close(file)

    def _add(self, added: "_Added", asked: list[tuple[Opened, Saved]]) -> None:
        data, frames, stretches = added
        for record in self._decoder.decode_all(data, [frame for frame in frames if is_control(frame)]):
            if isinstance(record, Opened):
                self._fresh = self._fresh or Digest(self._journal, record)
            elif self._fresh is not None:
                add_record(self._fresh, record)
                if isinstance(record, Saved):
                    asked.append((self._fresh.opened, record))
        if self._fresh is not None:
            add_stretches(self._fresh, data, stretches)
            add_rows(self._fresh, data, frames, decoder=self._decoder)


class _Added(NamedTuple):
    """Whole records."""

    data: bytes
    frames: list[Frame]
    stretches: list[Stretch]


def _has_header(fd: int) -> bool:
    """Whether the segment is one of ours; one that was born a moment ago is all zeros."""
    try:
        decode_header(os.pread(fd, HEADER_SIZE, 0))
    except JournalError:
        return False
    return True


def _read_whole(fd: int, at: int) -> _Added:
    """The next whole records from a place on, not all of them at once; none where there is none yet."""
    data = read_records(fd, at, CHUNK_BYTES)
    frames, stretches, end = hop_over(data)
    if zlib.crc32(memoryview(data)[:end], RESIDUE) != RESIDUE:
        frames, stretches = _walk(data), []
    return _Added(data, frames, stretches)


def _walk(data: bytes) -> list[Frame]:
    """The whole records up to the first that is not; of a living writer that one is not yet written."""
    frames = []
    at = 0
    while following := is_whole(data, at):
        frames.append(Frame(HEAD.unpack_from(data, at)[1], at, following - 4))
        at = following
    return frames
