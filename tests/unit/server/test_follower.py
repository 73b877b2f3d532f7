"""The thread that takes in what is written, driven by hand: what it announces, and when."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holter.model.records import Edited, Finished
from holter.model.state import Lateness
from holter.server.domain.services import ServerSettings, Services
from holter.server.ingest.followed_run import Change
from holter.server.ingest.leases import OnlyServer
from holter.server.live.changes import Wanted
from holter.storage.places import Places
from tests.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.unit.catalog.journals import Journal, alive, elsewhere, named
from tests.unit.server.remote import RemoteJournal, send


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    found = Services(ServerSettings(data=str(tmp_path / "data"), places=Places.at("memory:"), token="t"), {})
    yield found
    found.close()


def directory(services: Services, run: str = "r1") -> Path:
    place = Path(services.data) / "runs" / run
    place.mkdir(parents=True)
    return place


def announced(services: Services, since: int) -> list[tuple[str, dict[str, Any]]]:
    found = services.changes.since(since, Wanted())
    assert found is not None
    return [(each.kind, msgspec.json.decode(each.data)) for each in found]


def tick(services: Services) -> None:
    services.follower._looked_at = 0.0
    services.follower._tick()


class Leased(OnlyServer):
    """This server has the second lease of every run."""

    def take(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        return dict.fromkeys(sizes, 2)


def test_a_run_that_died_with_the_server_that_took_it_in_has_died_for_those_who_are_told(services: Services) -> None:
    journal = Journal(directory(services), alive()).say(named("otter")).log(range(5))
    services.ingest.tick()  # by the other server: here nobody has heard of it
    services.ingest._live.clear()
    services.ingest.leases = Leased()
    journal.say(Finished(at_ns=time.time_ns(), exit_code=1)).close()
    services.ingest.announce("r1")
    tick(services)
    assert list(services.follower._died) == ["r1"]


def test_an_end_that_the_server_that_saw_it_did_not_come_to_tell_is_told(services: Services) -> None:
    journal = Journal(directory(services), alive()).say(named("otter")).log(range(5))
    journal.say(Finished(at_ns=time.time_ns(), exit_code=1)).close()
    services.ingest.tick()  # by the other server, which has died since
    assert services.storage.runs.get("r1") is not None
    services.ingest._live.clear()
    services.ingest.leases = Leased()
    told: list[str] = []
    services.verdicts.tell = lambda row, said: told.append(f"{row.id} {said['state']}")
    services.ingest.announce("r1")
    tick(services)
    wait_until(lambda: told)
    assert told == ["r1 failed"]


def test_a_run_its_rows_and_its_end_are_announced(services: Services) -> None:
    first = services.changes.seq
    journal = Journal(directory(services), alive()).say(named("otter")).log(range(5))
    tick(services)
    kinds = dict(announced(services, first))
    assert (kinds["run"]["id"], kinds["run"]["state"]) == ("r1", "running")
    assert [kinds["rows"][name] for name in ("run", "project", "rows")] == ["r1", "tests", 5]
    seen = services.changes.seq
    tick(services)
    assert announced(services, seen) == []
    journal.say(Finished(at_ns=time.time_ns())).close()
    tick(services)
    [run] = [data for kind, data in announced(services, seen) if kind == "run"]
    assert run["state"] == "finished"


def test_lateness_is_announced_though_nothing_is_written(services: Services) -> None:
    Journal(directory(services), elsewhere()).say(named("far")).log(range(3))
    tick(services)
    seen = services.changes.seq
    for state in ("running", "crashed"):
        limit = Lateness(stale_s=0.0, crashed_s=1e9 if state == "running" else 0.0)
        services.ingest._lateness = limit
        tick(services)
        [(_, run)] = [each for each in announced(services, seen) if each[0] == "run"]
        assert (run["state"], run["is_stale"]) == (state, state == "running")
        seen = services.changes.seq


def test_a_run_that_was_lost_costs_nothing_until_it_is_heard_of_again(services: Services) -> None:
    services.ingest._lateness = Lateness(stale_s=0.0, crashed_s=0.0)
    journal = Journal(directory(services), elsewhere()).say(named("far")).log(range(3))
    tick(services)
    tick(services)
    assert services.follower._open == {}
    services.ingest._lateness = Lateness()
    seen = services.changes.seq
    journal.log(range(3, 6))
    tick(services)
    assert dict(announced(services, seen))["run"]["state"] == "running"
    assert list(services.follower._open) == ["r1"]


def test_what_was_received_does_not_wait_for_the_next_tick(services: Services, tmp_path: Path) -> None:
    far = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    far.describe()
    far.log(3)
    have = send(services.ingest, far)
    tick(services)
    seen = services.changes.seq
    far.log(4)
    have = send(services.ingest, far, have=have)
    services.follower._take_in_arrived()
    assert [(kind, data["rows"]) for kind, data in announced(services, seen)] == [("rows", 4)]
    far.finish()
    send(services.ingest, far, have=have)
    services.follower._take_in_arrived()  # how it ended is in its row, which comes with the tick
    tick(services)
    assert announced(services, seen)[-1][1]["state"] == "finished"


def test_a_thread_that_sleeps_is_woken_by_what_arrives(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holter.server.live.follower.TICK_S", 3600.0)
    far = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    far.describe()
    have = send(services.ingest, far)
    tick(services)
    services.follower.start()
    services.follower.call(lambda: None).result(60)
    seen = services.changes.seq
    far.log(4)
    send(services.ingest, far, have=have)
    services.follower.nudge()
    deadline = time.monotonic() + 60
    while "rows" not in dict(announced(services, seen)):
        assert time.monotonic() < deadline, "nobody was woken"
        time.sleep(0.01)


def test_one_thing_that_fails_is_said_once_and_ends_nothing(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("mine")

    for _ in range(3):
        services.follower._attempt(fail)
    assert capsys.readouterr().err.count("ZeroDivisionError: mine") == 1
    services.follower.start()
    assert services.follower.call(lambda: 7).result(60) == 7
    with pytest.raises(ZeroDivisionError):
        services.follower.call(lambda: 1 // 0).result(60)


def test_what_somebody_waits_for_goes_ahead_of_what_comes_by_itself(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    for budget in ("READ_S", "ROWS_S"):
        monkeypatch.setattr(f"holter.server.ingest.ingest.{budget}", 60.0)
    for number in range(20):
        Journal(directory(services, f"r{number}"), alive()).say(named("otter")).log(range(5))
    done: list[str] = []
    announce = services.follower._announce

    def announcing(change: Change) -> None:
        if not done:  # somebody deletes another run while the first is told
            other = "r7" if change.run != "r7" else "r8"
            services.follower.call(lambda: services.follower.forget(other))
            services.follower.call(lambda: done.append(f"without {other}"))
        done.append(change.run)
        announce(change)

    monkeypatch.setattr(services.follower, "_announce", announcing)
    tick(services)
    told, other = done[1].split()
    assert (told, other in done, len(done)) == ("without", False, 20)
    assert (other in services.follower._open, services.follower._early) == (False, {})


def test_what_is_written_for_somebody_who_waits_is_taken_in_alone(services: Services) -> None:
    """Also where other runs have more, and where nothing was heard of the run for long."""
    other = Journal(directory(services, "other"), alive()).say(named("other"))
    journal = Journal(directory(services), alive()).say(named("otter")).log(range(5))
    tick(services)
    services.ingest._settle("r1", 0)
    other.log(range(500))
    journal.say(Edited(at_ns=time.time_ns(), by="ada", name="renamed"))
    assert [change.run for change in services.ingest.take_in("r1")] == ["r1"]
    row = services.storage.runs.get("r1")
    assert row is not None
    assert row.name == "renamed"


def test_what_fails_again_and_again_is_said_once(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(word: str) -> None:
        raise RuntimeError(word)

    for _ in range(100):
        services.follower._attempt(lambda: fail("one thing"))
        services.follower._attempt(lambda: fail("another"))
    said = capsys.readouterr().err
    assert (said.count("RuntimeError: one thing"), said.count("RuntimeError: another")) == (1, 1)
