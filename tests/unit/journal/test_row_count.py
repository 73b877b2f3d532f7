"""Rows are counted up to an offset, wherever in them that is."""

from bisect import bisect_right
from pathlib import Path

import pytest

from holter.journal.reader import Frame, scan
from holter.journal.row_count import RowCount
from holter.journal.rundir import list_segments
from holter.model.records import FIRST_PACKED, LOOSE_ROW
from tests.unit.journal.recording import Recording, end_of


def is_row(frame: Frame) -> bool:
    return frame.kind == LOOSE_ROW or frame.kind >= FIRST_PACKED


@pytest.mark.parametrize("size", [1, 7, 64, 1000, 1 << 20])
def test_all_rows_of_all_segments_are_counted_however_they_are_cut(tmp_path: Path, size: int) -> None:
    recording = Recording(tmp_path)
    for number in range(300):
        recording.log({"loss": 0.5, "step": number}, number)
        if number % 3 == 0:
            recording.log({"text": "a" * number}, number)
    recording.journal.close()
    recording.journal.reopen()
    recording.log({"loss": 0.5, "step": 300}, 300)
    recording.journal.close()
    (paths,) = list_segments(str(tmp_path)).values()
    first, second = (Path(path).read_bytes() for path in paths)
    ends = [end_of(frame) for frame in scan(first).frames if is_row(frame)]
    ends += [len(first) + end_of(frame) for frame in scan(second).frames if is_row(frame)]
    stop = len(first + second)
    count = RowCount()
    for offset in range(0, stop + size, size):
        assert count.before(offset, paths) == bisect_right(ends, offset)
    assert count.before(stop, paths) == 401
