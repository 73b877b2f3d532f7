"""Reads a journal as one stream of bytes, by offset: as far as it can't change any more, also while it is written."""

import os

from holter.journal.place import Place, read_base, size_of


class JournalStream:
    """The segments of one journal, one behind the other. Used by one thread.

    A segment that has a successor is given as it lies on the disk, what is missing of it as zeros. Of the last one only
    whole records are given: what is behind them may still be in the making.
    """

    def __init__(self) -> None:
        self._bases: dict[str, int] = {}
        self._whole: Place | None = None

    def read(self, paths: list[str], offset: int, *, most: int, is_final: bool = False) -> bytes:
        """Up to `most` bytes from an offset on, given all segments in order; none where there is no more yet.

        With `is_final` nobody writes any more: then all damage is passed at once. Raises NewerJournal, OSError.
        """
        end = self._end_of(paths, is_final=is_final)
        spans = self._spans(paths, end)
        for place, (base, path) in enumerate(spans):
            is_last = place + 1 == len(spans)
            stop = end if is_last else spans[place + 1][0]
            if offset < stop:
                data = _pread(path, max(0, offset - base), min(most, stop - max(offset, base)))
                if offset < base:  # what was before is lost
                    return bytes(min(most, base - offset))
                return data if is_last else data.ljust(min(most, stop - offset), b"\0")
        return b""

    def _end_of(self, paths: list[str], *, is_final: bool) -> int:
        """Up to where the last segment is whole."""
        if self._whole is None:
            self._whole = Place()
            self._whole.start(paths)
        for _ in self._whole.pieces(paths, is_final=is_final):
            pass
        return self._whole.offset

    def _spans(self, paths: list[str], end: int) -> list[tuple[int, str]]:
        """Where each segment begins; one that is only being made has no place yet."""
        found: list[tuple[int, str]] = []
        for path in paths:
            base = self._bases.get(path)
            if base is None and (base := read_base(path)) is not None:
                self._bases[path] = base
            if base is None:  # only its header may be damaged
                base = found[-1][0] + size_of(found[-1][1]) if found else 0
                if path == paths[-1] and base >= end:
                    continue
            found.append((base, path))
        return found


def _pread(path: str, at: int, count: int, /) -> bytes:
    try:
        with open(path, "rb") as file:
            return os.pread(file.fileno(), count, at)
    except FileNotFoundError:
        return b""
