"""What a program said of its metrics holds in the workspace of its project."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.model.metric_definitions import Defined, MetricDefinition
from holter.server.domain.services import ServerSettings, Services
from holter.storage.places import Places
from tests.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.unit.server.asking import Asking
from tests.unit.server.remote import RemoteJournal, send

MANY = 8


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    found = Services(ServerSettings(data=str(tmp_path / "data"), kind="server", places=Places.at("memory:")), {})
    found.open()
    yield found
    found.close()


def test_what_one_of_many_runs_defined_holds_for_its_metric(services: Services, tmp_path: Path) -> None:
    now_ns = services.clock.now_ns()
    for number in range(MANY):
        journal = RemoteJournal(tmp_path / str(number), f"r{number}", clock=FakeClock(now_ns + number))
        journal.describe()
        if number == 0:
            journal.say(
                Defined(at_ns=now_ns, metrics={"loss": MetricDefinition(step_metric="epoch", summary=("max",))})
            )
        journal.log(3)
        send(services.ingest, journal)
    services.follower.nudge()
    wait_until(lambda: services.storage.runs.projects() == {"p": MANY})
    wait_until(lambda: services.storage.series.count_keys(["r0"]))
    key = services.access.keys.add("ada", "admin", now=1.0)[1]
    with Asking(services) as asking:
        asked = [
            asking.ask("GET", "/keys", key=key, params=params).json()["keys"]
            for params in ({"project": "p"}, {"runs": ",".join(f"r{number}" for number in range(MANY))})
        ]
    told = [{each["key"]: (each["x_axis"], each["better"]) for each in keys} for keys in asked]
    assert [found["loss"] for found in told] == [("epoch", "high"), ("epoch", "high")]
