"""A server's data as an earlier version left it: the next one serves it with everything in it.

`recordings/server-0.1.0.tar.xz` was written by the first version that had a server: two runs, one of them killed, a
file, an admin's key and a reader's.
"""

import tarfile
from pathlib import Path

import pytest

from tests.e2e.servers import holter, team_server

RECORDED = Path(__file__).parent / "recordings" / "server-0.1.0.tar.xz"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = tmp_path / "data"
    place.mkdir(mode=0o700)
    with tarfile.open(RECORDED) as archive:
        archive.extractall(place, filter="data")
    return place


def test_everything_is_there_after_the_upgrade(data: Path) -> None:
    admin, reader = ((data / f"{name}-key.txt").read_text().strip() for name in ("admin", "reader"))
    with team_server(data, key=admin) as served:
        runs = {run["name"]: run for run in served.get("/runs")["runs"]}
        assert {name: (run["state"], run["cause"], run["steps"]) for name, run in runs.items()} == {
            "finished": ("finished", None, 300),
            "killed": ("crashed", "killed", 300),
        }
        id = runs["killed"]["id"]  # noqa: A001  as people call it
        assert served.get(f"/runs/{id}")["config"] == {"lr": 0.1, "net": {"depth": 4}}
        assert served.get(f"/runs/{id}/verdict")["cause"] == "killed"
        assert "files/model.txt" in {file["path"] for file in served.get(f"/runs/{id}/files")["files"]}
        printed = served.get(f"/runs/{runs['finished']['id']}/console")["lines"]
        assert "done" in {line["text"] for line in printed}
        assert {key["key"] for key in served.get("/keys")["keys"]} > {"loss", "val/acc"}
    with team_server(data, key=reader) as served:
        assert served.http.get("/runs").status_code == 200
        assert served.http.delete(f"/runs/{id}").status_code == 403
    checked = holter("server", "check", "--data", str(data))
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "2 runs compared with the index: all well" in checked.stdout


def test_its_index_can_be_made_again(data: Path) -> None:
    rebuilt = holter("server", "rebuild", "--data", str(data))
    assert (rebuilt.returncode, rebuilt.stderr) == (0, "")
    assert rebuilt.stdout == f"The index of 2 runs in {data} is new.\n"
