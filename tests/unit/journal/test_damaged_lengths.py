"""A damaged length is damage, for every reader: none asks for the gigabytes that it promises."""

import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.catalog.read.row_follower import RunFollower
from holter.journal.digest import GrowingDigests
from holter.journal.frame import HEAD, LARGEST_RECORD, SYNC
from holter.journal.ranges import JournalStream
from holter.journal.reader import scan
from holter.journal.row_count import RowCount
from tests.unit.journal.recording import Recording

Reader = Callable[[Recording], None]


def grow(recording: Recording) -> None:
    GrowingDigests(recording.directory).update()


def follow(recording: Recording) -> None:
    RunFollower(recording.directory).hear()


def count(recording: Recording) -> None:
    RowCount().before(1 << 30, recording.paths())


def stream(recording: Recording) -> None:
    JournalStream().read(recording.paths(), 64, most=1000)


@pytest.mark.parametrize("read", [grow, follow, count, stream])
def test_no_reader_asks_for_more_than_a_record_can_have(read: Reader, tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.log({"text": "x" * (1 << 20)})  # one large segment, as a follower reads it in large pieces
    recording.journal.close()
    (path,) = recording.paths()
    data = bytearray(Path(path).read_bytes())
    at = scan(bytes(data)).frames[0].at
    assert struct.unpack_from("<H", data, at) == (SYNC,)
    HEAD.pack_into(data, at, SYNC, 1, 0xFFFF_FFF0)
    Path(path).write_bytes(data)
    tracemalloc.start()
    try:
        read(recording)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < LARGEST_RECORD


def test_a_record_that_is_larger_than_what_is_read_at_once_is_read_by_all(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.log({"text": "x" * (3 << 20)})
    (path,) = recording.paths()
    end = scan(Path(path).read_bytes()).end
    digests = GrowingDigests(recording.directory)
    digests.update()
    assert digests.digests[0].rows == 1
    assert [len(row.values["text"]) for row in RunFollower(recording.directory).hear().rows] == [3 << 20]
    assert RowCount().before(end, recording.paths()) == 1
    assert len(JournalStream().read(recording.paths(), end - 10, most=100)) == 10
    recording.journal.close()
