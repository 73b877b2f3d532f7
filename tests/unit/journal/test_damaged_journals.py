"""Damage costs the records that it hits, and no other."""

import contextlib
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.errors import JournalError
from holter.journal.columns import merge_rows, read_tables
from holter.journal.decoding import tell_segment
from holter.journal.digest import digest, read_opened
from holter.journal.frame import HEADER_SIZE, MAGIC, Header, encode_body, encode_header, sealed
from holter.journal.reader import Frame, Skipped, scan
from holter.journal.trimming import trim
from tests.unit.journal.recording import Recording, end_of, read, read_rows, record_small, scratch

PAGE = 4096


def record_large(rows: int) -> bytes:
    with scratch() as folder:
        recording = Recording(folder)
        for step in range(rows):
            recording.log({"loss": step * 0.5, "acc": step * 0.25, "lr": 0.1}, step)
        return b"".join(recording.closed())


def flip(data: bytes, bit: int) -> bytes:
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


def untouched(frames: list[Frame], start: int, stop: int) -> list[Frame]:
    return [frame for frame in frames if end_of(frame) <= start or frame.at >= stop]


def test_every_flipped_bit_costs_the_one_record_that_holds_it() -> None:
    data = record_small()
    frames = scan(data).frames
    for bit in range(8 * len(data)):
        found = scan(flip(data, bit))
        assert found.frames == untouched(frames, bit // 8, bit // 8 + 1)
        assert any(each.start <= bit // 8 for each in found.skipped)


def test_a_flipped_bit_is_reported_with_the_range_of_its_record() -> None:
    data = record_small()
    *_, hit, following = scan(data).frames
    assert scan(flip(data, 8 * hit.at + 70)).skipped == [Skipped(hit.at, following.at, torn=False)]
    assert [each.torn for each in scan(flip(data, 8 * following.at + 70)).skipped] == [True]


def test_a_damaged_header_costs_no_record() -> None:
    data = record_small()
    found = scan(bytes(HEADER_SIZE) + data[HEADER_SIZE:])
    assert (found.header, found.frames) == (None, scan(data).frames)
    assert found.skipped == [Skipped(0, HEADER_SIZE, torn=False)]


def test_flipped_bits_of_a_large_journal_cost_a_row_each() -> None:
    data = record_large(2000)
    frames = scan(data).frames
    chosen = random.Random(4658)
    for _ in range(40):
        bit = chosen.randrange(8 * len(data))
        assert scan(flip(data, bit)).frames == untouched(frames, bit // 8, bit // 8 + 1)


@pytest.mark.parametrize("page", [0, 1, 7])
def test_pages_that_never_reached_the_disk_cost_their_records_only(page: int) -> None:
    data = record_large(1000)
    start, stop = page * PAGE, (page + 1) * PAGE
    found = scan(data[:start] + bytes(PAGE) + data[stop:])
    kept = untouched(scan(data).frames, start, stop)
    assert found.frames == kept
    assert len(found.skipped) == 1
    assert not found.skipped[0].torn


def test_rows_behind_a_damaged_declaration_are_read_with_the_next_one() -> None:
    with scratch() as folder:
        recording = Recording(folder)
        for step in range(1100):
            recording.log({"loss": float(step)}, step)
        [data] = recording.closed()
    declaration = next(frame for frame in scan(data).frames if frame.kind == 3)
    rows = read_rows(flip(data, 8 * declaration.at + 100))
    assert [row.step for row in rows] == list(range(1100))


def test_damage_is_told_to_whoever_reads_the_columns(tmp_path: Path) -> None:
    data = record_large(100)
    hit = scan(data).frames[50]
    path = tmp_path / f"{'0' * 32}-000001.seg"
    path.write_bytes(flip(data, 8 * hit.at + 100))
    tables = read_tables([str(path)])
    assert tables.skipped == {str(path): [Skipped(hit.at, end_of(hit), torn=False)]}
    assert len(list(merge_rows([tables]))) == 99


def test_a_segment_that_was_born_and_not_filled_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / f"{'0' * 32}-000001.seg"
    path.write_bytes(bytes(PAGE))
    assert read_tables([str(path)]).trouble == {}
    path.write_bytes(b"something else\n")
    assert read_tables([str(path)]).trouble == {
        str(path): "not a journal segment: it does not begin with the mark of one"
    }


def read_every_way(data: bytes) -> None:
    with scratch() as folder:
        path = f"{folder}/{'0' * 32}-000001.seg"
        Path(path).write_bytes(data)
        read_opened(path)
        digest("0" * 32, [path])
        list(merge_rows([read_tables([path])]))
        trim(path)
        read(data)


@settings(max_examples=150, deadline=None)
@given(data=st.one_of(st.binary(max_size=300), st.binary(max_size=300).map(lambda tail: record_small()[:200] + tail)))
def test_arbitrary_bytes_raise_nothing_but_our_own_errors(data: bytes) -> None:
    with contextlib.suppress(JournalError):
        read_every_way(data)


frames = st.tuples(st.integers(0, 600), st.binary(max_size=60)).map(lambda frame: sealed(encode_body(*frame)))


@settings(max_examples=150, deadline=None)
@given(tail=st.lists(frames, max_size=5).map(b"".join))
def test_whole_frames_with_any_content_raise_nothing_but_our_own_errors(tail: bytes) -> None:
    read_every_way(record_small() + tail)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        (2, b"\x93\x01\x02\x81\xa1\xff\x01"),
        (2, b"\x93\x01\x02\x81\xa1a" + b"\x91" * 100_000),
        (2, b"\x93\xcf" + b"\xff" * 8 + b"\x02\x80"),
        (2, b"\x93\x01\xff\x80"),
        (3, b"\x84\xa5at_ns\x01\xa6number\x00\xa4keys\x91\xa1a\xa5types\xa1z"),
        (3, b"\x84\xa5at_ns\x01\xa6number\x00\xa4keys\x91\xa1a\xa5types\xa2dd"),
        (256, bytes(3)),
        (300, bytes(24)),
    ],
    ids=["text", "nesting", "step", "time", "type", "types", "short", "undeclared"],
)
def test_a_whole_frame_that_makes_no_sense_is_counted_as_unknown(kind: int, payload: bytes) -> None:
    data = record_small() + sealed(encode_body(kind, payload))
    assert repr(read(data)) == repr(read(record_small()))
    assert tell_segment(data).unknown == 1


def test_the_mark_of_a_journal_alone_does_not_make_one() -> None:
    with pytest.raises(JournalError, match="header is damaged"):
        scan(MAGIC + bytes(PAGE))


def test_a_header_reads_back_as_it_was_written() -> None:
    header = Header(journal=bytes(range(16)), segment=3, base=1 << 40, created_ns=5)
    assert scan(encode_header(header)).header == header
