"""Follows what a run prints: bytes of its transcripts become lines as a terminal would show them, colours and all."""

import bisect
import os
from typing import NamedTuple

from holter.console.files import BOTH, Mark, Piece, lines_before, list_transcripts, read_marks
from holter.console.screen import Screen
from holter.model.secrets import masked
from holter.storage.console import ConsoleBatch

CHUNK_BYTES = 256 << 10
# A line that is longer than this is shown in parts; a progress bar that never ends its line is not kept whole.
MOST_LINE = 16 << 10


class Stretch(NamedTuple):
    """Bytes that were read; those from `start` to `at` are not kept any more."""

    start: int
    at: int
    data: bytes


class GrowingIndex:
    """The index of one piece, each entry of which is read once. Places only grow."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self._count = 0
        self._marks: list[Mark] = []

    def from_place(self, place: int) -> list[Mark]:
        """The mark at a place and all behind it."""
        added = read_marks(self.piece, skip=self._count)
        self._count += len(added)
        self._marks += [mark for mark in added if mark.stream]
        del self._marks[: max(0, _count_up_to(self._marks, place) - 1)]
        return self._marks


class TranscriptFeed:
    """A place in the transcripts of one run. Used by one thread."""

    def __init__(self, run: str, directory: str, *, offsets: dict[str, int]) -> None:
        self._run = run
        self._directory = directory
        self._offsets = dict(offsets)
        self._sizes: dict[str, tuple[str, int]] = {}
        self._indexes: dict[str, GrowingIndex] = {}

    def read(self) -> list[ConsoleBatch]:
        """What was added since the last call, some of it. Raises OSError."""
        batches = []
        for name, pieces in list_transcripts(self._directory).items():
            size = (pieces[-1].path, _size(pieces[-1]))
            # An unfinished line is read again only when something was added to it.
            if self._sizes.get(name) == size:
                continue
            batch = self._read(name, pieces)
            if batch is not None:
                batches.append(batch)
            if batch is None or batch.start == batch.stop:
                self._sizes[name] = size
        return batches

    def _read(self, name: str, pieces: list[Piece]) -> ConsoleBatch | None:
        start = self._offsets.get(name, 0)
        for piece in pieces:
            try:
                with open(piece.path, "rb") as file:
                    file.seek(max(0, start - piece.base))
                    at, data = piece.base + file.tell(), file.read(CHUNK_BYTES)
            except FileNotFoundError:  # it made room for a newer one
                continue
            if data:
                return self._as_batch(name, piece, Stretch(start, at, data), is_last=piece == pieces[-1])
        return None

    def _as_batch(self, name: str, piece: Piece, read: Stretch, *, is_last: bool) -> ConsoleBatch:
        index = self._indexes.get(name)
        if index is None or index.piece != piece:
            index = self._indexes[name] = GrowingIndex(piece)
        marks = index.from_place(read.at - piece.base)
        lines: list[tuple[int, int, str]] = []
        missed = read.at - read.start
        # What ends a piece, or fills all that we read at once, is shown as a line, whether it is ended or not.
        whole = read.data.rfind(b"\n") + 1
        if not whole and (len(read.data) == CHUNK_BYTES or not is_last):
            whole = len(read.data)
        place = read.at - piece.base
        # Secrets are hidden also where no scrubber was; each stays as long as it is.
        data = masked(read.data)
        for line in data[:whole].removesuffix(b"\n").split(b"\n") if whole else ():
            mark = _mark_at(marks, place)
            lines.append((mark.at_ns, mark.stream, _shown(line)))
            place += len(line) + 1
        stop = self._offsets[name] = read.at + whole
        rest = _shown(data[whole:][-MOST_LINE:])
        first = lines_before(piece) if missed and read.at == piece.base else None
        return ConsoleBatch(self._run, name, read.start, stop, tuple(lines), rest, missed, first)


def _mark_at(marks: list[Mark], place: int) -> Mark:
    return marks[max(_count_up_to(marks, place) - 1, 0)] if marks else Mark(0, 0, BOTH, 0)


def _count_up_to(marks: list[Mark], place: int) -> int:
    return bisect.bisect_right(marks, place, key=lambda mark: mark.at)


def _shown(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    if "\r" not in text.rstrip("\r\n") and "\x1b" not in text and "\b" not in text:
        return text.rstrip("\r\n")[:MOST_LINE]
    # Of a progress bar only the last state is seen; the states before need not be drawn.
    screen = Screen()
    screen.feed(text.rstrip("\r\n").rpartition("\r")[2][-MOST_LINE:])
    return "\n".join(screen.lines(has_colour=True))[:MOST_LINE]


def _size(piece: Piece) -> int:
    try:
        return os.stat(piece.path).st_size
    except FileNotFoundError:
        return 0
