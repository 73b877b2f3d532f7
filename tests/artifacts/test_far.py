"""Versions of a server are used on machines that never made them."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holter
from holter.artifacts.asks import Ask, submit
from holter.artifacts.far import open_far
from holter.artifacts.names import ArtifactName
from holter.artifacts.store import Store
from holter.artifacts.uploading import Uploader, Waiting
from holter.artifacts.wishes import Source, Wanted
from holter.cli.main import main
from holter.errors import NoArtifact, Unreachable, UsageError
from holter.wire.connection import Answer, Connection, parse_address
from tests.artifacts.files import keep, noise, write_safetensors
from tests.e2e.servers import Served, team_server

FROZEN = noise(1, 300_000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("far")
    with team_server(folder / "server") as served:
        other = Store(str(folder / "other-machine"))
        (files := folder / "files").mkdir()
        for number in (0, 1):
            write_safetensors(files / "m.safetensors", {"frozen": FROZEN, "new": noise(10 + number, 200_000)})
            (files / "config.json").write_text(f'{{"take": {number}}}')
            (files / "empty").write_bytes(b"")
            send(served, other, keep(other, files, at_ns=number + 1, aliases=("best",) * (not number)), "model")
        (files / "step.pt").write_bytes(noise(3, 1000))
        metadata = {"step": 400, "metrics": {"loss": 0.5}}
        send(served, other, keep(other, files, "checkpoint-moved", metadata=metadata), "checkpoint-moved")
        yield served


def send(served: Served, store: Store, version: str, name: str) -> None:
    connection = Connection(parse_address(served.address), served.key)
    made = store.book("p", name).find(version)
    wanted = Wanted(
        project="p",
        name=name,
        type="model",
        at_ns=made.made_ns,
        ask=f"{name}{version}",
        metadata=made.metadata,
        aliases=tuple(store.book("p", name).aliases_of(made.number)[:-1]),
    )
    waiting = Waiting(url=served.address, wanted=wanted, number=made.number)
    assert Uploader(store, connection.ask, rate=1e12).send(waiting) is not None


@pytest.fixture
def online(server: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Served:
    """This process is on a machine of its own, which sends to the server."""
    monkeypatch.setenv("HOLTER_URL", server.address)
    monkeypatch.setenv("HOLTER_API_KEY", server.key)
    monkeypatch.setenv("HOLTER_MODE", "online")
    monkeypatch.chdir(tmp_path)
    return server


def test_a_run_takes_a_version_that_another_machine_made_and_the_server_knows_it(online: Served) -> None:
    with holter.init(project="q") as run:
        used = run.use_artifact("p/model:best")
        folder = Path(used.download())
        assert (used.version, used.where) == ("v0", online.address)
        used.verify()
    assert (folder / "config.json").read_text() == '{"take": 0}'
    assert FROZEN in (folder / "m.safetensors").read_bytes()
    assert sorted(os.listdir(folder)) == ["config.json", "empty", "m.safetensors"]
    [first] = [
        each for each in online.get("/artifact", project="p", name="model")["versions"] if each["version"] == "v0"
    ]
    assert run.id in [each["id"] for each in first["used_by"]]


def test_what_is_here_is_not_asked_for_and_a_connection_that_breaks_ends_nothing(
    online: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "f").mkdir()
    (folder / "same.bin").write_bytes(FROZEN)
    data = os.environ["HOLTER_DIR"]
    keep(Store(data), folder, "mine")
    asked: list[dict[str, Any]] = []
    ask = Connection.ask

    def breaks(self: Connection, method: str, path: str, **sent: Any) -> Answer:
        if path == "/artifact/read":
            asked.append(sent)
            if len(asked) == 1:
                raise Unreachable("nobody answers")
        return ask(self, method, path, **sent)

    monkeypatch.setattr(Connection, "ask", breaks)
    monkeypatch.setattr("holter.artifacts.far.time.sleep", lambda seconds: None)
    far = open_far(online.address, online.key, data=data)
    found = far.find(ArtifactName("p", "model", "v1"))
    holter.Artifact.of(found).download(tmp_path / "got")
    assert FROZEN in (tmp_path / "got" / "m.safetensors").read_bytes()
    assert len(asked) == 2
    assert hashlib.sha256(FROZEN).hexdigest().encode() not in asked[-1]["data"]


def test_what_was_not_sent_yet_is_newer_than_what_the_server_has(online: Served, tmp_path: Path) -> None:
    data = os.environ["HOLTER_DIR"]
    (folder := tmp_path / "f").mkdir()
    (folder / "a").write_text("newer")
    with holter.init(project="p") as run:
        keep(Store(data), folder, at_ns=9)
        assert run.use_artifact("model").where == online.address
        wanted = Wanted(project="p", name="model", type="model", at_ns=10, ask="x")
        missing = Source("w", str(tmp_path / "missing"))
        submit(data, Ask(wanted=wanted, sources=(missing,), url=online.address))
        assert run.use_artifact("model").where == ""


def test_the_api_lists_names_and_deletes_versions_of_a_server(online: Served) -> None:
    api = holter.Api()
    assert [each.version for each in api.artifacts("model", "p/model")] == ["v1", "v0"]
    newest = api.artifact("p/model:latest")
    newest.aliases.append("candidate")
    newest.description = "the second"
    newest.save()
    again = api.artifact("p/model:candidate")
    assert (again.version, again.description, again.aliases) == ("v1", "the second", ["candidate", "latest"])
    with pytest.raises(UsageError, match="has the alias 'candidate'"):
        again.delete()
    again.delete(delete_aliases=True)
    with pytest.raises(NoArtifact, match="is in the trash"):
        api.artifact("p/model:v1")
    online.post("/artifact/restore", {"project": "p", "name": "model", "version": "v1"})
    with pytest.raises(NoArtifact, match=rf"no artifact 'other' in project 'p'.*{online.address}"):
        api.artifact("p/other")


def test_a_shell_gets_a_version_of_the_server(online: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["artifact", "ls", "--server", "--project", "p"]) == 0
    assert "p/model" in capsys.readouterr().out
    assert main(["artifact", "get", "p/model:v0", "--server", "--root", "out"]) == 0
    assert Path("out/config.json").read_text() == '{"take": 0}'
    assert main(["artifact", "rm", "p/model:v0", "--server"]) == 2
    assert "--server goes with ls and get" in capsys.readouterr().err


def test_a_run_that_moved_to_another_machine_goes_on_from_the_checkpoint_on_the_server(online: Served) -> None:
    with holter.init(project="p", id="moved"):
        last = holter.resume()
    assert last is not None
    assert (last.step, last.artifact) == (400, "checkpoint-moved:v0")
    assert Path(last.path, "step.pt").read_bytes() == noise(3, 1000)


def test_where_the_server_does_not_answer_this_machine_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLTER_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("HOLTER_API_KEY", "hk_none")
    monkeypatch.setenv("HOLTER_MODE", "online")
    (folder := tmp_path / "f").mkdir()
    (folder / "a").write_text("here")
    keep(Store(os.environ["HOLTER_DIR"]), folder)
    with holter.init(project="p") as run:
        assert run.use_artifact("model").where == ""
        with pytest.raises(NoArtifact, match=r"there is no artifact 'none' in project 'p'.*refused"):
            run.use_artifact("none")
