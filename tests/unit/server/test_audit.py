"""What somebody may have to answer for is written down: who, what, when, and no secret."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holter.server.domain.services import ServerSettings, Services
from holter.server.route_table import load_routes
from holter.server.security.audit import Act, Audit
from holter.server.security.gate import SAFE
from holter.storage.places import Places
from tests.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.unit.server.asking import Asking
from tests.unit.server.remote import RemoteJournal, send

# Rows, texts and files of a run tell themselves who sent them, as do words of agents; logins are noted by whoever knows
# the user then, changes of views where they are the team's; versions, sweeps and undone deletions where they are made.
NO_ACTS = {
    *("POST /artifact/missing", "POST /artifact/pieces", "POST /artifact/publish", "POST /deletions/{id}/undo"),
    *("POST /artifact/read", "POST /artifact/use"),
    *("POST /sweeps", "POST /sweeps/{sweep}/ask", "POST /sweeps/{sweep}/word"),
    *("POST /media", "POST /media/steps", "POST /media/histograms"),
    *("POST /series", "POST /login", "POST /oidc/device", "POST /oidc/device/key"),
    *("PATCH /views", "POST /views", "PATCH /views/{id}", "DELETE /views/{id}"),
}


def test_every_route_that_changes_something_has_a_name_in_the_audit() -> None:
    silent = {
        f"{route.method} {route.path}"
        for route in load_routes()
        if route.method not in SAFE and not route.act and route.touches != "arrival"
    }
    assert silent == NO_ACTS


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    found = Services(ServerSettings(data=str(tmp_path), kind="server", places=Places.at("memory:")), {})
    found.open()
    yield found
    found.close()


class Admin(Asking):
    """Somebody who may do everything."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._key = services.access.keys.add("ada", "admin", now=1.0)[1]

    def does(self, method: str, path: str, **sent: Any) -> httpx.Response:
        return self.ask(method, path, key=self._key, **sent)


@pytest.fixture
def admin(services: Services) -> Iterator[Admin]:
    with Admin(services) as found:
        yield found


def test_acts_are_told_with_their_names_and_without_secrets(services: Services, admin: Admin, tmp_path: Path) -> None:
    journal = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock(services.clock.now_ns()))
    journal.describe()
    journal.log(3)
    journal.finish()
    send(services.ingest, journal)
    services.follower.nudge()
    wait_until(lambda: services.runs.project_of("r1") == "p")
    admin.does("POST", "/users", json={"name": "ann", "scope": "write"})
    made = admin.does("POST", "/tokens", json={"name": "laptop", "user": "ann"}).json()
    admin.does("POST", "/login", json={"key": made["key"]})
    admin.does("POST", "/login", json={"key": "hk_wrong"})
    admin.does("PATCH", "/rights/p", json={"kind": "private", "members": {"ann": "writer"}})
    admin.does("GET", "/runs/r1/points", params={"key": "loss"})
    admin.does("GET", "/runs/r1/files/nothing", params={"download": True})
    admin.does("POST", "/runs/r1/marks", json={"state": "failed", "reason": "x" * 500})
    admin.does("POST", "/runs/r1/marks", json={"cause": "host-lost", "reason": "the power went"})
    admin.does("DELETE", "/runs/r1/marks", params={"what": "cause"})
    admin.does("DELETE", f"/tokens/{made['id']}")
    admin.does("PATCH", "/users/ann", json={"is_disabled": True})
    admin.does("DELETE", "/runs/r1", params={"force": True})
    told = admin.does("GET", "/audit").json()
    assert [(act["user"], act["act"], act["what"]) for act in told["acts"]] == [
        ("ada", "user-made", {"name": "ann", "scope": "write", "kind": "person"}),
        ("ada", "key-made", {"name": "laptop", "scope": "write", "user": "ann", "made": made["id"]}),
        ("ann", "login", {}),
        ("", "login-refused", {}),
        ("ada", "rights-changed", {"project": "p", "kind": "private", "members": {"ann": "writer"}}),
        ("ada", "exported", {"run": "r1", "key": "loss", "limit": 1_000_000}),
        ("ada", "run-marked", {"run": "r1", "state": "failed", "reason": "x" * 200 + "…"}),
        ("ada", "run-marked", {"run": "r1", "cause": "host-lost", "reason": "the power went"}),
        ("ada", "mark-removed", {"run": "r1", "what": "cause"}),
        ("ada", "key-revoked", {"id": made["id"]}),
        ("ada", "user-changed", {"name": "ann", "is_disabled": True}),
        ("ada", "run-deleted", {"run": "r1", "force": True, "undo": False}),
    ]
    text = (tmp_path / "access" / "audit.jsonl").read_text()
    assert made["key"] not in text
    assert made["key"].split("_", 2)[2] not in text
    kept = admin.does("GET", "/audit", params={"act": "login"}).json()
    assert ([act["key"] for act in kept["acts"]], kept["is_cut"]) == ([made["id"]], False)
    newest = admin.does("GET", "/audit", params={"limit": 1}).json()
    assert ([act["act"] for act in newest["acts"]], newest["is_cut"]) == (["run-deleted"], True)


def test_what_was_refused_is_no_act(services: Services, admin: Admin) -> None:
    assert admin.does("DELETE", "/runs/none").status_code == 404
    assert list(services.audit.acts()) == []


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    audit = Audit(str(tmp_path / "audit.jsonl"))
    first, second = (Act(at=at, user="ann", act="login") for at in (1.0, 2.0))
    audit.note(first)
    with (tmp_path / "audit.jsonl").open("ab") as file:
        file.write(b'{"at":')
    audit.note(second)
    assert list(audit.acts()) == [first, second]


def test_a_disk_that_takes_nothing_undoes_no_act_and_the_terminal_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    Audit(str(tmp_path / "audit.jsonl")).note(Act(at=1.0, user="ann", act="run-deleted", what={"run": "r1"}))
    assert "holter: ann did run-deleted {'run': 'r1'}, and " in capsys.readouterr().err
