"""Copies of users' files: which are meant, and that each is whole or not there."""

import os
import stat
import threading
from pathlib import Path

import pytest

from holter.journal.kept_files import (
    Match,
    find_matches,
    free_bytes,
    is_kept,
    keep,
    remove_partial,
    replace_file,
    replace_if_changed,
)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.pt", "sub/c.pt", "sub/deep/d.pt", "odd[1].pt"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    os.mkfifo(tmp_path / "work" / "pipe.pt")
    return tmp_path / "work"


def names(pattern: str, base: Path, run_dir: Path) -> list[str]:
    return sorted(match.name for match in find_matches(pattern, str(base), directory=str(run_dir)))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.pt", ["b.pt", "odd[1].pt"]),
        ("**/*.pt", ["b.pt", "odd[1].pt", "sub/c.pt", "sub/deep/d.pt"]),
        ("sub/*", ["sub/c.pt"]),
        ("odd[1].pt", ["odd[1].pt"]),
        ("none*", []),
        ("pipe.pt", []),
        ("sub", []),
    ],
)
def test_a_pattern_means_regular_files(pattern: str, expected: list[str], work: Path, run_dir: Path) -> None:
    assert names(pattern, work, run_dir) == expected


def test_what_lies_in_the_runs_directory_is_kept_already(run_dir: Path) -> None:
    (run_dir / "model.pt").write_text("x")
    assert names("**", run_dir.parent, run_dir) == []


def first(pattern: str, base: Path, run_dir: Path) -> Match:
    return find_matches(pattern, str(base), directory=str(run_dir))[0]


def test_a_copy_keeps_place_content_and_time_and_is_private(work: Path, run_dir: Path) -> None:
    match = first("sub/deep/d.pt", work, run_dir)
    assert not is_kept(match, str(run_dir))
    assert keep(match, str(run_dir))
    copy = run_dir / "files" / "sub" / "deep" / "d.pt"
    assert copy.read_text() == "sub/deep/d.pt"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert is_kept(match, str(run_dir))
    assert copy.stat().st_ino != (work / "sub" / "deep" / "d.pt").stat().st_ino


def test_a_source_that_is_gone_leaves_the_copy_before_it_and_nothing_half(work: Path, run_dir: Path) -> None:
    match = first("b.pt", work, run_dir)
    keep(match, str(run_dir))
    (work / "b.pt").unlink()
    with pytest.raises(FileNotFoundError):
        keep(match, str(run_dir))
    assert [path.name for path in (run_dir / "files").iterdir()] == ["b.pt"]
    assert (run_dir / "files" / "b.pt").read_text() == "b.pt"


def test_a_file_that_is_always_written_to_is_not_taken_for_whole(work: Path, run_dir: Path) -> None:
    growing = work / "log.txt"
    growing.write_bytes(bytes(64 << 20))
    match = first("log.txt", work, run_dir)
    done = threading.Event()

    def write() -> None:
        with growing.open("ab", buffering=0) as file:
            while not done.is_set():
                file.write(b"x")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        kept = keep(match, str(run_dir), only_whole=True)
    finally:
        done.set()
        writer.join()
    # Where the file system shares blocks, the copy is of one moment however long the file is.
    assert kept == (run_dir / "files" / "log.txt").exists()
    assert not list((run_dir / "files").glob(".*"))


def test_a_file_is_replaced_in_one_step_and_only_when_it_differs(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    replace_file(str(path), b"a: 1\n")
    inode = path.stat().st_ino
    assert not replace_if_changed(str(path), b"a: 1\n")
    assert path.stat().st_ino == inode
    assert replace_if_changed(str(path), b"a: 2\n")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"a: 2\n", 0o600)
    assert [each.name for each in tmp_path.iterdir()] == ["config.yaml"]


def test_what_a_dead_process_left_half_is_removed(run_dir: Path) -> None:
    (run_dir / "files").mkdir()
    (run_dir / "files" / ".model.pt.0a1b2c3d.partial").write_text("half")
    (run_dir / "files" / "mine.partial").write_text("a user's")
    remove_partial(str(run_dir))
    assert [path.name for path in (run_dir / "files").iterdir()] == ["mine.partial"]


def test_copies_leave_a_part_of_the_limit_to_the_rows(run_dir: Path) -> None:
    (run_dir / "x").write_bytes(bytes(300))
    assert free_bytes(str(run_dir), 1000) == 500
    assert free_bytes(str(run_dir), -1) > 1 << 60
