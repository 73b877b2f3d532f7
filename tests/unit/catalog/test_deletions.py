"""Whether a run was deleted: only a note that was read says so."""

import os
from pathlib import Path

import pytest

from holter.catalog.change.deletions import Deletion, Deletions
from tests.unit.descriptors import no_descriptor_left


@pytest.mark.parametrize("is_deleted", [False, True])
def test_who_can_not_look_does_not_say_that_a_run_was_deleted(tmp_path: Path, *, is_deleted: bool) -> None:
    deletions = Deletions(str(tmp_path))
    if is_deleted:
        deletions.note("r1", Deletion(by="ada", at=1.0))
    with no_descriptor_left(), pytest.raises(OSError, match="Too many open files"):
        deletions.find("r1")
    assert deletions.find("r1") == (Deletion(by="ada", at=1.0) if is_deleted else None)


def test_a_note_that_is_damaged_still_says_that_the_run_was_deleted(tmp_path: Path) -> None:
    deletions = Deletions(str(tmp_path))
    deletions.note("r1", Deletion(by="ada", at=1.0))
    (tmp_path / "deleted" / "r1").write_bytes(b"\0\0")
    assert deletions.find("r1") == Deletion(by="somebody", at=0.0)


def test_a_folder_that_is_none_is_an_error_and_no_deletion(tmp_path: Path) -> None:
    (tmp_path / "deleted").write_text("")
    with pytest.raises(NotADirectoryError):
        Deletions(str(tmp_path)).find("r1")
    os.unlink(tmp_path / "deleted")
    assert Deletions(str(tmp_path)).find("r1") is None
