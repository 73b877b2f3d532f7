"""What a copy of a data directory has, and what it leaves out."""

from pathlib import Path

import pytest

from holter.artifacts.fetching import download
from holter.artifacts.store import Store
from holter.catalog.change.deletions import Deletions, delete_run
from holter.errors import UsageError
from holter.server.migration.backup import make_backup
from tests.artifacts.files import keep, noise


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = tmp_path / "data"
    for name in (
        "runs/kept/a.seg",
        "runs/gone/a.seg",
        "runs/.trash-1-half/a.seg",
        "index/blobs/staging/b",
        "index/settings/s.json",
        "access/k",
        "sweeps/s1/book.jsonl",
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(b"x")
    delete_run(str(place), "gone", by="ada")
    return place


def test_a_copy_remembers_what_was_deleted_and_has_nothing_of_it(data: Path, tmp_path: Path) -> None:
    make_backup(str(data), str(tmp_path / "copy"), environ={})
    files = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert files == {"runs/kept/a.seg", "deleted/gone", "access/k", "index/settings/s.json", "sweeps/s1/book.jsonl"}
    deletion = Deletions(str(tmp_path / "copy")).find("gone")
    assert deletion is not None
    assert deletion.by == "ada"


def test_a_copy_never_takes_the_place_of_another(data: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    with pytest.raises(UsageError, match="needs a name of its own"):
        make_backup(str(data), str(tmp_path / "copy"), environ={})
    with pytest.raises(UsageError, match="there is no data directory"):
        make_backup(str(tmp_path / "nothing"), str(tmp_path / "other"), environ={})


def test_a_copy_has_the_artifacts_and_all_that_they_consist_of(data: Path, tmp_path: Path) -> None:
    (folder := tmp_path / "files").mkdir()
    (folder / "model.bin").write_bytes(noise(1, 200_000))
    keep(Store(str(data)), folder)
    make_backup(str(data), str(tmp_path / "copy"), environ={})
    copy = Store(str(tmp_path / "copy"))
    download(copy.manifest(copy.book("p", "model").find("latest").digest), copy.read, str(tmp_path / "got"))
    assert (tmp_path / "got" / "model.bin").read_bytes() == noise(1, 200_000)
