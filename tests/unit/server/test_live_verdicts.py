"""A verdict is read where the ingest kept it; made when asked for only where there is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.catalog.judge import verdict
from holter.catalog.read.machines import Machines
from holter.model.clock import Clock
from holter.model.evidence import Evidence
from holter.model.records import Exited, Looked, Marked
from holter.model.state import Lateness
from holter.model.verdicts import Diagnosis
from holter.server.ingest.ingest import Ingest
from holter.server.live import verdicts as module
from holter.server.live.changes import Changes
from holter.server.live.verdicts import Verdicts
from holter.storage.opening import Storage, open_storage
from tests.unit.catalog.journals import BEGAN_NS, Journal, age, alive, dead, named

KILLED = 9


@pytest.fixture
def storage() -> Iterator[Storage]:
    opened = open_storage("memory:")
    yield opened
    opened.close()


@pytest.fixture
def verdicts(tmp_path: Path, storage: Storage) -> Iterator[Verdicts]:
    made = Verdicts(str(tmp_path), storage=storage, lateness=Lateness, changes=Changes(1), machines=Machines())
    yield made
    made.close()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that was killed; a witness has said so, and not why."""
    directory = tmp_path / "runs" / "r1"
    program = Journal(directory, dead()).say(named("n"))
    program.close()
    gone = Exited(at_ns=BEGAN_NS + 1, journal=program.id, pid=dead().pid, status=KILLED, source="wait")
    Journal(directory, dead(), kind="command").say(gone).close()
    age(directory)
    return directory


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Evidence]:
    """What the rules were asked about, one after another."""
    found: list[Evidence] = []
    rules = verdict._ask_the_rules

    def counted(evidence: Evidence) -> Diagnosis:
        found.append(evidence)
        return rules(evidence)

    monkeypatch.setattr(verdict, "_ask_the_rules", counted)
    return found


@pytest.mark.usefixtures("run")
def test_the_ingest_judges_once_and_everybody_reads_that(
    tmp_path: Path, storage: Storage, verdicts: Verdicts, asked: list[Evidence], monkeypatch: pytest.MonkeyPatch
) -> None:
    Ingest(str(tmp_path), storage, clock=Clock()).catch_up()
    assert len(asked) == 1
    monkeypatch.setattr(module, "Catalog", None)
    told = verdicts.verdict("r1")
    assert (told["state"], told["cause"]) == ("crashed", "killed")
    assert told == verdicts.verdict("r1")
    assert verdicts.load("r1").row.cause == "killed"
    assert len(asked) == 1


def test_what_comes_later_is_in_the_next_one(
    tmp_path: Path, storage: Storage, verdicts: Verdicts, run: Path, asked: list[Evidence]
) -> None:
    ingest = Ingest(str(tmp_path), storage, clock=Clock())
    ingest.catch_up()
    before = verdicts.verdict("r1")
    found = {"scheduler": "slurm", "job": "7", "state": "TIMEOUT", "source": "sacct"}
    Journal(run, dead(), kind="command").say(
        Looked(at_ns=BEGAN_NS, source="job", found=found),
        Marked(at_ns=BEGAN_NS, state="failed", reason="too slow", by="ada"),
    ).close()
    ingest.catch_up()
    after = verdicts.verdict("r1")
    assert (before["cause"], after["cause"], after["state"]) == ("killed", "scheduler-time-limit", "failed")
    assert after["evidence"][-1].text == "ada marked it failed: too slow"
    assert len(asked) == 2


@pytest.mark.usefixtures("run")
def test_before_the_ingest_has_seen_a_run_its_journals_are_asked(verdicts: Verdicts) -> None:
    assert verdicts.verdict("r1")["cause"] == "killed"


def test_of_a_living_run_a_verdict_is_made_whenever_somebody_asks(
    tmp_path: Path, storage: Storage, verdicts: Verdicts, asked: list[Evidence]
) -> None:
    Journal(tmp_path / "runs" / "r2", alive()).say(named("n")).close()
    Ingest(str(tmp_path), storage, clock=Clock()).catch_up()
    assert verdicts.verdict("r2")["state"] == verdicts.verdict("r2")["state"] == "running"
    assert len(asked) == 2
