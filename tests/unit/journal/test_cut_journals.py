"""Any prefix of a journal is readable."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.errors import JournalError
from holter.journal.digest import digest
from holter.journal.frame import HEADER_SIZE
from holter.journal.reader import Frame, Skipped, scan
from tests.unit.journal.recording import Recording, end_of, read, record_small, scratch

values = st.one_of(st.floats(), st.integers(-(1 << 63), (1 << 63) - 1), st.booleans(), st.none(), st.text(max_size=20))
rows = st.dictionaries(st.sampled_from(["loss", "acc", "lr", "note"]), values, max_size=4)


def record(logged: list[dict[str, Any]]) -> bytes:
    with scratch() as folder:
        recording = Recording(folder)
        recording.journal.open()
        for step, row in enumerate(logged):
            recording.log(row, step)
        [data] = recording.closed()
    return data


def whole_before(frames: list[Frame], cut: int) -> list[Frame]:
    return [frame for frame in frames if end_of(frame) <= cut]


def test_a_journal_cut_at_any_byte_gives_the_whole_records_before_the_cut() -> None:
    data = record_small()
    frames = scan(data).frames
    for cut in range(HEADER_SIZE, len(data) + 1):
        assert scan(data[:cut]).frames == whole_before(frames, cut)


def test_what_a_cut_leaves_of_a_record_is_reported_as_torn() -> None:
    data = record_small()
    frames = scan(data).frames
    boundaries = {HEADER_SIZE, *map(end_of, frames)}
    for cut in range(HEADER_SIZE, len(data) + 1):
        end = max(boundary for boundary in boundaries if boundary <= cut)
        torn = [] if cut in boundaries else [Skipped(end, len(data[:cut].rstrip(b"\0")), torn=True)]
        assert scan(data[:cut]).skipped == torn


def test_a_journal_cut_inside_its_header_is_refused() -> None:
    data = record_small()
    for cut in range(HEADER_SIZE):
        with pytest.raises(JournalError, match="does not begin with the mark"):
            scan(data[:cut])


def test_reserved_space_behind_the_records_is_not_damage() -> None:
    data = record_small()
    reserved = scan(data + bytes(8192))
    assert (reserved.frames, reserved.end, reserved.skipped) == (scan(data).frames, len(data), [])


def test_a_record_that_was_half_stored_into_reserved_space_is_torn() -> None:
    data = record_small()
    *before, last = scan(data).frames
    half = scan(data[: last.at + 20] + bytes(8192))
    assert half.frames == before
    assert half.end == last.at
    assert [(each.start, each.torn) for each in half.skipped] == [(last.at, True)]


@settings(max_examples=60, deadline=None)
@given(logged=st.lists(rows, min_size=1, max_size=12), where=st.floats(0, 1), fill=st.sampled_from([0, 4096]))
def test_no_cut_ever_invents_or_changes_a_record(logged: list[dict[str, Any]], where: float, fill: int) -> None:
    data = record(logged)
    cut = HEADER_SIZE + int(where * (len(data) - HEADER_SIZE))
    found = read(data[:cut] + bytes(fill))
    # A record may miss zeros that the reserved space replaces.
    whole = len([frame for frame in scan(data).frames if not data[cut : end_of(frame)].strip(b"\0")])
    expected = read(data)[:whole] if fill else read(data)[: len(whole_before(scan(data).frames, cut))]
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("size", [0, HEADER_SIZE, HEADER_SIZE + 20], ids=["empty", "header", "torn"])
def test_a_journal_that_never_got_a_whole_record_has_no_digest(size: int, tmp_path: Path) -> None:
    path = tmp_path / "0.seg"
    path.write_bytes(record_small()[:size] + bytes(4096))
    assert digest("0", [str(path)]) is None
