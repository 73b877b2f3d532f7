"""Old runs of a project go where that was decided, and a project that is full takes no new ones."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.errors import Refused, UsageError
from holter.server.domain.housekeeping import DAY_S, Housekeeper
from holter.server.domain.services import ServerSettings, Services
from holter.server.security.rights import Bounds
from holter.storage.places import Places
from tests.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.unit.server.asking import Asking
from tests.unit.server.remote import RemoteJournal
from tests.unit.server.remote import send as send_all


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    found = Services(ServerSettings(data=str(tmp_path), kind="server", places=Places.at("memory:")), {})
    found.open()
    yield found
    found.close()


def send(services: Services, run: str, *, project: str = "p", has_ended: bool = True) -> None:
    journal = RemoteJournal(Path(services.data) / "far" / run, run, clock=FakeClock(services.clock.now_ns()))
    journal.project = project
    journal.describe()
    journal.log(3)
    if has_ended:
        journal.finish()
    send_all(services.ingest, journal)
    services.follower.nudge()
    wait_until(lambda: (row := services.runs.get(run)) is not None and (row.state == "finished") == has_ended)


def in_days(days: float) -> float:
    return time.time() + days * DAY_S


def test_runs_that_ended_long_ago_go_and_it_is_noted(services: Services) -> None:
    send(services, "old")
    send(services, "elsewhere", project="q")
    send(services, "alive", has_ended=False)
    services.access.accounts.change_project("p", bounds=Bounds(keep_days=90))
    assert Housekeeper(services, now=lambda: in_days(89)).sweep() == []
    assert Housekeeper(services, now=lambda: in_days(91)).sweep() == ["old"]
    assert sorted(services.runs.all_projects()) == ["alive", "elsewhere"]
    assert not (Path(services.data) / "runs" / "old").exists()
    with pytest.raises(Refused, match="was deleted on the server by retention"):
        services.deletions.check("old")
    assert [(act.user, act.act, act.what) for act in services.audit.acts()] == [
        ("retention", "run-deleted", {"run": "old"})
    ]


def test_tagged_runs_stay_where_that_was_decided(services: Services) -> None:
    send(services, "kept")
    with Asking(services) as asking:
        key = services.access.keys.add("ada", "admin", now=1.0)[1]
        assert asking.ask("PATCH", "/runs/kept", key=key, json={"tags": ["paper"]}).status_code == 200
    services.access.accounts.change_project("p", bounds=Bounds(keep_days=90, keeps_tagged=True))
    assert Housekeeper(services, now=lambda: in_days(91)).sweep() == []
    services.access.accounts.change_project("p", bounds=Bounds(keep_days=90))
    assert Housekeeper(services, now=lambda: in_days(91)).sweep() == ["kept"]


def test_a_full_project_takes_no_new_runs_and_lets_the_others_go_on(services: Services) -> None:
    key = services.access.keys.add("ann", "write", now=1.0)[1]
    housekeeper = Housekeeper(services)
    services.access.accounts.change_project("p", bounds=Bounds(most_bytes=100))
    with Asking(services) as asking:
        assert asking.ask("POST", "/ingest/first/claim", key=key, json={"project": "p"}).status_code == 200
        send(services, "first")
        housekeeper.measure()
        refused = asking.ask("POST", "/ingest/second/claim", key=key, json={"project": "p"})
        assert (refused.status_code, refused.headers["retry-after"]) == (507, "300")
        assert refused.json()["error"]["what"] == "the project p is full"
        assert asking.ask("POST", "/ingest/first/claim", key=key, json={"project": "p"}).status_code == 200
        assert asking.ask("POST", "/ingest/second/claim", key=key, json={"project": "q"}).status_code == 200
        services.access.accounts.change_project("p", bounds=Bounds(most_bytes=10**9))
        housekeeper.measure()
        assert asking.ask("POST", "/ingest/third/claim", key=key, json={"project": "p"}).status_code == 200


@pytest.mark.parametrize("bounds", [Bounds(keep_days=0), Bounds(keep_days=-1), Bounds(most_bytes=-1)], ids=str)
def test_nobody_deletes_everything_by_a_slip(services: Services, bounds: Bounds) -> None:
    with pytest.raises(UsageError):
        services.access.accounts.change_project("p", bounds=bounds)
    assert services.access.accounts.roll.projects == {}
