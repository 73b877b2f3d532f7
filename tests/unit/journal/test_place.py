"""A place in a journal passes what is damaged, and waits for what is still being written."""

from pathlib import Path

import pytest

from holter.journal import place as place_module
from holter.journal.frame import HEADER_SIZE
from holter.journal.place import LOOKS_AT_ZEROS, WINDOW_BYTES, Piece, Place
from holter.journal.reader import Frame, scan
from tests.unit.journal.recording import Recording, end_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A segment with ten rows of text."""
    recording = Recording(tmp_path)
    for step in range(10):
        recording.log({"text": f"{step}" * 50}, step)
    recording.closed()
    [path] = recording.paths()
    return Path(path)


def frames_of(path: Path) -> list[Frame]:
    return scan(path.read_bytes()).frames


def overwrite(path: Path, at: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def looks_until(place: Place, path: Path) -> tuple[int, Piece]:
    for looks in range(1, 100):
        if piece := place.read([str(path)]):
            return looks, piece
    raise AssertionError("nothing was found behind the damage")


@pytest.mark.parametrize(("damage", "looks"), [(b"\xff" * 30, 2), (bytes(30), LOOKS_AT_ZEROS)])
def test_damage_in_the_last_segment_is_passed_once_it_was_looked_at_again(
    path: Path, damage: bytes, looks: int
) -> None:
    hit, following = frames_of(path)[4:6]
    overwrite(path, hit.at, damage)
    place = Place()
    first = place.read([str(path)])
    assert first is not None
    assert first.stop == hit.at
    assert looks_until(place, path)[0] == looks
    assert place.offset == path.stat().st_size
    other = Place()
    assert [(piece.offset, piece.stop) for piece in other.pieces([str(path)], is_final=True)] == [
        (HEADER_SIZE, hit.at),
        (following.at, place.offset),
    ]


def test_a_record_that_was_only_on_its_way_is_not_passed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file can't be read in one moment: what follows may be there before what we looked at a moment ago."""
    late = frames_of(path)[4]
    whole = path.read_bytes()[late.at : end_of(late)]
    overwrite(path, late.at, b"\xff" * 30)
    search = place_module._find_whole

    def search_while_it_is_written(fd: int, at: int) -> int:
        found = search(fd, at)
        overwrite(path, late.at, whole)
        return found

    monkeypatch.setattr(place_module, "_find_whole", search_while_it_is_written)
    place = Place()
    place.read([str(path)])
    _, piece = looks_until(place, path)
    assert (piece.offset, piece.stop) == (late.at, path.stat().st_size)


def test_a_record_far_behind_damage_is_found_without_reading_all_at_once(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.log({"text": "x" * (WINDOW_BYTES + 5000)})
    recording.log({"text": "here"}, 1)
    recording.closed()
    path = Path(recording.paths()[-1])
    large, last = frames_of(path)[-2:]
    overwrite(path, large.at, bytes(20))
    pieces = list(Place().pieces(recording.paths(), is_final=True))
    assert pieces[-1].offset == last.at + scan(path.read_bytes()).header.base  # type: ignore[union-attr]  # it is whole


def test_a_segment_with_a_damaged_header_begins_where_the_one_before_ends(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for step in range(10):
        recording.log({"text": "x"}, step)
        if step == 5:
            recording.journal.close()
            recording.journal.reopen()
    first, second = recording.closed()
    overwrite(Path(recording.paths()[1]), 8, b"\xff" * 8)
    *_, last = Place().pieces(recording.paths(), is_final=True)
    assert (last.is_new_segment, last.offset, last.stop) == (True, len(first) + HEADER_SIZE, len(first + second))
