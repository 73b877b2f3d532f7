"""Among many runs in which nothing happens, those that changed are found, and looking costs little."""

import os
from pathlib import Path

import pytest

from holter.server.ingest import quiet_runs
from holter.server.ingest.followed_run import stamp_of
from holter.server.ingest.quiet_runs import AT_LEAST, QuietRuns

LONG_AGO = 1_700_000_000
RUNS = 3 * AT_LEAST


def let_alone(directory: Path) -> None:
    for path in [*directory.iterdir(), directory]:
        os.utime(path, (LONG_AGO, LONG_AGO))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Many runs that nobody has touched for long."""
    for number in range(RUNS):
        directory = tmp_path / "runs" / f"r{number}"
        directory.mkdir(parents=True)
        (directory / "a.seg").write_bytes(b"x")
        let_alone(directory)
    return tmp_path


@pytest.fixture
def known(data: Path) -> QuietRuns:
    """All of them have been looked at."""
    stamps = {path.name: stamp_of(str(path)) for path in (data / "runs").iterdir()}
    found = QuietRuns(str(data), stamps)
    assert list(found.changed(found.ids())) == []
    return found


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories that are looked at as a whole."""
    found: list[str] = []

    def counted(directory: str) -> int:
        found.append(directory)
        return stamp_of(directory)

    monkeypatch.setattr(quiet_runs, "stamp_of", counted)
    return found


def test_whoever_is_not_known_or_was_alive_has_changed(data: Path) -> None:
    stamp_ns = stamp_of(str(data / "runs" / "r0"))
    quiet = QuietRuns(str(data), dict.fromkeys([f"r{number}" for number in range(2, RUNS)], stamp_ns) | {"r0": 0})
    assert sorted(quiet.changed(quiet.ids())) == ["r0", "r1"]


def test_a_file_more_is_seen_at_once_among_however_many(known: QuietRuns, data: Path, looks: list[str]) -> None:
    (data / "runs" / "r7" / "b.seg").write_bytes(b"y")
    assert list(known.changed(known.ids(), within_s=0.0)) == ["r7"]
    assert len(looks) <= AT_LEAST + 1


def test_a_file_that_grows_is_seen_when_it_is_its_turn(known: QuietRuns, data: Path, looks: list[str]) -> None:
    with (data / "runs" / "r7" / "a.seg").open("ab") as file:
        file.write(b"y")
    found: list[str] = []
    for turn in range(RUNS // AT_LEAST):
        found += known.changed(known.ids(), within_s=0.0)
        assert len(looks) <= (turn + 1) * AT_LEAST
    assert found == ["r7"]


def test_who_has_time_looks_at_all(known: QuietRuns, data: Path, looks: list[str]) -> None:
    with (data / "runs" / "r7" / "a.seg").open("ab") as file:
        file.write(b"y")
    assert list(known.changed(known.ids(), within_s=60.0)) == ["r7"]
    assert len(looks) == RUNS


def test_new_runs_are_seen_and_where_there_are_none_nothing_is_listed(
    known: QuietRuns, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "runs" / "new").mkdir()
    assert known.new_ids() == known.new_ids() == {"new"}  # it may not have been the only one of this moment
    known.stamps["new"] = 0
    os.utime(data / "runs", (LONG_AGO, LONG_AGO))
    assert known.new_ids() == set()
    monkeypatch.delattr(os, "listdir")
    assert known.new_ids() == set()


def test_a_run_that_is_gone_is_forgotten_and_no_folder_is_no_runs(known: QuietRuns, data: Path) -> None:
    (data / "runs" / "r7" / "a.seg").unlink()
    (data / "runs" / "r7").rmdir()
    for _ in range(2):
        assert list(known.changed(known.ids())) == []
    assert (QuietRuns(str(data / "nothing"), {}).ids(), QuietRuns(str(data / "nothing"), {}).new_ids()) == (
        set(),
        set(),
    )
