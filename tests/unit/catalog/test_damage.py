"""Bytes that can't be read: said for the dead, not for those who are still writing."""

from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.read.damage import Damage, find_damage
from holter.probes.identity import ProcessIdentity
from tests.unit.catalog.journals import Journal, alive, dead, elsewhere


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def damage(directory: Path) -> list[Damage]:
    return find_damage(Catalog(str(directory.parents[1])).load(directory.name, patience_s=0.0))


def segments(directory: Path, journal: Journal) -> list[Path]:
    return sorted(directory.glob(f"{journal.id}-*.seg"))


def test_a_whole_run_has_none(directory: Path) -> None:
    Journal(directory, dead()).log(range(20_000)).close()
    assert damage(directory) == []


def test_reserved_space_is_none(directory: Path) -> None:
    journal = Journal(directory, alive()).log(range(3))
    assert damage(directory) == []
    journal.close()


@pytest.mark.parametrize(("process", "is_said"), [(dead(), True), (alive(), False), (elsewhere(), True)])
def test_a_torn_end_is_said_of_the_dead_only(directory: Path, process: ProcessIdentity, is_said: bool) -> None:
    journal = Journal(directory, process).log(range(3)).close()
    [path] = segments(directory, journal)
    path.write_bytes(path.read_bytes()[:-10])
    because = "it was being written when the process died"
    expected = [Damage(file=path.name, bytes=26, is_torn=True, because=because)] if is_said else []
    assert damage(directory) == expected


def test_a_flipped_bit_in_an_early_segment_is_found(directory: Path) -> None:
    journal = Journal(directory, alive()).log(range(20_000)).close()
    first, *_ = segments(directory, journal)
    data = bytearray(first.read_bytes())
    data[50_000] ^= 1
    first.write_bytes(data)
    [found] = damage(directory)
    assert (found.file, found.is_torn, found.because) == (first.name, False, "its checksum does not match")


def test_a_missing_segment_is_found(directory: Path) -> None:
    journal = Journal(directory, dead()).log(range(20_000)).close()
    first, second = segments(directory, journal)
    first.unlink()
    assert damage(directory) == [Damage(file=second.name, bytes=0, because="segment 1 of this journal is missing")]
