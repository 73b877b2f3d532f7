"""Hears what the processes of a run write into their journals, a second later at most."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from holter.errors import JournalError
from holter.journal.decoding import Decoder, LoggedRow, Told
from holter.journal.place import Place
from holter.journal.rundir import segments_of

if TYPE_CHECKING:
    from holter.model.record import Record

MOST_PIECES = 4
_BAD = (b"\xf8\x7f", b"\xf8\xff", b"\xf0\x7f", b"\xf0\xff")
"""How the last bytes of a NaN or an infinity look in a row."""
MOST_SEARCHED = 2000


class Heard:
    """What came since the last look."""

    def __init__(self) -> None:
        self.rows = 0
        self.highest: int | None = None
        self.last: list[LoggedRow] = []
        """The newest row of each set of names."""
        self.odd: list[LoggedRow] = []
        """Rows with a value that is NaN or infinite, as far as there are not too many."""
        self.records: list[Record] = []


class JournalEar:
    """Reads one journal on, from where it is now. One thread."""

    def __init__(self, directory: str, journal: str, *, is_new: bool = True) -> None:
        self._find: Callable[[], list[str]] = partial(segments_of, directory, journal)
        self._place = Place()
        self._decoder = Decoder(self._find)
        self._is_started = False

    def listen(self) -> Heard:
        """All that is new, or a part of it where that is very much. Raises OSError."""
        heard = Heard()
        paths = self._find()
        if not paths:
            return heard
        if not self._is_started:
            self._place.start(paths)
            self._is_started = True
        try:
            for number, piece in enumerate(self._place.pieces(paths)):
                _take(self._decoder.tell(piece), heard)
                if number + 1 >= MOST_PIECES:
                    break
        except JournalError:  # of a newer holter
            pass
        return heard


def _take(told: Told, heard: Heard) -> None:
    heard.rows += told.count
    step = told.highest_step()
    if step is not None:
        heard.highest = step if heard.highest is None else max(step, heard.highest)
    heard.last = told.last_rows() or heard.last
    heard.records += [record for _, record in told.records]
    data = told.piece.data
    if any(mark in data for mark in _BAD):
        heard.odd += [row for row in _first(told) if _is_odd(row)]


def _first(told: Told) -> Iterator[LoggedRow]:
    for number, (_, row) in enumerate(told.rows()):
        if number >= MOST_SEARCHED:
            return
        yield row


def _is_odd(row: LoggedRow) -> bool:
    return any(type(value) is float and value - value != 0 for value in row.values.values())
