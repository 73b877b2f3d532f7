"""How a verdict becomes part of a run, is remembered, and changes when somebody knows more."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.judge import verdict
from holter.catalog.judge.explaining import LEFT_IN_ORDER
from holter.catalog.judge.inquiry import inquire
from holter.catalog.present.explanation import as_json
from holter.catalog.read.loaded_run import LoadedRun, awaited_evidence, awaited_verdicts, load_run
from holter.journal.rundir import list_segments
from holter.model.evidence import ALL_ASKED, Evidence
from holter.model.records import Exited, Finished, Judged, Looked, Marked, Raised
from holter.model.state import Lateness
from holter.model.verdicts import Diagnosis
from holter.probes.postmortem import asking
from tests.unit.catalog.journals import BEGAN_NS, Journal, age, alive, dead, named

SECOND = 1_000_000_000


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def load(directory: Path) -> LoadedRun:
    loaded = load_run(str(directory), now_ns=time.time_ns(), lateness=Lateness(), is_patient=False)
    assert loaded is not None
    return loaded


def killed(directory: Path, *looked: Looked, status: int = int(signal.SIGKILL)) -> None:
    program = Journal(directory, dead()).say(named("otter")).close()
    gone = Exited(at_ns=BEGAN_NS + SECOND, journal=program.id, pid=dead().pid, source="pidfd-info", status=status)
    Journal(directory, dead(), kind="sidecar").say(gone, *looked).close()


def answers(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> list[Evidence]:
    """Have the rules answer this; returns what they were asked."""
    asked: list[Evidence] = []

    def diagnose(evidence: Evidence) -> Diagnosis:
        asked.append(evidence)
        known = {"cause": "killed", "confidence": 0.9, "title": "Somebody killed it.", "state": evidence.state}
        return Diagnosis(**{**known, **fields})

    monkeypatch.setattr(verdict, "_ask_the_rules", diagnose)
    return asked


def test_the_cause_and_the_state_that_it_demands_are_the_runs(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(directory)
    answers(monkeypatch, cause="scheduler-preempted", state="preempted")
    loaded = verdict.judge(load(directory))
    assert (loaded.row.state, loaded.row.cause, loaded.outcome.state) == (
        "preempted",
        "scheduler-preempted",
        "preempted",
    )


def test_a_run_that_finished_or_lives_is_not_asked_about(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answers(monkeypatch)
    Journal(directory, alive()).say(named("otter")).close()
    assert verdict.judge(load(directory)).diagnosis is None
    other = directory.parent / "r2"
    Journal(other, dead()).say(named("otter"), Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    assert (verdict.judge(load(other)).row.cause, asked) == (None, [])


def test_a_failure_of_ours_costs_only_the_cause(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(evidence: Evidence) -> Diagnosis:
        raise ZeroDivisionError("a mistake of ours")

    killed(directory)
    monkeypatch.setattr(verdict, "_ask_the_rules", fail)
    with pytest.raises(ZeroDivisionError):
        verdict.judge(load(directory))
    monkeypatch.delenv("HOLTER_STRICT")
    judged = verdict.judge(load(directory))
    assert (judged.row.state, judged.row.cause) == ("crashed", "unknown")
    assert judged.diagnosis is not None
    assert "ZeroDivisionError: a mistake of ours" in judged.diagnosis.title


def test_a_verdict_is_remembered_until_somebody_adds_evidence(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(directory)
    age(directory)
    asked = answers(monkeypatch)
    data = str(directory.parents[1])
    for _ in range(3):
        [row] = Catalog(data).rows()
        assert row.cause == "killed"
    assert len(asked) == 1
    Journal(directory, dead(), kind="command").say(Looked(at_ns=BEGAN_NS, source="host")).close()
    Catalog(data).rows()
    assert len(asked) == 2


def keep(directory: Path, monkeypatch: pytest.MonkeyPatch, *, rules: str) -> None:
    """Judge a run as its sidecar does."""
    with monkeypatch.context() as then:
        then.setattr(verdict, "rules_stamp", lambda: rules)
        answers(then, title="The sidecar's word.")
        record = verdict.as_record(verdict.judge_anew(load(directory)))
    assert record is not None
    Journal(directory, dead(), kind="sidecar").say(record).close()


@pytest.mark.parametrize("rules", ["rules of today", "rules of yesterday"])
def test_what_was_found_is_read_and_nobody_is_asked_again(
    directory: Path, monkeypatch: pytest.MonkeyPatch, rules: str
) -> None:
    killed(directory)
    before = as_json(verdict.judge_anew(load(directory)))
    keep(directory, monkeypatch, rules=rules)
    asked = answers(monkeypatch)
    loaded = verdict.judge(load(directory))
    assert (loaded.row.cause, asked) == ("killed", [])
    told = as_json(loaded)
    assert (list(told), told["title"], asked) == (list(before), "The sidecar's word.", [])


def test_what_people_say_is_told_beside_it_and_is_no_evidence(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(directory)
    keep(directory, monkeypatch, rules="rules")
    mark = Marked(at_ns=BEGAN_NS, state="failed", reason="my mistake", by="ada")
    Journal(directory, dead(), kind="command").say(mark).close()
    asked = answers(monkeypatch)
    loaded = verdict.judge(load(directory))
    assert (loaded.row.state, asked) == ("failed", [])
    assert as_json(loaded)["evidence"][-1].text == "ada marked it failed: my mistake"


@pytest.mark.parametrize("attempt", [1, 2])
def test_more_evidence_or_another_attempt_is_judged_anew(
    directory: Path, monkeypatch: pytest.MonkeyPatch, attempt: int
) -> None:
    killed(directory)
    keep(directory, monkeypatch, rules="rules")
    asked = answers(monkeypatch)
    if attempt == 1:
        Journal(directory, dead(), kind="command").say(Looked(at_ns=BEGAN_NS, source="host")).close()
    else:
        Journal(directory, dead(), attempt=2).say(named("otter")).close()
    verdict.judge(load(directory))
    assert len(asked) == 1


def test_what_a_newer_holter_kept_in_another_form_is_judged_here(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(directory)
    weight = verdict.weight_of(load(directory))
    odd = Judged(at_ns=BEGAN_NS, weighed=weight, found={"diagnosis": "in another form"})
    Journal(directory, dead(), kind="sidecar").say(odd).close()
    asked = answers(monkeypatch)
    assert verdict.judge(load(directory)).row.cause == "killed"
    assert len(asked) == 1


def test_whoever_asks_why_gets_the_word_of_newer_rules_which_is_kept(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(directory)
    told_later(monkeypatch)
    keep(directory, monkeypatch, rules="rules of yesterday")
    asked = answers(monkeypatch, cause="terminated")
    assert inquire(verdict.judge(load(directory))).row.cause == "terminated"
    assert inquire(verdict.judge(load(directory))).row.cause == "terminated"
    assert verdict.judge(load(directory)).row.cause == "terminated"
    assert len(asked) == 1


def test_what_is_kept_is_of_a_bounded_size(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(directory)
    answers(monkeypatch, title="x" * 10_000_000)
    record = verdict.as_record(verdict.judge_anew(load(directory)))
    assert len(msgspec.msgpack.encode(record)) < 30_000


def test_while_the_sidecar_lives_nothing_is_final(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch)
    program = Journal(directory, dead()).say(named("otter")).close()
    gone = Exited(at_ns=BEGAN_NS, journal=program.id, pid=dead().pid, source="pidfd-info", status=9)
    Journal(directory, alive(), kind="sidecar").say(gone).close()
    assert not load(directory).is_settled


@pytest.mark.parametrize(
    ("after_s", "status", "is_done", "is_awaited"),
    [(1, 9, False, True), (1, 9, True, False), (60, 9, False, False), (1, 0, False, False)],
)
def test_a_sidecar_that_still_asks_is_waited_for(
    directory: Path, after_s: float, status: int, is_done: bool, is_awaited: bool
) -> None:
    now_ns = BEGAN_NS + int(after_s * SECOND)
    program = Journal(directory, dead()).say(named("otter")).close()
    gone = Exited(at_ns=BEGAN_NS, journal=program.id, pid=dead().pid, source="pidfd-info", status=status)
    done = [Looked(at_ns=BEGAN_NS, source=ALL_ASKED, pid=dead().pid)] if is_done else []
    Journal(directory, alive(), kind="sidecar").say(gone, *done).close()
    assert bool(awaited_evidence(load(directory).digests, now_ns)) is is_awaited


def test_a_server_waits_for_its_word_too(directory: Path) -> None:
    program = Journal(directory, dead()).say(named("otter")).close()
    gone = Exited(at_ns=BEGAN_NS, journal=program.id, pid=dead().pid, source="pidfd-info", status=9)
    asked = Looked(at_ns=BEGAN_NS, source=ALL_ASKED, pid=dead().pid)
    sidecar = Journal(directory, alive(), kind="sidecar").say(gone, asked)
    assert len(awaited_verdicts(load(directory).digests, BEGAN_NS + SECOND)) == 1
    sidecar.say(Judged(at_ns=BEGAN_NS, weighed="")).close()
    assert awaited_verdicts(load(directory).digests, BEGAN_NS + SECOND) == []


def test_a_dead_sidecar_is_not_waited_for(directory: Path) -> None:
    killed(directory)
    assert awaited_evidence(load(directory).digests, BEGAN_NS + SECOND) == []


def told_later(monkeypatch: pytest.MonkeyPatch, *found: Looked) -> None:
    monkeypatch.setattr(asking, "look_again", lambda digests, ended_ns: list(found))


def segments(directory: Path) -> int:
    return len(list_segments(str(directory)))


def test_what_is_learnt_later_is_written_down_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(directory)
    asked = answers(monkeypatch)
    told_later(monkeypatch, Looked(at_ns=BEGAN_NS, source="job", found={"scheduler": "slurm", "state": "TIMEOUT"}))
    inquire(load(directory))
    assert asked[-1].job is not None
    assert (asked[-1].job.state, segments(directory)) == ("TIMEOUT", 3)
    inquire(load(directory))
    assert segments(directory) == 3


def test_in_a_directory_of_somebody_else_the_answer_is_the_same_and_nothing_is_written(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(directory)
    asked = answers(monkeypatch)
    told_later(monkeypatch, Looked(at_ns=BEGAN_NS, source="job", found={"scheduler": "slurm", "state": "TIMEOUT"}))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    inquire(load(directory))
    assert asked[-1].job is not None
    assert (asked[-1].job.state, segments(directory)) == ("TIMEOUT", 2)


def test_nobody_asks_about_a_run_that_is_well(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> list[Looked]:
        raise AssertionError

    monkeypatch.setattr(asking, "look_again", refuse)
    Journal(directory, alive()).say(named("otter")).close()
    assert inquire(load(directory)).row.state == "running"


def test_a_sigterm_that_a_program_handled_ends_it_as_crashed(directory: Path) -> None:
    killed(directory, status=0)
    fields = {"code": 0, "at": BEGAN_NS, "pid": dead().pid, "tid": 1, "from": 1, "uid": 0, "addr": 0, "sp": 0, "ip": 0}
    line = "\t".join(["SIG 15", *(f"{name} {value}" for name, value in fields.items()), "then handler"])
    (directory / "signals.log").write_text(f"WITNESS {dead().pid}\n{line}\n")
    assert load(directory).by_itself.state == "crashed"


def test_the_same_signal_an_hour_before_the_end_is_not_its_reason(directory: Path) -> None:
    program = Journal(directory, dead()).say(named("otter")).close()
    gone = Exited(at_ns=BEGAN_NS + 3500 * SECOND, journal=program.id, pid=dead().pid, source="pidfd-info", status=0)
    Journal(directory, dead(), kind="sidecar").say(gone).close()
    fields = {"code": 0, "at": BEGAN_NS, "pid": dead().pid, "tid": 1, "from": 1, "uid": 0, "addr": 0, "sp": 0, "ip": 0}
    line = "\t".join(["SIG 15", *(f"{name} {value}" for name, value in fields.items()), "then handler"])
    (directory / "signals.log").write_text(f"{line}\n")
    assert load(directory).by_itself.state == "finished"


def test_an_exception_is_judged_by_the_real_rules(directory: Path) -> None:
    raised = Raised(at_ns=BEGAN_NS, type="ValueError", message="bad batch", traceback="")
    Journal(directory, dead()).say(named("otter"), raised, Finished(at_ns=BEGAN_NS, exit_code=1, how="context")).close()
    assert verdict.judge(load(directory)).row.cause == "uncaught-exception"


@pytest.mark.parametrize(("heeded", "confidence", "unseen"), [([2], 1.0, []), ([2, 15], LEFT_IN_ORDER, ["terminated"])])
def test_a_command_that_handles_sigterm_may_have_left_with_0_because_of_one(
    directory: Path, heeded: list[int], confidence: float, unseen: list[str]
) -> None:
    program = Journal(directory, dead(), kind="launcher").say(named("otter")).close()
    done = Exited(at_ns=BEGAN_NS + SECOND, journal=program.id, pid=dead().pid, source="wait", status=0)
    seen = Looked(at_ns=BEGAN_NS + SECOND, source="last-seen", pid=dead().pid, found={"heeded": heeded})
    Journal(directory, dead(), kind="sidecar").say(done, seen).close()
    loaded = load(directory)

    told = verdict.explain(loaded).diagnosis

    assert (told.state, told.cause, told.confidence) == ("finished", None, confidence)
    assert [each.cause for each in told.not_observable] == unseen
