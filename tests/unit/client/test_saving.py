"""What the arguments of `save()` mean, and what of it is done at once."""

from pathlib import Path

import pytest

from holter.client.saving import Wish, keep_at_once, understand
from holter.errors import UsageError


@pytest.fixture(autouse=True)
def in_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    work = tmp_path / "work"
    (work / "these" / "are").mkdir(parents=True)
    monkeypatch.chdir(work)
    return work


@pytest.mark.parametrize(
    ("glob", "base_path", "pattern", "base"),
    [
        ("model.pt", None, "model.pt", ""),
        ("these/are/*", None, "these/are/*", ""),
        ("these/are/*", "these", "are/*", "these"),
        ("are/*", "these", "are/*", "these"),
        ("./these/../model.pt", None, "model.pt", ""),
        (Path("model.pt"), None, "model.pt", ""),
        (b"bytes.pt", None, "bytes.pt", ""),
        ("../work/x.pt", None, "x.pt", ""),
    ],
)
def test_a_relative_pattern_keeps_its_folders_below_the_base(
    glob: object, base_path: str | None, pattern: str, base: str, in_work: Path
) -> None:
    expected = str(in_work / base) if base else str(in_work)
    assert understand(glob, base_path, policy="now") == Wish(pattern, expected, "now")


def test_an_absolute_pattern_keeps_the_last_folder(in_work: Path) -> None:
    assert understand("/mnt/folder/*.h5", None, policy="live") == Wish("folder/*.h5", "/mnt", "live")
    assert understand("/mnt/folder/*.h5", "/mnt/folder", policy="live") == Wish("*.h5", "/mnt/folder", "live")


@pytest.mark.parametrize(
    ("glob", "base_path", "policy", "message"),
    [
        ("../secret.txt", None, "now", "would leave the run's directory"),
        ("/etc/passwd", "/home", "now", "would leave the run's directory"),
        ("../../x", "these", "now", "would leave the run's directory"),
        ("x", None, "sometimes", "policy must be one of now, live, end; got 'sometimes'"),
        (None, None, "now", "save() needs a file name or pattern, got NoneType"),
        ("", None, "now", "save() needs a file name or pattern, got ''"),
        ("a\0b", None, "now", "save() needs a file name or pattern"),
        ("s3://bucket/x", None, "now", "is none"),
        ("x", 3, "now", "save() needs base_path, got int"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(
    glob: object, base_path: object, policy: str, message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        understand(glob, base_path, policy=policy)
    assert message in str(raised.value)


def test_small_files_are_copied_at_once_and_large_ones_are_left(tmp_path: Path, in_work: Path) -> None:
    (in_work / "small.pt").write_bytes(b"s")
    (in_work / "large.pt").write_bytes(bytes((1 << 20) + 1))
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    kept = keep_at_once(understand("*.pt", None, policy="now"), str(run_dir), limit_bytes=-1)
    assert sorted(kept.files) == [str(run_dir / "files" / "large.pt"), str(run_dir / "files" / "small.pt")]
    assert (run_dir / "files" / "small.pt").read_bytes() == b"s"
    # Where the file system shares blocks nothing is left.
    assert kept.later == (0 if (run_dir / "files" / "large.pt").exists() else 1)


def test_at_the_end_means_not_now(tmp_path: Path, in_work: Path) -> None:
    (in_work / "small.pt").write_bytes(b"s")
    (tmp_path / "run").mkdir()
    kept = keep_at_once(understand("*.pt", None, policy="end"), str(tmp_path / "run"), limit_bytes=-1)
    assert (len(kept.files), kept.later) == (1, 0)
    assert not (tmp_path / "run" / "files").exists()


def test_the_caller_never_waits_for_many_files(tmp_path: Path, in_work: Path) -> None:
    for number in range(120):
        (in_work / f"{number}.txt").write_bytes(b"x")
    (tmp_path / "run").mkdir()
    assert keep_at_once(understand("*.txt", None, policy="now"), str(tmp_path / "run"), limit_bytes=-1).later == 20


def test_a_file_for_which_there_is_no_room_is_said(tmp_path: Path, in_work: Path) -> None:
    (in_work / "small.pt").write_bytes(bytes(2000))
    (tmp_path / "run").mkdir()
    kept = keep_at_once(understand("*.pt", None, policy="now"), str(tmp_path / "run"), limit_bytes=1000)
    assert "the run's limit of 1,000 bytes leaves no room" in kept.trouble
    assert not (tmp_path / "run" / "files").exists()
