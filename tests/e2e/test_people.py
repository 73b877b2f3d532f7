"""A lab on one server: users, private projects, keys that end; told by the command line, held by a running server."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.programs import run, wait_until
from tests.e2e.servers import API, Served, Stream, holter, team_server

TRAINING = "import holter; run = holter.init(project='secret'); run.log({'loss': 1.0}); run.finish()"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("people") / "team"


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[Served]:
    with team_server(data) as served:
        yield served


def manage(data: Path, *arguments: str) -> str:
    done = holter("server", *arguments, "--data", str(data))
    assert done.returncode == 0, done.stderr
    return done.stdout


def person(server: Served, data: Path, name: str) -> httpx.Client:
    """A user with a key, both made by the command line while the server runs."""
    manage(data, "users", "add", name)
    key = json.loads(manage(data, "keys", "add", "laptop", "--user", name, "--days", "7", "--json"))["key"]
    return httpx.Client(base_url=server.address + API, headers={"authorization": f"Bearer {key}"}, timeout=30)


def key_of(client: httpx.Client) -> str:
    return client.headers["authorization"].partition(" ")[2]


def test_a_private_project_is_there_for_its_members_alone(server: Served, data: Path, tmp_path: Path) -> None:
    with person(server, data, "ann") as ann, person(server, data, "bob") as bob:
        manage(data, "projects", "secret", "--private", "--writer", "ann")
        sending = {"HOLTER_URL": server.address, "HOLTER_RUN_ID": "r1"}
        done = run(TRAINING, HOLTER_DIR=str(tmp_path / "ann"), HOLTER_API_KEY=key_of(ann), **sending)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: server.state("r1") == "finished", within_s=60)
        assert ann.get("/runs/r1").json()["sent_by"] == "ann"
        assert [each["id"] for each in ann.get("/runs").json()["runs"]] == ["r1"]
        assert bob.get("/runs/r1").status_code == 404
        assert bob.get("/runs").json() == {"total": 0, "runs": []}
        assert bob.get("/projects").json() == {"projects": []}
        # Nor may he add to it: the run stays where it was recorded, and its sender is told why.
        refused = bob.post("/ingest/mine/claim", json={"project": "secret"})
        assert refused.status_code == 403
        assert refused.json()["error"]["what"] == "you may not send runs to the project 'secret'"
        manage(data, "projects", "secret", "--reader", "bob")
        assert bob.get("/runs/r1").status_code == 200
        assert bob.patch("/runs/r1", json={"name": "mine"}).status_code == 403
        assert bob.delete("/runs/r1").status_code == 403
        assert ann.delete("/runs/r1").status_code == 200


def test_a_disabled_user_is_out_at_once_and_so_is_their_live_stream(server: Served, data: Path) -> None:
    with person(server, data, "cid") as cid, cid.stream("GET", "/events") as response:
        events = Stream(response)
        assert events.next()[0] == "hello"
        answer = server.http.patch("/users/cid", json={"is_disabled": True})
        assert answer.status_code == 200, answer.text
        assert cid.get("/runs").status_code == 401
        with pytest.raises(AssertionError, match="the stream has ended"):
            events.next()
    [known] = [each for each in json.loads(manage(data, "users", "--json"))["users"] if each["name"] == "cid"]
    assert known["disabled_at"] is not None


def test_a_run_is_joined_by_who_was_let_in(server: Served, data: Path) -> None:
    with person(server, data, "dan") as dan, person(server, data, "eve") as eve:
        claimed = [each.post("/ingest/shared/claim", json={"project": "p"}).json()["run"] for each in (dan, eve)]
        assert claimed == ["shared", "shared-2"]
        assert eve.put("/runs/shared/senders/eve", json={}).status_code == 403
        assert dan.put("/runs/shared/senders/fay", json={}).json() == {"users": ["fay"]}
        with person(server, data, "fay") as fay:
            assert fay.post("/ingest/shared/claim", json={"project": "p"}).json()["run"] == "shared"
            assert fay.get("/ingest/shared").status_code == 200
            dan.delete("/runs/shared/senders/fay")
            assert fay.get("/ingest/shared").status_code == 409


def test_the_command_line_tells_what_was_done_by_whom(server: Served, data: Path) -> None:
    with person(server, data, "gus") as gus:
        gus.post("/login", json={"key": key_of(gus)})
        acts = json.loads(manage(data, "audit", "--json"))["acts"]
        named = [(act["act"], act["what"].get("name", "")) for act in acts]
        assert ("user-made", "gus") in named
        assert [act["user"] for act in acts if act["act"] == "login"][-1] == "gus"
        assert "login" in manage(data, "audit").splitlines()[-1]
        assert gus.get("/audit").status_code == 403
    assert server.get("/audit", act="login", user="gus")["acts"][-1]["user"] == "gus"


def test_people_look_after_their_own_keys_and_no_others(server: Served, data: Path) -> None:
    with person(server, data, "hal") as hal, person(server, data, "ida") as ida:
        made = hal.post("/me/tokens", json={"name": "cluster", "scope": "read"}).json()
        keys = hal.get("/me/tokens").json()["keys"]
        assert [key["name"] for key in keys] == ["laptop", "cluster"]
        assert keys[0]["expires_at"] == keys[1]["expires_at"] is not None
        bearer = {"authorization": f"Bearer {made['key']}"}
        assert hal.get("/info", headers=bearer).json()["scopes"] == ["read"]
        assert hal.post("/me/tokens", json={"name": "more", "scope": "admin"}).status_code == 403
        assert ida.delete(f"/me/tokens/{made['id']}").status_code == 404
        assert hal.delete(f"/me/tokens/{made['id']}").status_code == 200
        assert hal.get("/runs", headers=bearer).status_code == 401
    alone = server.http.post("/me/tokens", json={"name": "another"})
    assert (alone.status_code, alone.json()["error"]["what"]) == (409, "first is the name of a key, and no user")
