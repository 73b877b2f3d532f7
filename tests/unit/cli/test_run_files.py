"""Names that lead to a file of the run, and names that do not."""

import os
from pathlib import Path

import pytest

from holter.cli.run_files import list_files, open_file
from holter.errors import UsageError


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("not the run's")
    run_dir = tmp_path / "run"
    (run_dir / "files" / "sub").mkdir(parents=True)
    (run_dir / "summary.json").write_text("{}")
    (run_dir / "files" / "sub" / "model.pt").write_bytes(b"\0\xff")
    (run_dir / f"{'0' * 32}-000001.seg").write_bytes(b"journal")
    (run_dir / "sidecar-host.lock").touch()
    (run_dir / "files" / ".x.0a0b0c0d.partial").touch()
    (run_dir / "out").symlink_to("../secret.txt")
    os.mkfifo(run_dir / "pipe")
    return run_dir


def read(run_dir: Path, name: str) -> bytes:
    with open_file(str(run_dir), name) as file:
        return file.read()


def test_the_files_are_listed_with_their_sizes_and_the_journals_last(run_dir: Path) -> None:
    found = [(each.name, each.bytes) for each in list_files(str(run_dir))]
    assert found == [("files/sub/model.pt", 2), ("summary.json", 2), (f"{'0' * 32}-000001.seg", 7)]


def test_a_file_is_found_by_its_name_or_its_place_below_files(run_dir: Path) -> None:
    assert read(run_dir, "summary.json") == b"{}"
    assert read(run_dir, "files/sub/model.pt") == b"\0\xff"
    assert read(run_dir, "sub/model.pt") == b"\0\xff"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../secret.txt", "does not name a file of the run"),
        ("files/../../secret.txt", "does not name a file of the run"),
        ("/etc/passwd", "does not name a file of the run"),
        ("", "does not name a file of the run"),
        ("out", "is a link that leads out of the run's directory"),
        ("pipe", "the run has no file 'pipe'"),
        ("files", "the run has no file 'files'"),
        ("sumary.json", "the run has no file 'sumary.json' (did you mean 'summary.json'?)"),
    ],
)
def test_a_name_that_leaves_the_directory_or_is_no_file_is_refused(run_dir: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read(run_dir, name)
    assert message in str(raised.value)
