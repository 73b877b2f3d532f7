"""A verdict is kept as long as nothing is new, and no longer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.catalog.judge.gathering import gather
from holter.catalog.read.run_view import LoadedRun
from holter.catalog.read.sightings import Sightings
from holter.model.evidence import Evidence
from holter.model.records import Exited
from holter.model.state import Lateness
from holter.server.live import verdict_cache as module
from holter.server.live.changes import Changes
from holter.server.live.verdict_cache import VerdictCache
from holter.storage.opening import Storage, open_storage
from tests.unit.catalog.journals import BEGAN_NS, Journal, age, dead, named

KILLED = 9


@pytest.fixture
def storage() -> Iterator[Storage]:
    opened = open_storage("memory:")
    yield opened
    opened.close()


@pytest.fixture
def verdicts(tmp_path: Path, storage: Storage) -> Iterator[VerdictCache]:
    made = VerdictCache(str(tmp_path), runs=storage.runs, lateness=Lateness, changes=Changes(1), sightings=Sightings())
    yield made
    made.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose process is gone; a witness has said so, and not how."""
    directory = tmp_path / "runs" / "r1"
    program = Journal(directory, dead()).say(named("n"))
    program.close()
    gone = Exited(at_ns=BEGAN_NS + 1, journal=program.id, pid=dead().pid, source="gone")
    Journal(directory, dead(), kind="command").say(gone).close()
    age(directory)
    return directory


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which runs a verdict was made on, one after another."""
    found: list[str] = []

    def counted(loaded: LoadedRun) -> Evidence:
        found.append(loaded.view.id)
        return gather(loaded)

    monkeypatch.setattr(module, "gather", counted)
    return found


def test_a_verdict_is_made_once(verdicts: VerdictCache, run: Path, judged: list[str]) -> None:
    verdicts.verdict("r1")  # and the run's files are written, which no sidecar did
    age(run)
    judged.clear()
    assert verdicts.verdict("r1") == verdicts.verdict("r1") == verdicts.verdict("r1")
    assert judged == ["r1"]


def test_what_came_while_a_verdict_was_made_is_in_the_next_one(
    verdicts: VerdictCache, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(loaded: LoadedRun) -> Evidence:
        monkeypatch.setattr(module, "gather", gather)
        [program] = [each.journal for each in loaded.digests if each.opened.writer == "client"]
        exited = Exited(at_ns=BEGAN_NS + 1, journal=program, pid=dead().pid, status=KILLED, source="wait")
        Journal(run, dead(), kind="sidecar").say(exited).close()
        return gather(loaded)

    monkeypatch.setattr(module, "gather", late)
    before = verdicts.verdict("r1")
    after = verdicts.verdict("r1")
    assert not any("SIGKILL" in each.text for each in before["evidence"])
    assert any("SIGKILL" in each.text for each in after["evidence"])


def test_what_comes_in_the_same_moment_as_a_directory_was_looked_at_is_not_hidden_for_ever(
    verdicts: VerdictCache, run: Path, judged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The times of files move in steps: a file may be new and the time the same."""
    run.touch()
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    verdicts.verdict("r1")
    verdicts.verdict("r1")
    assert judged == ["r1", "r1"]
