"""Reads what was kept of a run's console, from all of its transcripts in the order of time."""

import heapq
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holter.console.files import BOTH, Mark, Piece, list_transcripts, read_marks
from holter.model.secrets import masked

CHUNK_BYTES = 64 << 10


class Printed(NamedTuple):
    """Bytes that came at one time on one stream; `missed` ones before them were not kept."""

    at_ns: int
    stream: int
    data: bytes
    missed: int = 0


class _Place:
    """How far one transcript was read."""

    def __init__(self) -> None:
        self.at = 0


class ConsoleReader:
    """Reads a run's console: its end first, then what is added. Secrets are masked, also where no scrubber was."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._places: dict[str, _Place] = {}

    def last(self, count: int) -> list[Printed]:
        """About the last `count` bytes of each transcript; `hear` goes on behind them. Raises OSError."""
        for name, pieces in list_transcripts(self._directory).items():
            end = _end(pieces)
            self._places.setdefault(name, _Place()).at = max(0, end - count)
        return self.hear()

    def hear(self) -> list[Printed]:
        """All that was added since the last call. Raises OSError."""
        transcripts = list_transcripts(self._directory)
        found = [self._hear(self._places.setdefault(name, _Place()), pieces) for name, pieces in transcripts.items()]
        return list(heapq.merge(*found, key=lambda printed: printed.at_ns))

    def _hear(self, place: _Place, pieces: list[Piece]) -> list[Printed]:
        found: list[Printed] = []
        for piece in pieces:
            for printed in _read(piece, place.at):
                found.append(printed._replace(missed=printed.missed + max(0, piece.base - place.at)))
                place.at = max(place.at, piece.base) + len(printed.data)
        return found


def read_from_last(directory: str, words: Sequence[bytes], *, within: int, count: int) -> list[Printed]:
    """`count` bytes from the last line that begins with one of the words; empty where none does. Raises OSError.

    Cheap: the last `within` bytes of each transcript are only searched. What else was printed meanwhile is among them.
    """
    found: list[Printed] = []
    for pieces in list_transcripts(directory).values():
        start = max(0, _end(pieces) - within)
        for piece in reversed(pieces):
            at = _find_last(piece, words, start)
            if at >= 0:
                part = list(_read(piece, at, count))
                found = max(found, part, key=lambda each: each[-1].at_ns if each else 0)
                break
            if piece.base <= start:
                break
    return found


def size_of_console(directory: str) -> tuple[int, int]:
    """How many bytes were printed and how many of these are kept. Raises OSError."""
    transcripts = list_transcripts(directory).values()
    sizes = [sum(_size(piece) for piece in pieces) for pieces in transcripts]
    return sum(_end(pieces) + _missed(pieces) for pieces in transcripts), sum(sizes)


def _find_last(piece: Piece, words: Sequence[bytes], start: int) -> int:
    """The byte of the transcript, not before `start`, with which such a line of the piece begins; -1 for none."""
    try:
        with open(piece.path, "rb") as file:
            file.seek(max(0, start - piece.base))
            first, data = file.tell(), b"\n" + file.read()
    except FileNotFoundError:  # it made room for a newer one
        return -1
    place = max(data.rfind(b"\n" + word) for word in words)
    return piece.base + first + place if place >= 0 else -1


def _read(piece: Piece, start: int, count: int = -1) -> Iterator[Printed]:
    """What a piece holds from a byte of the transcript on, cut where time or stream change; at most `count` bytes."""
    try:
        with open(piece.path, "rb") as file:
            file.seek(max(0, start - piece.base))
            first, data = file.tell(), masked(file.read(count))
    except FileNotFoundError:  # it made room for a newer one
        return
    stop = first + len(data)
    marks = [mark for mark in read_marks(piece) if mark.stream]
    if not marks or marks[0].at > 0:  # its mark was not kept
        marks.insert(0, Mark(0, marks[0].at_ns if marks else 0, BOTH, 0))
    ends = [mark.at for mark in marks[1:]] + [stop]
    for mark, end in zip(marks, ends, strict=True):
        begin = max(mark.at, first)
        if begin < min(end, stop):
            missed = mark.missed if mark.at >= first else 0
            yield Printed(mark.at_ns, mark.stream, data[begin - first : min(end, stop) - first], missed)


def _end(pieces: list[Piece]) -> int:
    return pieces[-1].base + _size(pieces[-1])


def _size(piece: Piece) -> int:
    try:
        return os.stat(piece.path).st_size
    except FileNotFoundError:
        return 0


def _missed(pieces: list[Piece]) -> int:
    return sum(mark.missed for piece in pieces for mark in read_marks(piece))
