"""Views of a workspace: whose they are, who may change them, and what two who change the same one get."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holter.model.run_row import RunRow
from holter.server.api.events import AskedEvents
from holter.server.domain.services import ServerSettings, Services
from holter.server.domain.views import MOST_VIEWS
from holter.server.route_table import load_routes
from holter.server.transport.admission import perform
from holter.server.transport.routing import Visit
from holter.storage.places import Places
from tests.unit.server.asking import Asking

WHO = {"ada": "write", "bob": "write", "rita": "read", "root": "admin"}


class Team:
    """A server with the projects `vision` and `text` and some people."""

    def __init__(self, data: Path) -> None:
        self.services = Services(ServerSettings(data=str(data), kind="server", places=Places.at("memory:")), {})
        self.keys = {name: self.services.access.keys.add(name, scope, now=1.0)[1] for name, scope in WHO.items()}  # type: ignore[arg-type]
        self.services.runs.put([RunRow(id="r1", project="vision"), RunRow(id="r2", project="text")])
        self._asking = Asking(self.services)

    def ask(self, who: str, method: str, path: str = "/views", *, fails: int = 200, **sent: Any) -> dict[str, Any]:
        answer = self._asking.ask(method, path, key=self.keys[who], **sent)
        assert answer.status_code == fails, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def views(self, who: str, project: str = "vision") -> dict[str, Any]:
        return self.ask(who, "GET", params={"project": project})

    def keep(self, who: str, fails: int = 200, **kept: Any) -> dict[str, Any]:
        return self.ask(who, "PATCH", fails=fails, json={"project": "vision", **kept})

    def add(self, who: str, name: str, fails: int = 200, **made: Any) -> dict[str, Any]:
        json = {"project": "vision", "name": name, "settings": {}, **made}
        return self.ask(who, "POST", fails=fails, json=json)

    def change(self, who: str, view: str, fails: int = 200, **changes: Any) -> dict[str, Any]:
        return self.ask(who, "PATCH", f"/views/{view}", fails=fails, json={"project": "vision", **changes})

    def remove(self, who: str, view: str, fails: int = 200) -> None:
        self.ask(who, "DELETE", f"/views/{view}", fails=fails, params={"project": "vision"})

    def close(self) -> None:
        self._asking.__exit__(None, None, None)
        self.services.close()


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    found = Team(tmp_path / "data")
    yield found
    found.close()


def test_what_somebody_changes_is_kept_for_them_setting_by_setting(team: Team) -> None:
    assert team.views("ada")["view"] is None
    team.keep("ada", edits={"": {"sort": "name", "x": "time"}})
    told = team.keep("ada", edits={"": {"x": None, "group": "config.lr"}})
    assert told["edits"] == team.views("ada")["edits"] == {"": {"sort": "name", "group": "config.lr"}}
    assert team.views("bob")["edits"] == team.views("ada", "text")["edits"] == {}


def test_a_view_has_a_name_and_settings_and_what_was_changed_of_it_stays_apart(team: Team) -> None:
    view = team.add("ada", " Losses ", settings={"sort": "name"})
    assert (view["name"], view["by"], view["is_team"]) == ("Losses", "ada", False)
    team.keep("ada", view=view["id"], edits={view["id"]: {"sort": ""}, "": {"sort": "id"}})
    found = team.views("ada")
    assert found["view"] == view["id"]
    assert found["edits"] == {view["id"]: {"sort": ""}, "": {"sort": "id"}}
    changed = team.change("ada", view["id"], name="All losses", settings={"x": "time", "sort": None})
    assert (changed["name"], changed["settings"]) == ("All losses", {"x": "time"})
    assert team.views("bob")["views"] == []
    team.change("bob", view["id"], fails=404, name="mine")
    team.remove("bob", view["id"], fails=404)
    team.remove("ada", view["id"])
    found = team.views("ada")
    assert (found["views"], found["view"], found["edits"]) == ([], None, {"": {"sort": "id"}})


def test_the_teams_views_are_changed_by_those_who_may_change_runs(team: Team) -> None:
    team.add("rita", "Shown to all", fails=403, is_team=True)
    own = team.add("rita", "For me", settings={"sort": "name"})
    team.change("rita", own["id"], fails=403, is_team=True)
    view = team.add("ada", "For all", is_team=True, settings={"sort": "name"})
    assert [each["name"] for each in team.views("rita")["views"]] == ["For all", "For me"]
    for refused in ({"name": "mine"}, {"settings": {"x": "time"}}, {"is_team": False}, {"is_default": True}):
        team.change("rita", view["id"], fails=403, **refused)
    team.remove("rita", view["id"], fails=403)
    team.keep("rita", view=view["id"], edits={view["id"]: {"x": "time"}})
    # Two who save the same view lose nothing of each other.
    team.change("ada", view["id"], settings={"x": "relative"})
    team.change("bob", view["id"], settings={"group": "config.lr"})
    [found] = team.views("bob")["views"]
    assert found["settings"] == {"sort": "name", "x": "relative", "group": "config.lr"}
    assert (team.views("rita")["may_share"], team.views("bob")["may_share"]) == (False, True)
    team.remove("bob", view["id"])
    assert [each["name"] for each in team.views("rita")["views"]] == ["For me"]
    assert team.views("rita")["view"] is None
    assert team.keep("rita", edits={})["edits"] == {}
    acts = team.ask("root", "GET", "/audit", params={"act": "view-changed"})["acts"]
    assert [(act["user"], act["what"]["project"]) for act in acts] == [
        (who, "vision") for who in ("ada", "ada", "bob", "bob")
    ]


def test_the_default_is_a_view_of_the_team(team: Team) -> None:
    view = team.add("ada", "Start here", settings={"sort": "name"})
    said = team.change("ada", view["id"], fails=409, is_default=True)
    assert said["error"]["do"] == "share it first"
    assert team.change("ada", view["id"], is_team=True, is_default=True)["is_team"]
    assert [each["settings"] for each in team.views("rita")["views"]] == [{"sort": "name"}]
    assert team.views("rita")["default"] == view["id"]
    team.change("bob", view["id"], is_default=False)
    assert team.views("rita")["default"] == ""
    team.change("bob", view["id"], is_default=True)
    team.change("bob", view["id"], is_team=False)
    assert team.views("rita")["default"] == team.views("ada")["default"] == ""
    assert [each["by"] for each in team.views("bob")["views"]] == ["bob"]


def test_what_is_too_much_is_refused_with_what_to_do(team: Team) -> None:
    long = {"": {"text": "x" * 50_001}}
    assert "can't be understood" in team.keep("ada", fails=400, edits=long)["error"]["what"]
    team.keep("ada", fails=400, edits={"": {f"key{number}": "x" for number in range(501)}})
    most = {"": {f"key{number}": "x" * 50_000 for number in range(11)}}
    assert "delete views that nobody needs" in team.keep("ada", fails=400, edits=most)["error"]["what"]
    assert team.views("ada")["edits"] == {}
    for number in range(MOST_VIEWS):
        team.add("ada", f"view {number}")
    assert team.add("ada", "one more", fails=409)["error"]["do"] == "delete some that nobody needs"
    team.add("bob", "for another", is_team=True)


def test_a_view_that_is_gone_and_a_project_that_is_not_there_are_told(team: Team) -> None:
    assert team.keep("ada", fails=404, view="none")["error"]["do"] == "save it as a new view"
    assert "no project" in team.keep("ada", fails=404, project="none", edits={})["error"]["what"]
    assert (team.views("ada", "none")["may_keep"], team.views("ada")["may_keep"]) == (False, True)


def test_all_pages_of_a_person_hear_of_a_change_and_those_of_others_only_of_the_teams(team: Team) -> None:
    [route] = [route for route in load_routes() if route.path == "/events"]

    def heard(who: str, after: int) -> bool:
        async def listen() -> bytes:
            team.services.changes.note("rows", "r1", project="vision", data={"run": "r1"})
            visit = Visit(services=team.services, visitor=team.services.access.check(team.keys[who]))
            reply = perform(route, visit, AskedEvents(after=after))
            assert reply.stream is not None
            return bytes(await anext(reply.stream))

        return b'event: views\ndata: {"project":"vision"' in asyncio.run(listen())

    before = team.services.changes.seq
    team.keep("ada", edits={"": {"sort": "name"}})
    assert [heard(who, before) for who in ("ada", "bob")] == [True, False]
    team.add("ada", "For all", is_team=True)
    assert [heard(who, before) for who in ("ada", "bob", "rita")] == [True, True, True]
