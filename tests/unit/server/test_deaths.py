"""A death stands once, also where several runs tell of it, and two deaths stand twice."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holter.model.records import KERNEL, Described, Exited, Launched
from holter.model.run_row import RunRow
from holter.server.api.projects import AskedCrashes, AskedDeaths, list_crashes, list_deaths, needs_attention
from holter.server.domain.services import ServerSettings, Services
from holter.server.query import deaths
from holter.server.query.deaths import Share, each_once, faulty_hosts, shares, week_starts
from holter.server.security.access import Visitor
from holter.server.transport.routing import Nothing, Visit
from holter.storage.places import Places
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


def test_only_runs_with_a_process_in_common_are_held_against_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []
    real = deaths._is_same

    def counted(one: RunRow, other: RunRow, /) -> bool:
        compared.append((one.id, other.id))
        return real(one, other)

    monkeypatch.setattr(deaths, "_is_same", counted)
    rows = [RunRow(id=f"r{number}", state="crashed", processes=(f"p{number}",)) for number in range(1000)]
    assert len(each_once(rows)) == 1000
    assert compared == []


# Wednesday, 11 November 2026, noon in Greenwich.
NOW = 1_794_398_400.0
HOUR, DAY = 3600.0, 86400.0


def died(run: str, *, ago: float, hours: float = 1.0, **known: Any) -> RunRow:
    """So many seconds ago, after so many hours."""
    ended = NOW - ago
    times = {"started_ns": int((ended - hours * HOUR) * 1e9), "ended_ns": int(ended * 1e9)}
    return RunRow(id=run, state="crashed", processes=(run,), duration_s=hours * HOUR, **{**times, **known})


def test_weeks_begin_on_monday_where_the_reader_is() -> None:
    monday = NOW - 2 * DAY - 12 * HOUR
    assert week_starts(NOW, 3) == [monday - 14 * DAY, monday - 7 * DAY, monday]
    assert week_starts(NOW, 1, east_s=2 * HOUR) == [monday - 2 * HOUR]
    assert week_starts(monday - 1, 1) == [monday - 7 * DAY]
    assert week_starts(monday - 1, 1, east_s=HOUR) == [monday - HOUR]


def test_what_costs_the_most_hours_is_first_and_each_week_has_its_own() -> None:
    found = [
        died("a", ago=DAY, hours=2, cause="gpu-fault", project="vision"),
        died("b", ago=9 * DAY, hours=4, cause="gpu-fault", project="speech"),
        died("c", ago=8 * DAY, hours=3, cause=None, project="vision"),
    ]
    starts = week_starts(NOW, 2)
    assert shares(found, starts, by="cause") == [
        Share("gpu-fault", 2, 6.0, [4.0, 2.0]),
        Share("unknown", 1, 3.0, [3.0, 0.0]),
    ]
    assert [(each.name, each.hours_lost) for each in shares(found, starts, by="project")] == [
        ("vision", 5.0),
        ("speech", 4.0),
    ]


def test_hosts_with_faults_of_their_own_are_named_the_most_first() -> None:
    found = [
        died("a", ago=DAY, host="gpu-07", cause="gpu-fault"),
        died("b", ago=2 * DAY, host="gpu-07", cause="gpu-fault", hours=5),
        died("c", ago=3 * DAY, host="gpu-07", cause="killed"),
        died("d", ago=4 * DAY, host="gpu-02", cause="host-lost"),
        died("e", ago=5 * DAY, host="gpu-05", cause="diverged"),
    ]
    first, second = faulty_hosts(found)
    assert (first.host, first.deaths, first.faults, first.hours_lost) == ("gpu-07", 3, 2, 6.0)
    assert first.causes == {"gpu-fault": 2}
    assert [mark.is_fault for mark in first.marks] == [False, True, True]
    assert (second.host, second.faults) == ("gpu-02", 1)


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services(ServerSettings(data=str(tmp_path), places=Places.at("memory:"), token="t"), {})


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


def test_deaths_are_counted_within_their_weeks_and_project(services: Services) -> None:
    visit = Visit(services=services, visitor=Visitor(id="ui", name="ada", scope="admin"))
    ago = time.time() - NOW
    rows = [
        died("new", ago=-ago, project="vision", host="h", cause="host-lost"),
        died("old", ago=100 * DAY - ago, project="vision", cause="killed"),
        died("other", ago=-ago, project="speech", cause="killed"),
        msgspec.structs.replace(died("fine", ago=-ago, project="vision"), state="finished"),
    ]
    services.storage.runs.put(rows)
    found = list_deaths(visit, AskedDeaths(project="vision", weeks=2))
    assert (found.runs, found.deaths, found.hours_lost) == (2, 1, 1.0)
    assert [share.name for share in found.shares] == ["host-lost"]
    assert [host.host for host in found.hosts] == ["h"]
    assert [each.run.id for each in found.newest] == ["new"]
    assert list_deaths(visit, AskedDeaths(weeks=52)).deaths == 3
    assert len(list_crashes(visit, AskedCrashes(since=found.weeks[0])).groups) == 2
    services.close()
