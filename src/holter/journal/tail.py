"""Reads the first and the last rows of a journal without decoding all that lies between them."""

from collections.abc import Sequence

from holter.errors import JournalError
from holter.journal.decoding import Decoder, LoggedRow, tell_segment
from holter.journal.frame import HEADER_SIZE
from holter.journal.place import Piece
from holter.journal.reader import crawl, next_whole, whole

START_BYTES = 64 << 10
TAIL_BYTES = 256 << 10


def last_rows(paths: Sequence[str], *, most_bytes: int = TAIL_BYTES) -> list[LoggedRow]:
    """The rows among about the last so many bytes of a journal, given its segments in order. Raises OSError."""
    rows: list[LoggedRow] = []
    decoder = Decoder(lambda: paths)
    for path in reversed(paths):
        with open(path, "rb") as file:
            data = file.read()
        end = min(len(data.rstrip(b"\0")) + 4, len(data))  # a checksum may end in zeros
        start = next_whole(data, max(HEADER_SIZE, end - most_bytes))
        if start >= 0:
            found = data[start:end]
            stretches, stop = whole(found)
            if stop < len(found):
                stretches, stop, _ = crawl(found, 0)
            told = decoder.tell(Piece(found, stretches, start, start, start + stop))
            rows = [row for _, row in told.rows()] + rows
        most_bytes -= end
        if most_bytes <= 0:
            break
    return rows


def first_row(paths: Sequence[str]) -> LoggedRow | None:
    """The first row of a journal, where it lies near the start. Raises OSError."""
    with open(paths[0], "rb") as file:
        data = file.read(START_BYTES)
    try:
        return next((row for _, row in tell_segment(data).rows()), None)
    except JournalError:
        return None
