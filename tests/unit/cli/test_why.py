"""How a run ended, told from journals."""

import signal
from pathlib import Path

import msgspec
import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.run_view import LoadedRun
from holter.cli.commands.why import as_json, as_lines
from holter.cli.stdout import Look
from holter.model.records import Beat, Exited, Finished, Preempting, Raised, Signalled
from tests.unit.catalog.journals import BEGAN_NS, Journal, alive, dead, elsewhere, named

SECOND = 1_000_000_000
KEYS = [
    "run",
    "state",
    "cause",
    "confidence",
    "candidates",
    "title",
    "evidence",
    "advice",
    "contributing",
    "ruled_out",
    "not_observable",
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def load(directory: Path) -> LoadedRun:
    return Catalog(str(directory.parents[1])).load(directory.name, patience_s=0.0)


def facts(directory: Path) -> list[tuple[str, str]]:
    return [(each.source, each.text) for each in as_json(load(directory))["evidence"]]


def test_a_killed_run_has_its_signal_and_who_read_it(directory: Path) -> None:
    program = Journal(directory, dead()).say(named("otter")).log(range(10)).close()
    killed = Exited(at_ns=BEGAN_NS + SECOND, journal=program.id, pid=77, source="pidfd-info", status=signal.SIGKILL)
    beat = Beat(at_ns=BEGAN_NS, monotonic_ns=0, pids=(77,))
    Journal(directory, dead(), kind="sidecar").say(beat, killed).close()
    verdict = as_json(load(directory))
    assert list(verdict) == KEYS
    assert (verdict["run"], verdict["state"], verdict["cause"]) == ("r1", "crashed", "unknown")
    assert verdict["title"] == "otter crashed: SIGKILL ended process 77"
    assert [msgspec.to_builtins(each) for each in verdict["evidence"]] == [
        {"source": "sidecar", "at": BEGAN_NS / 1e9, "text": "its last heartbeat: process 77 is alive"},
        {
            "source": "journal",
            "at": (BEGAN_NS + 9_000_000) / 1e9,
            "text": "the last row is for step 9; 10 rows kept",
        },
        {
            "source": "pidfd-info",
            "at": (BEGAN_NS + SECOND) / 1e9,
            "text": "process 77: SIGKILL (signal 9); the kernel told the sidecar",
        },
    ]
    assert verdict["not_observable"] == []


def test_an_exception_is_told_with_the_end_of_its_traceback(directory: Path) -> None:
    trace = "\n".join(["Traceback", *(f"line {number}" for number in range(20)), "ValueError: bad batch"])
    raised = Raised(at_ns=BEGAN_NS, type="ValueError", message="bad batch", traceback=trace)
    Journal(directory, dead()).say(named("otter"), raised, Finished(at_ns=BEGAN_NS, exit_code=1, how="context")).close()
    lines = as_lines(load(directory), Look())
    assert lines[0] == "otter (r1)  ✗ failed: ValueError: bad batch"
    assert lines[-2:] == ["  line 19", "  ValueError: bad batch"]
    assert "  line 0" not in lines


def test_a_status_that_nobody_could_read_is_said_with_a_remedy(directory: Path) -> None:
    Journal(directory, dead()).say(named("otter")).close()
    [missing] = as_json(load(directory))["not_observable"]
    assert missing["what"] == "exit status"
    assert "let the sidecar outlive the program" in missing["remedy"]


def test_a_run_that_fell_silent_elsewhere_is_not_said_to_be_gone(directory: Path) -> None:
    Journal(directory, elsewhere()).say(named("otter")).log(range(3)).close()
    verdict = as_json(load(directory))
    assert (verdict["state"], verdict["not_observable"][0]["remedy"][:17]) == ("crashed", "run `holter why` ")
    assert [source for source, _ in facts(directory)] == ["journal"]


def test_a_run_that_is_well_has_no_cause(directory: Path) -> None:
    Journal(directory, alive()).say(named("otter")).log(range(1)).close()
    verdict = as_json(load(directory))
    assert (verdict["state"], verdict["cause"], verdict["not_observable"]) == ("running", None, [])
    assert facts(directory) == [("journal", "the last row is for step 0; 1 row kept")]


def test_all_words_of_the_program_are_evidence(directory: Path) -> None:
    at_ns = BEGAN_NS
    words = [Signalled(at_ns=at_ns, signal=15), Preempting(at_ns=at_ns), Finished(at_ns=at_ns, how="atexit")]
    Journal(directory, dead()).say(named("otter"), *words).close()
    assert facts(directory)[:3] == [
        ("program", "it got SIGTERM"),
        ("program", "it said that it is being preempted"),
        ("program", "the interpreter shut down by itself"),
    ]


def test_what_an_earlier_attempt_said_is_no_evidence_for_this_one(directory: Path) -> None:
    raised = Raised(at_ns=BEGAN_NS, type="ValueError", message="bad batch", traceback="")
    Journal(directory, dead(), attempt=1).say(named("otter"), raised).close()
    Journal(directory, dead(), attempt=2).say(named("otter"), Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    assert facts(directory) == [("program", "it ended the run with exit code 0")]
