"""The cache that makes a listing of ten thousand runs quick: it may never tell anything but the truth."""

import os
import shutil
from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.read import ended_runs
from holter.model.records import Finished, Marked
from holter.model.run_row import RunRow
from tests.unit.catalog.journals import BEGAN_NS, Journal, age, alive, dead, elsewhere, named

FINISHED = Finished(at_ns=BEGAN_NS + 1_000_000_000, exit_code=0)


@pytest.fixture
def ended(tmp_path: Path) -> Path:
    directory = tmp_path / "runs" / "r1"
    Journal(directory, dead()).say(named("ended")).log(range(3)).say(FINISHED).close()
    age(directory)
    return directory


def rows(data: Path) -> list[RunRow]:
    return Catalog(str(data)).rows()


def spoil(directory: Path) -> None:
    """Overwrite the journals: from now on only the cache knows the run."""
    changed_ns = directory.stat().st_mtime_ns
    for path in directory.glob("*.seg"):
        path.write_bytes(b"\0" * 100)
    os.utime(directory, ns=(changed_ns, changed_ns))


def test_an_ended_run_is_not_read_again(ended: Path, tmp_path: Path) -> None:
    [first] = rows(tmp_path)
    spoil(ended)
    assert [row.told() for row in rows(tmp_path)] == [first.told()]
    assert (first.name, first.state, first.rows) == ("ended", "finished", 3)


def test_with_other_rules_every_run_is_read_again(ended: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows(tmp_path)
    spoil(ended)
    monkeypatch.setattr(ended_runs, "rules_stamp", lambda: "other rules")
    assert rows(tmp_path) == []


def test_whatever_adds_a_file_is_seen(ended: Path, tmp_path: Path) -> None:
    rows(tmp_path)
    mark = Marked(at_ns=BEGAN_NS, state="failed", reason="wrong data", by="ada")
    Journal(ended, dead(), kind="command").say(mark).close()
    assert [row.state for row in rows(tmp_path)] == ["failed"]


def test_another_attempt_is_seen(ended: Path, tmp_path: Path) -> None:
    rows(tmp_path)
    Journal(ended, alive(), attempt=2).close()
    assert [(row.state, row.attempt) for row in rows(tmp_path)] == [("running", 2)]


def is_settled(directory: Path) -> bool:
    age(directory)
    catalog = Catalog(str(directory.parents[1]))
    catalog.rows()
    return directory.name in catalog.settled


def test_a_run_that_runs_or_may_run_elsewhere_is_read_each_time(tmp_path: Path) -> None:
    Journal(tmp_path / "runs" / "here", alive()).close()
    Journal(tmp_path / "runs" / "elsewhere", elsewhere()).close()
    assert not is_settled(tmp_path / "runs" / "here")
    assert not is_settled(tmp_path / "runs" / "elsewhere")


@pytest.mark.parametrize(("kind", "rank"), [("worker", None), ("client", 1)])
def test_an_ended_run_to_which_another_process_adds_is_read_each_time(ended: Path, kind: str, rank: int | None) -> None:
    assert is_settled(ended)
    Journal(ended, alive(), kind=kind, rank=rank).close()
    assert not is_settled(ended)


def test_a_run_whose_sidecar_may_still_say_how_it_ended_is_read_each_time(tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "r1"
    Journal(directory, dead()).close()
    Journal(directory, alive(), kind="sidecar").close()
    assert not is_settled(directory)


def test_a_directory_that_changed_a_moment_ago_is_not_trusted_yet(tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "r1"
    Journal(directory, dead()).say(FINISHED).close()
    rows(tmp_path)
    assert not (tmp_path / "cache").exists()


def test_all_runs_may_move_together(ended: Path, tmp_path: Path) -> None:
    rows(tmp_path)
    shutil.copytree(tmp_path, tmp_path.parent / "moved", copy_function=shutil.copy2)
    [row] = rows(tmp_path.parent / "moved")
    assert row.directory == str(tmp_path.parent / "moved" / "runs" / "r1")


def test_a_removed_run_is_forgotten(ended: Path, tmp_path: Path) -> None:
    rows(tmp_path)
    cache = tmp_path / "cache" / "ended-runs.msgpack"
    assert b"ended" in cache.read_bytes()
    shutil.rmtree(ended)
    assert rows(tmp_path) == []
    assert b"ended" not in cache.read_bytes()


@pytest.mark.parametrize("damage", [b"", b"\xff\xff", b"\x81\xa6holter"])
def test_a_damaged_cache_only_costs_time(ended: Path, tmp_path: Path, damage: bytes) -> None:
    rows(tmp_path)
    (tmp_path / "cache" / "ended-runs.msgpack").write_bytes(damage)
    assert [row.name for row in rows(tmp_path)] == ["ended"]


def test_the_cache_is_as_private_as_the_runs(ended: Path, tmp_path: Path) -> None:
    rows(tmp_path)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "cache" / "ended-runs.msgpack").stat().st_mode & 0o777 == 0o600
