"""Reads the first and the last rows of a journal without walking all that lies between them."""

import zlib
from collections.abc import Sequence

from holter.errors import JournalError
from holter.journal.decoding import Decoder, LoggedRow
from holter.journal.digest import is_control
from holter.journal.frame import HEADER_SIZE, RESIDUE
from holter.journal.reader import Frame, hop, is_whole, next_whole, scan
from holter.model.records import NUMBERS, Declared

START_BYTES = 64 << 10
TAIL_BYTES = 256 << 10


def last_rows(paths: Sequence[str], *, most_bytes: int = TAIL_BYTES) -> list[LoggedRow]:
    """The rows among about the last so many bytes of a journal, given its segments in order. Raises OSError.

    Of rows whose declaration lies neither at the start of their segment nor near its end nothing is returned: it is
    said again every 1,024 rows.
    """
    rows: list[LoggedRow] = []
    for path in reversed(paths):
        with open(path, "rb") as file:
            data = file.read()
        end = min(len(data.rstrip(b"\0")) + 4, len(data))  # a checksum may end in zeros
        rows = _rows_between(data[:end], max(HEADER_SIZE, end - most_bytes)) + rows
        most_bytes -= end
        if most_bytes <= 0:
            break
    return rows


def first_row(paths: Sequence[str]) -> LoggedRow | None:
    """The first row of a journal, where it lies near the start. Raises OSError."""
    with open(paths[0], "rb") as file:
        data = file.read(START_BYTES)
    try:
        frames = scan(data).frames
    except JournalError:
        return None
    decoder = Decoder()
    _declare(decoder, data, frames)
    decoded = (decoder.decode(data, frame) for frame in frames if not is_control(frame))
    return next((row for row in decoded if isinstance(row, LoggedRow)), None)


def _rows_between(data: bytes, start: int) -> list[LoggedRow]:
    """The rows behind a byte of one segment; of a damaged stretch nothing."""
    decoder = Decoder()
    beginning = data[: HEADER_SIZE + START_BYTES]
    _declare(decoder, beginning, hop(beginning, HEADER_SIZE)[0])
    frames = _whole_frames(data, start)
    _declare(decoder, data, frames)
    decoded = (decoder.decode(data, frame) for frame in frames if not is_control(frame))
    return [row for row in decoded if isinstance(row, LoggedRow)]


def _whole_frames(data: bytes, start: int) -> list[Frame]:
    frames: list[Frame] = []
    at = next_whole(data, start)
    while at >= 0:
        found, end = hop(data, at)
        if zlib.crc32(memoryview(data)[at:end], RESIDUE) != RESIDUE:
            found = [frame for frame in found if is_whole(data, frame.at)]
        frames += found
        at = next_whole(data, end + 1) if end < len(data) else -1
    return frames


def _declare(decoder: Decoder, data: bytes, frames: Sequence[Frame]) -> None:
    for frame in frames:
        if frame.kind == NUMBERS[Declared]:
            decoder.decode(data, frame)
