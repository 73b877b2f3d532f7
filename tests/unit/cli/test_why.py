"""How a run ended, told from journals."""

from pathlib import Path
from typing import Any

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.judge.explaining import LEFT_IN_ORDER
from holter.catalog.present.explanation import as_json
from holter.catalog.read.loaded_run import LoadedRun
from holter.cli.commands.why import as_lines
from holter.cli.stdout import Look
from holter.model.records import Exited, Finished, Marked, Preempting, Raised
from tests.unit.catalog.journals import BEGAN_NS, Journal, alive, dead, elsewhere, named

SECOND = 1_000_000_000
KEYS = [
    "run",
    "state",
    "cause",
    "confidence",
    "grade",
    "candidates",
    "title",
    "evidence",
    "advice",
    "contributing",
    "ruled_out",
    "not_observable",
    "curves",
    "cell",
    "stack",
    "cause_mark",
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def load(directory: Path) -> LoadedRun:
    return Catalog(str(directory.parents[1])).load(directory.name, patience_s=0.0)


def verdict(directory: Path) -> dict[str, Any]:
    loaded = load(directory)
    found = as_json(loaded)
    assert list(found) == KEYS
    return found


def told(directory: Path, seen: Look | None = None) -> list[str]:
    loaded = load(directory)
    return as_lines(loaded, seen=seen or Look())


def facts(directory: Path) -> list[tuple[str, str]]:
    return [(each.source, each.text) for each in verdict(directory)["evidence"]]


def failed(directory: Path) -> None:
    trace = "\n".join(["Traceback", *(f"line {number}" for number in range(20)), "ValueError: bad batch"])
    raised = Raised(at_ns=BEGAN_NS, type="ValueError", message="bad batch", traceback=trace)
    end = Finished(at_ns=BEGAN_NS, exit_code=1, how="context")
    Journal(directory, dead()).say(named("otter"), raised, end).log(range(10)).close()


def test_an_exception_is_a_cause_with_its_facts_and_the_end_of_its_traceback(directory: Path) -> None:
    failed(directory)
    found = verdict(directory)
    assert (found["run"], found["state"], found["cause"]) == ("r1", "failed", "uncaught-exception")
    assert found["confidence"] >= 0.9
    assert "ValueError: bad batch" in found["title"]
    assert 2 <= len(found["evidence"]) <= 7
    lines = told(directory)
    assert lines[0] == "otter (r1)  ✗ failed after 0.0s, 10 rows, the last for step 9"
    assert lines[-2:] == ["  line 19", "  ValueError: bad batch"]
    assert "  line 0" not in lines


def test_the_view_has_the_cause_too(directory: Path) -> None:
    failed(directory)
    [row] = Catalog(str(directory.parents[1])).rows()
    assert (row.state, row.cause) == ("failed", "uncaught-exception")


def test_a_status_that_nobody_could_read_is_said_with_a_remedy(directory: Path) -> None:
    Journal(directory, dead()).say(named("otter")).close()
    found = verdict(directory)
    assert found["state"] == "crashed"
    missing = [each for each in found["not_observable"] if each["what"] == "exit status"]
    assert "let the sidecar outlive the program" in missing[0]["remedy"]


def test_a_run_that_fell_silent_elsewhere_is_not_said_to_be_gone(directory: Path) -> None:
    Journal(directory, elsewhere()).say(named("otter")).log(range(3)).close()
    found = verdict(directory)
    assert found["state"] == "crashed"
    assert "run `holter why` there" in found["not_observable"][-1]["remedy"]


def test_a_run_that_is_well_has_no_cause(directory: Path) -> None:
    Journal(directory, alive()).say(named("otter")).log(range(1)).close()
    found = verdict(directory)
    assert (found["state"], found["cause"], found["not_observable"], found["advice"]) == ("running", None, [], ())
    assert facts(directory) == [("journal", "the last row is for step 0; 1 row kept")]
    assert told(directory)[2] == f"It is still running: process {alive().pid} is alive"


def test_a_run_that_finished_says_so_with_its_closest_call(directory: Path) -> None:
    program = Journal(directory, dead()).say(named("otter"), Finished(at_ns=BEGAN_NS + SECOND, exit_code=0)).close()
    sidecar = Journal(directory, dead(), kind="sidecar")
    sample = {"system/process/anon_bytes": 3e9, "system/cgroup/0/oom_kill": 0.0, "system/cgroup/0/limit_bytes": 4e9}
    for second in range(3):
        sidecar.rows.append(sample, second, BEGAN_NS + second)
    sidecar.say(Exited(at_ns=BEGAN_NS + SECOND, journal=program.id, pid=77, source="pidfd-info", status=0)).close()
    found = verdict(directory)
    assert (found["state"], found["cause"], found["confidence"]) == ("finished", None, 1.0)
    assert found["title"] == "Finished normally: the program ended the run"
    assert facts(directory)[-1] == ("samples", "closest call: it held 3.0 GB, 75 % of its memory limit of 4.0 GB")
    assert "cause" not in " ".join(told(directory))


def test_where_nobody_read_the_exit_code_a_normal_end_is_less_than_certain(directory: Path) -> None:
    Journal(directory, dead()).say(named("otter"), Finished(at_ns=BEGAN_NS, how="atexit")).close()
    found = verdict(directory)
    assert (found["state"], found["cause"], found["confidence"]) == ("finished", None, round(LEFT_IN_ORDER, 3))
    assert found["title"].startswith("It seems to have finished")
    assert [each["what"] for each in found["not_observable"]] == ["exit status"]


def test_a_persons_mark_wins_and_the_verdict_stays(directory: Path) -> None:
    failed(directory)
    mark = Marked(at_ns=BEGAN_NS + SECOND, state="crashed", reason="the node was drained", by="ada")
    Journal(directory, dead(), kind="command").say(mark).close()
    found = verdict(directory)
    assert (found["state"], found["cause"]) == ("crashed", "uncaught-exception")
    assert facts(directory)[-1] == ("person", "ada marked it crashed: the node was drained")
    assert load(directory).by_itself.state == "failed"


def test_all_words_of_the_program_are_told_where_no_rule_has_any(directory: Path) -> None:
    at_ns = BEGAN_NS
    words = [Preempting(at_ns=at_ns), Finished(at_ns=at_ns, how="atexit")]
    Journal(directory, dead()).say(named("otter"), *words).close()
    assert [fact for fact in facts(directory) if fact[0] == "program"] == [
        ("program", "it said that it was being preempted"),
        ("program", "the interpreter shut down normally"),
    ]


def test_a_narrow_terminal_without_unicode_is_enough(directory: Path) -> None:
    failed(directory)
    lines = told(directory, Look(width=80, has_unicode=False))
    assert lines[0].startswith("otter (r1)  x failed")
    assert all(line.isascii() for line in lines)
    assert max(map(len, lines)) <= 80


def test_what_an_earlier_attempt_said_is_no_evidence_for_this_one(directory: Path) -> None:
    raised = Raised(at_ns=BEGAN_NS, type="ValueError", message="bad batch", traceback="")
    Journal(directory, dead(), attempt=1).say(named("otter"), raised).close()
    Journal(directory, dead(), attempt=2).say(named("otter"), Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    assert facts(directory) == [("program", "it ended the run with exit code 0")]
