"""Rows are counted as they come, wherever the bytes are cut."""

from pathlib import Path

import pytest

from holter.journal.row_count import RowCount
from holter.journal.rundir import list_segments
from tests.unit.journal.recording import Recording


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
    data = b"".join(Path(path).read_bytes() + bytes(500) for path in paths)
    count = RowCount()
    for at in range(0, len(data), size):
        count.feed(data[at : at + size])
    assert len(paths) == 2
    assert (count.rows, count.offset) == (401, len(data))
