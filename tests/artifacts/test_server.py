"""What the server tells of artifacts, and whom."""

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holter
from holter.artifacts import checkpoints
from holter.artifacts.sealing import seal
from holter.artifacts.store import Store
from holter.artifacts.wishes import Wanted
from holter.model.run_row import RunRow
from holter.server.domain.services import ServerSettings, Services
from holter.storage.places import Places
from tests.artifacts.files import sources, write_safetensors
from tests.unit.server.asking import Asking

WHO = {"ada": "write", "rita": "read", "eve": "write"}


class Team:
    """A server with an artifact of two versions in `vision`."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.store = Store(str(self.data))
        (files := folder / "files").mkdir()
        for number in (1, 2):
            (files / "notes.txt").write_text(f"take {number}")
            (files / "same.csv").write_text("a,b\n1,2\n")
            write_safetensors(files / "m.safetensors", {"layer.weight": bytes(70_000)})
            (files / f"only{number}.bin").write_bytes(os.urandom(10))
            wanted = Wanted(project="vision", name="model", type="model", at_ns=number, run=f"r{number}")
            seal(self.store, sources(files), wanted)
            (files / f"only{number}.bin").unlink()
        with self.store.change("vision", "model") as book:
            book.find("v1").used_by.append("r3")
        self.services = Services(ServerSettings(data=str(self.data), kind="server", places=Places.at("memory:")), {})
        self.keys = {name: self.services.access.keys.add(name, scope, now=1.0)[1] for name, scope in WHO.items()}  # type: ignore[arg-type]  # the scopes above
        self.services.runs.put([RunRow(id=f"r{n}", project="vision", name=f"run {n}") for n in (1, 2, 3)])
        self._asking = Asking(self.services)

    def ask(self, who: str, method: str, path: str, fails: int = 200, **sent: Any) -> Any:  # noqa: ANN401  JSON
        answer = self._asking.ask(method, path, key=self.keys[who], **sent)
        assert answer.status_code == fails, answer.text
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.json() if is_json else answer

    def close(self) -> None:
        self._asking.__exit__(None, None, None)
        self.services.close()


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    found = Team(tmp_path)
    yield found
    found.close()


NAMED = {"project": "vision", "name": "model"}


def test_versions_are_told_with_the_runs_around_them(team: Team) -> None:
    [listed] = team.ask("rita", "GET", "/artifacts", params={"project": "vision"})["artifacts"]
    assert (listed["name"], listed["versions"], listed["newest"], listed["absent"]) == ("model", 2, "v1", "")
    found = team.ask("rita", "GET", "/artifact", params=NAMED)
    newest = found["versions"][0]
    assert (newest["version"], newest["aliases"], newest["made_by"]["name"]) == ("v1", ["latest"], "run 2")
    assert [run["name"] for run in newest["used_by"]] == ["run 3"]


def test_files_are_compared_previewed_and_given_back(team: Team) -> None:
    asked = {**NAMED, "version": "v1", "against": "v0"}
    files = team.ask("rita", "GET", "/artifact/files", params=asked)["files"]
    assert {each["path"]: each["change"] for each in files} == {
        "m.safetensors": "same",
        "notes.txt": "changed",
        "only1.bin": "gone",
        "only2.bin": "new",
        "same.csv": "same",
    }
    version = {**NAMED, "version": "latest"}
    tensors = team.ask("rita", "GET", "/artifact/preview", params={**version, "path": "m.safetensors"})["tensors"]
    assert tensors == [{"name": "layer.weight", "dtype": "U8", "shape": [70_000], "bytes": 70_000}]
    content = team.ask("rita", "GET", "/artifact/content", params={**version, "path": "notes.txt"})
    assert content.text == "take 2"
    assert content.headers["content-security-policy"].startswith("sandbox")
    team.ask("rita", "GET", "/artifact/content", 404, params={**version, "path": "../../secrets/secret"})


def test_a_run_and_its_versions_are_told_over_projects_but_not_from_private_ones(team: Team) -> None:
    team.store.miss(Wanted(project="secret", name="x", type="model", at_ns=1, ask="x", run="r3"), "the disk is full")
    team.store.miss(Wanted(project="open", name="y", type="model", at_ns=1, ask="y", run="r3"), "the disk is full")
    team.services.access.accounts.change_project("secret", kind="private", members={"ada": "writer"})
    outputs = team.ask("rita", "GET", "/artifact", params=NAMED)["outputs"]
    assert [(each["project"], each["name"], each["version"]) for each in outputs] == [("open", "y", "")]
    body = {**NAMED, "version": "v0", "by": "r1"}
    team.ask("rita", "POST", "/artifact/use", 403, json=body)
    team.ask("ada", "POST", "/artifact/use", json=body)
    team.ask("ada", "POST", "/artifact/use", json=body)
    assert team.store.book("vision", "model").find("v0").used_by == ["r1"]


def test_tables_are_looked_into_whatever_they_are_written_as(team: Team, tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    (folder := tmp_path / "tables").mkdir()
    (folder / "a.csv").write_text('prompt,answer\n"hi, you",<b>yes</b>\n' + "x,y\n" * 40_000)
    (folder / "b.table.json").write_text('{"columns": ["n", "text"], "data": [[1, null], [2, "two"]]}')
    pyarrow.parquet.write_table(pyarrow.table({"n": range(300), "loss": [0.5] * 300}), folder / "c.parquet")
    (folder / "d.parquet").write_bytes(b"PAR1 none")
    (folder / "e.csv").write_text('a\n"' + "never closed " * 20_000)
    seal(team.store, sources(folder), Wanted(project="vision", name="tables", type="dataset", at_ns=1))
    asked = {"project": "vision", "name": "tables", "version": "v0"}
    first, second, third, broken, odd = (
        team.ask("rita", "GET", "/artifact/preview", params={**asked, "path": path})
        for path in ("a.csv", "b.table.json", "c.parquet", "d.parquet", "e.csv")
    )
    assert (first["columns"], first["rows"][0], first["is_cut"]) == (
        ["prompt", "answer"],
        ["hi, you", "<b>yes</b>"],
        True,
    )
    assert (second["columns"], second["rows"]) == (["n", "text"], [["1", ""], ["2", "two"]])
    assert (third["rows"][:2], len(third["rows"]), third["is_cut"]) == ([["0", "0.5"], ["1", "0.5"]], 100, True)
    assert (broken["kind"], odd["kind"]) == ("none", "table")


def test_all_files_of_a_version_come_as_one_and_pieces_only_with_a_version_that_has_them(team: Team) -> None:
    answer = team.ask("rita", "GET", "/artifact/archive", params={**NAMED, "version": "v1"})
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        assert archive.read("notes.txt") == b"take 2"
        assert archive.namelist() == ["m.safetensors", "notes.txt", "only2.bin", "same.csv"]
    (pieces := [digest for digest, _ in team.store.pieces.all()]).sort()
    asked = {**NAMED, "version": "v0", "pieces": pieces}
    team.ask("rita", "POST", "/artifact/read", 404, json=asked)


def test_a_protected_alias_holds_its_version_until_it_is_unprotected(team: Team) -> None:
    body = {**NAMED, "version": "v0", "alias": "production"}
    team.ask("ada", "POST", "/artifact/alias", json={**body, "protected": True})
    problem = team.ask("ada", "DELETE", "/artifact/version", 400, params={**NAMED, "version": "v0"})
    assert "has the protected alias 'production'" in problem["error"]["what"]
    edit = {**NAMED, "version": "v0", "aliases": []}
    assert "is protected" in team.ask("ada", "PATCH", "/artifact/version", 400, json=edit)["error"]["what"]
    team.ask("ada", "POST", "/artifact/alias", json={**body, "protected": False})
    team.ask("ada", "PATCH", "/artifact/version", json={**edit, "description": "old"})
    assert team.ask("ada", "GET", "/artifact/book", params=NAMED)["aliases"].keys() == {"latest"}


def test_who_may_only_read_changes_nothing(team: Team) -> None:
    body = {**NAMED, "version": "v0", "alias": "best"}
    team.ask("rita", "POST", "/artifact/alias", 403, json=body)
    team.ask("rita", "DELETE", "/artifact/version", 403, params={**NAMED, "version": "v0"})


def test_of_two_who_move_an_alias_the_second_is_told(team: Team) -> None:
    body = {**NAMED, "alias": "best", "expected": ""}
    team.ask("ada", "POST", "/artifact/alias", json={**body, "version": "v0"})
    problem = team.ask("ada", "POST", "/artifact/alias", 409, json={**body, "version": "v1"})
    assert "v0 has it now" in problem["error"]["what"]


def test_a_deleted_version_is_gone_until_it_is_restored(team: Team) -> None:
    version = {**NAMED, "version": "v0"}
    team.ask("ada", "DELETE", "/artifact/version", params=version)
    found = team.ask("ada", "GET", "/artifact", params=NAMED)
    assert ([each["version"] for each in found["versions"]], found["trashed"]) == (["v1"], ["v0"])
    team.ask("ada", "POST", "/artifact/restore", json=version)
    assert len(team.ask("ada", "GET", "/artifact", params=NAMED)["versions"]) == 2


def test_a_server_tells_checkpoints_of_other_machines_and_never_looks_at_their_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with holter.init(project="p", mode="offline") as run:
        for step in (10, 20):
            write_safetensors(tmp_path / f"{step}.safetensors", {"w": bytes(1000)})
            run.checkpoint(tmp_path / f"{step}.safetensors", step, artifact=False)
        (tmp_path / "20.safetensors").unlink()
    settings = ServerSettings(data=os.environ["HOLTER_DIR"], kind="server", places=Places.at("memory:"))
    services = Services(settings, {})
    looked: list[str] = []
    monkeypatch.setattr(checkpoints, "judge", looked.append)
    try:
        key = services.access.keys.add("ada", "admin", now=1.0)[1]
        services.runs.put([RunRow(id=run.id, project="p", name="r")])
        with Asking(services) as asking:
            told = asking.ask("GET", f"/runs/{run.id}/checkpoints", key=key).json()
    finally:
        services.close()
    assert [(each["step"], each["trouble"]) for each in told["checkpoints"]] == [(10, ""), (20, "")]
    assert (told["last"], looked) == (1, [])
    assert told["checkpoints"][1]["path"] == f"{tmp_path}/20.safetensors"


def test_a_private_project_has_none_for_strangers(team: Team) -> None:
    team.services.access.accounts.change_project("vision", kind="private", members={"ada": "writer"})
    assert team.ask("eve", "GET", "/artifacts", params={"project": "vision"}) == {"artifacts": []}
    team.ask("eve", "GET", "/artifact", 404, params=NAMED)
    team.ask("eve", "POST", "/artifact/alias", 404, json={**NAMED, "version": "v0", "alias": "best"})
    team.ask("ada", "GET", "/artifact", params=NAMED)
