"""Where a run goes that is wanted elsewhere than with the others."""

import os
from pathlib import Path

from holter.catalog.change.trash import Trash, is_placed
from holter.recording.place import make_place


def place(data: Path, elsewhere: Path, said: list[str] | None = None) -> str:
    complaints = said if said is not None else []
    complain = lambda cause, text: complaints.append(text)  # noqa: E731  shorter than a function of three lines
    return make_place(str(data), "r1", complain=complain, elsewhere=str(elsewhere))


def test_it_is_where_it_is_wanted_with_a_link_among_the_others(tmp_path: Path) -> None:
    made = place(tmp_path / "data", tmp_path / "scratch")
    assert made == str(tmp_path / "scratch" / "runs" / "r1")
    assert os.path.realpath(tmp_path / "data" / "runs" / "r1") == os.path.realpath(made)
    assert place(tmp_path / "data", tmp_path / "other") == os.path.realpath(made)  # it goes on where it began
    assert is_placed(str(tmp_path / "data" / "runs" / "r1"))


def test_a_run_that_began_with_the_others_stays_there(tmp_path: Path) -> None:
    (tmp_path / "data" / "runs" / "r1").mkdir(parents=True)
    assert place(tmp_path / "data", tmp_path / "scratch") == str(tmp_path / "data" / "runs" / "r1")


def test_where_no_link_can_be_made_the_way_to_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a directory")
    said: list[str] = []
    assert place(tmp_path / "data", tmp_path / "scratch", said) == str(tmp_path / "scratch" / "runs" / "r1")
    [text] = said
    assert f"`HOLTER_DIR={tmp_path / 'scratch'} holter show r1` shows it" in text


def test_what_is_removed_goes_at_both_ends_and_interrupted_removals_are_finished(tmp_path: Path) -> None:
    made = Path(place(tmp_path / "data", tmp_path / "scratch"))
    (made / "file").write_text("x")
    os.rename(tmp_path / "data" / "runs" / "r1", tmp_path / "data" / "runs" / ".trash-1-r1")
    Trash(str(tmp_path / "data")).empty()
    assert (list((tmp_path / "data" / "runs").iterdir()), made.exists()) == ([], False)


def test_a_link_to_some_other_place_is_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "r1").symlink_to(tmp_path / "archive")
    assert not is_placed(str(tmp_path / "r1"))
