"""A death stands once, also where several runs tell of it, and two deaths stand twice."""

from pathlib import Path

import pytest

from holter.model.records import KERNEL, Described, Exited, Launched
from holter.model.run_row import RunRow
from holter.server.api.projects import needs_attention
from holter.server.domain.services import ServerSettings, Services
from holter.server.query.deaths import each_once
from holter.server.security.access import Visitor
from holter.server.transport.routing import Nothing, Visit
from tests.unit.catalog.journals import BEGAN_NS, Journal, alive, dead, named

ENDED = 1_000_000.0


def told(*runs: tuple[str, str, float, str, str], state: str = "crashed") -> list[str]:
    """The ids that are left of runs with id, kind, end, cause and process."""
    rows = [
        RunRow(
            id=run,
            kind=kind,
            processes=(process,),
            state=state,
            cause=cause,
            started_ns=place,
            ended_ns=int((ENDED + end) * 1e9),
        )
        for place, (run, kind, end, cause, process) in enumerate(runs)
    ]
    return [row.id for row in each_once(rows)]


def test_a_kernel_that_dies_with_its_training_is_the_trainings_death() -> None:
    assert told(("kernel", KERNEL, 0.0, "killed", "p"), ("training", "", -0.2, "killed", "p")) == ["training"]
    assert told(("kernel", KERNEL, 0.0, "killed", "p"), ("training", "", -9.0, "killed", "p")) == ["training"]


def test_a_kernel_that_dies_long_after_a_training_in_it_failed_is_another_death() -> None:
    runs = ("training", "", -60.0, "killed", "p"), ("kernel", KERNEL, 0.0, "killed", "p")
    assert told(*runs) == ["training", "kernel"]
    runs = ("training", "", -5.0, "uncaught-exception", "p"), ("kernel", KERNEL, 0.0, "killed", "p")
    assert told(*runs) == ["training", "kernel"]


def test_runs_of_one_process_that_end_with_it_are_one_death_and_those_that_fail_in_turn_are_not() -> None:
    assert told(("one", "", 0.0, "killed", "p"), ("two", "", 0.1, "killed", "p")) == ["two"]
    runs = ("one", "", 0.0, "uncaught-exception", "p"), ("two", "", 0.1, "uncaught-exception", "p")
    assert told(*runs, state="failed") == ["one", "two"]


def test_deaths_of_different_processes_in_one_moment_are_different() -> None:
    assert told(("one", "", 0.0, "killed", "p"), ("two", "", 0.0, "killed", "q")) == ["one", "two"]


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services(ServerSettings(data=str(tmp_path), url="memory:", token="t"), {})


def test_a_killed_kernel_and_its_training_need_attention_once(services: Services, tmp_path: Path) -> None:
    process = dead()
    for run in ("kernel", "training"):
        directory = tmp_path / "runs" / run
        if run == "kernel":  # its Jupyter server tells of it
            described = Described(at_ns=BEGAN_NS, project="notebooks", name="n", started_ns=BEGAN_NS, kind=KERNEL)
            launched = Launched(at_ns=BEGAN_NS, pid=process.pid, process_started=process.started, command=("python",))
            program = Journal(directory, alive(), kind="provisioner").say(described, launched)
        else:
            program = Journal(directory, process).say(named("n")).log(range(3))
        program.close()
        exited = Exited(at_ns=BEGAN_NS + 1, journal=program.id, pid=process.pid, status=9, source="wait")
        Journal(directory, process, kind="sidecar").say(exited).close()
    services.ingest.catch_up()
    visit = Visit(services=services, visitor=Visitor(id="ui", name="ada", scope="admin"))
    assert len(services.storage.runs.seen()) == 2
    assert [each.run.id for each in needs_attention(visit, Nothing()).runs] == ["training"]
    services.close()
