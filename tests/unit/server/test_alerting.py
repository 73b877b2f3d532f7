"""A team server tells of the runs that it has, at a real web server of this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.alerts.file import FILE
from holter.model.records import Alerted, Finished
from holter.model.warning_records import Warned
from holter.server.domain.services import ServerSettings, Services
from holter.storage.places import Places
from tests.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.e2e.receivers import Web, web
from tests.unit.server.remote import RemoteJournal, send


@pytest.fixture
def chat() -> Iterator[Web]:
    with web() as server:
        yield server


@pytest.fixture
def services(tmp_path: Path, chat: Web) -> Iterator[Services]:
    target = f'[[target]]\nkind = "json"\nname = "chat"\nurl = "{chat.url}/hook"\nprojects = ["mnist"]\n'
    (tmp_path / FILE).write_text(f'allow = ["127.0.0.1"]\n{target}')
    settings = ServerSettings(
        data=str(tmp_path), kind="server", places=Places.at("memory:"), address="https://holter.example.org"
    )
    opened = Services(settings, {})
    opened.open()
    yield opened
    opened.close()


def record(services: Services, run: str, project: str) -> RemoteJournal:
    journal = RemoteJournal(Path(services.data) / "far" / run, run, clock=FakeClock(services.clock.now_ns()))
    journal.project = project
    journal.describe()
    journal.log(3)
    journal.beat()
    arrive(services, journal)
    return journal


def arrive(services: Services, journal: RemoteJournal) -> None:
    send(services.ingest, journal)
    services.follower.take_in(journal.run)


def test_alerts_warnings_and_ends_of_a_project_are_told_once(services: Services, chat: Web) -> None:
    theirs, ours = record(services, "r2", "other"), record(services, "r1", "mnist")
    now_ns = services.clock.now_ns()
    for journal in (theirs, ours):
        journal.say(Alerted(at_ns=now_ns, title="loss is odd", level="WARN"))
        journal.say(Warned(at_ns=now_ns, guard="memory", text="memory will end in 4 min", advice=("use less",)))
        arrive(services, journal)
    chat.wait_for(2)
    ours.say(Finished(at_ns=now_ns + 1, exit_code=1))
    arrive(services, ours)
    told = [each.json for each in chat.wait_for(3)]
    assert [each["kind"] for each in told] == ["alert", "warning", "death"]
    assert [each["title"] for each in told[:2]] == ["loss is odd", "memory will end in 4 min"]
    assert told[2]["title"].startswith("failed: ")
    assert {each["run"] for each in told} == {"r1"}
    assert told[0]["link"] == "https://holter.example.org/p/mnist/r/r1"


def test_a_target_inside_of_the_network_is_refused_and_said_without_its_address(tmp_path: Path, chat: Web) -> None:
    (tmp_path / FILE).write_text(f'[[target]]\nkind = "json"\nname = "chat"\nurl = "{chat.url}/SECRET"\n')
    services = Services(ServerSettings(data=str(tmp_path), kind="server", places=Places.at("memory:")), {})
    assert services.alerting is not None
    said: list[str] = []
    services.alerting._complain = said.append
    services.open()
    journal = record(services, "r1", "mnist")
    journal.say(Alerted(at_ns=services.clock.now_ns(), title="x"))
    arrive(services, journal)
    wait_until(lambda: said)
    services.close()
    assert said == ["chat did not take an alert: its address is inside of the server's own network"]
    assert chat.posted == []


def test_a_file_that_can_t_be_read_is_said_and_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[[target]")
    services = Services(ServerSettings(data=str(tmp_path), kind="server", places=Places.at("memory:")), {})
    assert services.alerting is not None
    said: list[str] = []
    services.alerting._complain = said.append
    services.open()
    journal = record(services, "r1", "mnist")
    journal.say(Alerted(at_ns=services.clock.now_ns(), title="x"))
    arrive(services, journal)
    wait_until(lambda: said)
    services.close()
    assert len(said) == 1
    assert "can't be read" in said[0]
