"""Runs that other rules had judged are judged again, little by little, though nothing in their directories is new."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holter.catalog.judge import verdict
from holter.catalog.read.loaded_run import load_run
from holter.catalog.read.rules_stamp import rules_stamp
from holter.model.clock import Clock
from holter.model.evidence import Evidence
from holter.model.records import Exited, Marked
from holter.model.run_row import Mark, RunRow
from holter.model.state import Lateness
from holter.model.verdicts import Diagnosis
from holter.server.ingest import ingest as module
from holter.server.ingest import old_verdicts, run_rows
from holter.server.ingest.ingest import Ingest
from holter.storage.opening import Storage, open_storage
from tests.unit.catalog.journals import BEGAN_NS, Journal, age, dead, named

RUNS = 5
KILLED = 9


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    opened = open_storage(f"sqlite:{tmp_path / 'index'}")
    yield opened
    opened.close()


@pytest.fixture
def settled(tmp_path: Path, storage: Storage) -> list[str]:
    """Runs that were killed, and were taken in."""
    runs = [f"r{number}" for number in range(RUNS)]
    for run in runs:
        directory = tmp_path / "runs" / run
        program = Journal(directory, dead()).say(named(run)).close()
        exited = Exited(at_ns=BEGAN_NS + 1, journal=program.id, pid=dead().pid, status=KILLED, source="wait")
        Journal(directory, dead(), kind="sidecar").say(exited).close()
        age(directory)
    take_in(tmp_path, storage)
    assert {row(storage, run).cause for run in runs} == {"killed"}
    assert {seen.rules for seen in storage.runs.seen().values()} == {rules_stamp()}
    return runs


def come_with_other_rules(monkeypatch: pytest.MonkeyPatch) -> list[Evidence]:
    """As the next version would; returns what they were asked about."""
    asked: list[Evidence] = []

    def ask(evidence: Evidence) -> Diagnosis:
        asked.append(evidence)
        return Diagnosis(cause="bad-luck", confidence=0.9, title="it had bad luck", state="failed")

    monkeypatch.setattr(verdict, "_ask_the_rules", ask)
    for each in (old_verdicts, run_rows, verdict):
        monkeypatch.setattr(each, "rules_stamp", lambda: "other rules")
    return asked


def take_in(tmp_path: Path, storage: Storage) -> Ingest:
    ingest = Ingest(str(tmp_path), storage, clock=Clock())
    ingest.catch_up()
    return ingest


def row(storage: Storage, run: str) -> RunRow:
    found = storage.runs.get(run)
    assert found is not None
    return found


def test_a_run_that_ended_long_ago_has_the_cause_that_the_rules_of_today_give_it(
    tmp_path: Path, storage: Storage, settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "JUDGE_S", 60.0)
    come_with_other_rules(monkeypatch)
    told = Ingest(str(tmp_path), storage, clock=Clock()).tick()
    assert {(row(storage, run).state, row(storage, run).cause) for run in settled} == {("failed", "bad-luck")}
    assert sorted(change.run for change in told if change.has_row) == settled


def test_many_are_judged_a_few_at_a_time_and_each_once(
    tmp_path: Path, storage: Storage, settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "JUDGE_S", 0.0)
    asked = come_with_other_rules(monkeypatch)
    ingest = Ingest(str(tmp_path), storage, clock=Clock())
    counts = []
    for _ in range(RUNS + 2):
        ingest.tick()
        counts.append(len(asked))
    assert counts == [1, 2, 3, 4, 5, 5, 5]
    Ingest(str(tmp_path), storage, clock=Clock()).tick()
    assert len(asked) == RUNS


def test_with_the_same_rules_none_is_judged_again(
    tmp_path: Path, storage: Storage, settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_verdicts, "judge_anew", None)
    assert Ingest(str(tmp_path), storage, clock=Clock()).tick() == []


def test_a_run_that_can_not_be_read_any_more_stays_as_it_was(
    tmp_path: Path, storage: Storage, settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "JUDGE_S", 60.0)
    come_with_other_rules(monkeypatch)
    monkeypatch.setattr(old_verdicts, "run_directory", lambda data, run: f"{data}/not-mounted/{run}")
    Ingest(str(tmp_path), storage, clock=Clock()).tick()
    assert {row(storage, run).cause for run in settled} == {"killed"}


def test_a_run_over_which_the_rules_fail_stays_as_it_was_and_stops_no_other(
    tmp_path: Path, storage: Storage, settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = come_with_other_rules(monkeypatch)
    answer = verdict._ask_the_rules

    def fail_once(evidence: Evidence) -> Diagnosis:
        diagnosis = answer(evidence)
        if len(asked) == 2:
            raise ZeroDivisionError
        return diagnosis

    monkeypatch.setattr(verdict, "_ask_the_rules", fail_once)
    ingest = Ingest(str(tmp_path), storage, clock=Clock())
    for _ in range(RUNS + 1):
        ingest.tick()
    assert sorted(row(storage, run).cause or "" for run in settled) == ["bad-luck"] * (RUNS - 1) + ["killed"]


def test_what_a_machine_with_other_rules_found_holds_until_ours_have_been_asked(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "runs" / "r1"
    program = Journal(directory, dead()).say(named("r1")).close()
    exited = Exited(at_ns=BEGAN_NS + 1, journal=program.id, pid=dead().pid, status=KILLED, source="wait")
    Journal(directory, dead(), kind="sidecar").say(exited).close()
    with monkeypatch.context() as there:
        come_with_other_rules(there)
        loaded = load_run(str(directory), now_ns=BEGAN_NS + 2, lateness=Lateness())
        assert loaded is not None
        record = verdict.as_record(verdict.judge_anew(loaded))
        assert record is not None
    Journal(directory, dead(), kind="sidecar").say(record).close()
    with monkeypatch.context() as at_first:
        at_first.setattr(Ingest, "_renew_verdicts", lambda *_: None)
        ingest = take_in(tmp_path, storage)
    assert (row(storage, "r1").state, row(storage, "r1").cause) == ("failed", "bad-luck")
    ingest.catch_up()
    ingest.catch_up()
    assert (row(storage, "r1").state, row(storage, "r1").cause) == ("crashed", "killed")
    assert row(storage, "r1").rules == rules_stamp()


def test_what_an_earlier_version_did_not_keep_of_a_run_is_added(
    tmp_path: Path, storage: Storage, settled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    word = Marked(at_ns=BEGAN_NS + 2, state="failed", reason="wrong data", by="ada")
    directory = tmp_path / "runs" / settled[0]
    Journal(directory, dead(), kind="command").say(word).close()
    age(directory)
    take_in(tmp_path, storage)
    marked = row(storage, settled[0])
    assert marked.mark == Mark("failed", "wrong data", "ada", word.at_ns / 1e9)
    storage.runs.put([msgspec.structs.replace(marked, mark=None, rules="of an earlier version")])
    monkeypatch.setattr(module, "JUDGE_S", 60.0)
    Ingest(str(tmp_path), storage, clock=Clock()).tick()
    assert row(storage, settled[0]) == marked
