"""Counts the rows of a journal up to an offset."""

from collections.abc import Sequence

from holter.journal.place import Piece, Place
from holter.model.records import FIRST_PACKED, LOOSE_ROW


class RowCount:
    """How many whole rows of one journal lie before an offset that grows. Used by one thread."""

    def __init__(self) -> None:
        self._place = Place()
        self._piece: Piece | None = None
        self._before = 0

    def before(self, offset: int, paths: Sequence[str]) -> int:
        """All of them, given the segments of the journal: before the offset they don't change any more.

        Raises NewerJournal, OSError.
        """
        while self._place.offset < offset:
            self._before += _rows(self._piece, self._place.offset)
            self._piece = self._place.read(paths, is_final=True)
            if self._piece is None:
                break
        return self._before + _rows(self._piece, offset)


def _rows(piece: Piece | None, offset: int) -> int:
    if piece is None:
        return 0
    room = offset - piece.offset
    return sum(
        min(each.repeats, max(0, (room - each.at) // each.size))
        for each in piece.stretches
        if each.kind >= FIRST_PACKED or each.kind == LOOSE_ROW
    )
