"""Rows while they are being written: each once, in order, none twice."""

from pathlib import Path

import pytest

from holter.catalog.read.row_follower import RunFollower
from holter.journal.decoding import LoggedRow
from holter.model.records import Exited, Finished
from tests.unit.catalog.journals import BEGAN_NS, Journal, alive, dead


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "r1"


def steps(rows: list[LoggedRow]) -> list[int]:
    return [row.step for row in rows]


def test_the_last_rows_come_first_and_then_only_new_ones(directory: Path) -> None:
    journal = Journal(directory, alive()).log(range(100))
    follower = RunFollower(str(directory))
    assert steps(follower.last(3)) == [97, 98, 99]
    assert follower.hear().rows == []
    journal.log(range(100, 103))
    assert steps(follower.hear().rows) == [100, 101, 102]
    assert follower.hear().rows == []
    journal.close()


@pytest.mark.parametrize("count", [0, 1, 5, 30_000])
def test_the_last_rows_may_lie_in_several_segments(directory: Path, count: int) -> None:
    Journal(directory, alive()).log(range(20_000)).close()
    assert len(list(directory.iterdir())) > 1
    assert steps(RunFollower(str(directory)).last(count)) == list(range(max(0, 20_000 - count), 20_000))


def test_nothing_is_missed_where_a_new_segment_begins(directory: Path) -> None:
    journal = Journal(directory, alive())
    follower = RunFollower(str(directory))
    found = steps(follower.last(10))
    for start in range(0, 30_000, 3_000):
        journal.log(range(start, start + 3_000))
        found += steps(follower.hear().rows)
    assert len(list(directory.iterdir())) > 1
    assert found == list(range(30_000))
    journal.close()


def test_a_journal_that_appears_later_is_followed_too(directory: Path) -> None:
    first = Journal(directory, alive()).log([0, 2])
    follower = RunFollower(str(directory))
    follower.last(10)
    first.log([4, 6])
    second = Journal(directory, alive(), kind="worker").log([3, 5])
    assert steps(follower.hear().rows) == [3, 4, 5, 6]
    first.close()
    second.close()


def test_what_a_sidecar_samples_is_no_row_of_the_program(directory: Path) -> None:
    sidecar = Journal(directory, alive(), kind="sidecar").log([1], cpu=0.5)
    program = Journal(directory, alive()).log([0])
    follower = RunFollower(str(directory))
    assert steps(follower.last(10)) == [0]
    gone = Exited(at_ns=BEGAN_NS, journal=program.id, pid=1, source="gone")
    sidecar.log([2], cpu=0.5).say(gone)
    heard = follower.hear()
    assert heard.rows == []
    assert [record for record in heard.records if isinstance(record, Exited)] == [gone]
    sidecar.close()
    program.close()


def test_the_end_is_heard(directory: Path) -> None:
    journal = Journal(directory, alive()).log([0])
    follower = RunFollower(str(directory))
    follower.last(1)
    finished = Finished(at_ns=BEGAN_NS, exit_code=0)
    journal.log([1]).say(finished).close()
    heard = follower.hear()
    assert (steps(heard.rows), heard.records[-1]) == ([1], finished)


def test_a_half_written_record_is_not_yet_there(directory: Path) -> None:
    journal = Journal(directory, alive()).log(range(3)).close()
    [path] = directory.glob(f"{journal.id}-*.seg")
    whole = path.read_bytes()
    follower = RunFollower(str(directory))
    path.write_bytes(whole[:-10])
    assert steps(follower.last(10)) == [0, 1]
    assert follower.hear().rows == []
    path.write_bytes(whole)
    assert steps(follower.hear().rows) == [2]


def test_a_large_record_is_read_in_one_piece(directory: Path) -> None:
    journal = Journal(directory, alive()).log([0])
    follower = RunFollower(str(directory))
    follower.last(0)
    journal.log([1], text="x" * 600_000).log([2])
    assert steps(follower.hear().rows) == [1, 2]
    journal.close()


def test_damage_in_a_closed_segment_is_skipped(directory: Path) -> None:
    journal = Journal(directory, alive())
    follower = RunFollower(str(directory))
    follower.last(10)
    journal.log(range(20_000))
    first, *_ = sorted(directory.glob("*.seg"))
    data = bytearray(first.read_bytes())
    data[50_000] ^= 0xFF
    first.write_bytes(data)
    found = steps(follower.hear().rows)
    assert (len(found), found[0], found[-1]) == (19_999, 0, 19_999)
    journal.close()


def test_a_dead_process_is_noticed(directory: Path) -> None:
    Journal(directory, dead()).log([0]).close()
    follower = RunFollower(str(directory))
    follower.last(1)
    assert follower.has_dead_process()
