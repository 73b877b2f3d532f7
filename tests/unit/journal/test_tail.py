"""The ends of journals, read without what lies between."""

from pathlib import Path

import pytest

from holter.journal.rundir import list_segments
from holter.journal.tail import first_row, last_rows
from holter.model.records import Noted
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead


def paths_of(directory: Path) -> list[str]:
    [paths] = list_segments(str(directory)).values()
    return paths


def steps(directory: Path, most_bytes: int) -> list[int]:
    return [row.step for row in last_rows(paths_of(directory), most_bytes=most_bytes)]


@pytest.mark.parametrize("is_closed", [True, False])
def test_the_last_rows_are_those_at_the_end(tmp_path: Path, is_closed: bool) -> None:
    journal = Journal(tmp_path, dead()).log(range(5000))
    if is_closed:
        journal.close()
    found = steps(tmp_path, 4000)
    assert found == list(range(found[0], 5000))
    assert 50 < len(found) < 150
    journal.close()


def test_a_short_journal_is_read_whole(tmp_path: Path) -> None:
    Journal(tmp_path, dead()).log(range(3)).say(Noted(at_ns=BEGAN_NS, text="a word")).close()
    assert steps(tmp_path, 1 << 20) == [0, 1, 2]


def test_the_tail_reaches_into_the_segment_before(tmp_path: Path) -> None:
    Journal(tmp_path, dead()).log(range(20_000)).close()
    assert len(paths_of(tmp_path)) > 1
    assert steps(tmp_path, 1 << 30) == list(range(20_000))


def test_a_torn_row_is_left_out(tmp_path: Path) -> None:
    Journal(tmp_path, dead()).log(range(10)).close()
    path = Path(paths_of(tmp_path)[0])
    path.write_bytes(path.read_bytes()[:-6])
    assert steps(tmp_path, 1 << 20) == list(range(9))


def test_behind_damage_it_goes_on(tmp_path: Path) -> None:
    Journal(tmp_path, dead()).log(range(100)).close()
    path = Path(paths_of(tmp_path)[0])
    data = bytearray(path.read_bytes())
    data[-1000:-980] = b"\xff" * 20
    path.write_bytes(data)
    found = steps(tmp_path, 1 << 20)
    assert (found[-1], 95 < len(found) < 100) == (99, True)


def test_the_first_row_is_the_first(tmp_path: Path) -> None:
    Journal(tmp_path, dead()).say(Noted(at_ns=BEGAN_NS, text="a word")).log(range(7, 5000)).close()
    first = first_row(paths_of(tmp_path))
    assert first is not None
    assert (first.step, first.at_ns) == (7, BEGAN_NS + 7_000_000)


def test_a_journal_without_rows_has_neither(tmp_path: Path) -> None:
    Journal(tmp_path, dead()).close()
    assert (first_row(paths_of(tmp_path)), steps(tmp_path, 1000)) == (None, [])
