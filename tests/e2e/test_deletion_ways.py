"""By whatever way a run is deleted, it is the same: it comes back neither from an index nor from a sender."""

import getpass
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holter.api.recorded_runs import Api
from holter.catalog.change.deletions import Deletions
from tests.e2e.programs import data_directory, run, sidecars, wait_until
from tests.e2e.servers import Served, holter, stream, team_server, ui
from tests.e2e.test_full_disk import Disk, disk

__all__ = ["disk"]

TRAINING = """
import holter
run = holter.init(project="far", id="unwanted")
open("model.bin", "wb").write(b"weights" * 1000)
run.save("model.bin", policy="now")
for step in range(200):
    run.log({"loss": step})
"""
HOUR_S = 3600.0


@pytest.fixture
def far(tmp_path: Path) -> Path:
    return tmp_path / "far"


@pytest.fixture
def server(far: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """It has a run that has ended, with a file, as the directory of the one who recorded it has."""
    monkeypatch.chdir(tmp_path)
    with team_server(far) as served:
        monkeypatch.setenv("HOLTER_URL", served.address)
        monkeypatch.setenv("HOLTER_API_KEY", served.key)
        assert run(TRAINING).returncode == 0
        wait_until(lambda: not sidecars(str(data_directory())), within_s=60)
        wait_until(lambda: has_all(served))
        yield served


def has_all(served: Served) -> bool:
    found = served.http.get("/runs/unwanted")
    if found.status_code != 200 or (found.json()["state"], found.json()["rows"]) != ("finished", 200):
        return False
    return "files/model.bin" in {each["path"] for each in served.get("/runs/unwanted/files")["files"]}


def let_alone(data: Path) -> None:
    """As if nobody had touched its runs for an hour."""
    for path in sorted((data / "runs").rglob("*"), reverse=True):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - HOUR_S))


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(512))


def blobs(data: Path) -> list[Path]:
    return [path for path in (data / "index" / "blobs").rglob("*") if path.is_file()]


def by_the_page(served: Served, data: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    assert served.http.delete("/runs/unwanted").status_code == 200
    return "first"


def by_gc(served: Served, data: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    let_alone(data)
    with monkeypatch.context() as patched:
        patched.setenv("HOLTER_DIR", str(data))
        done = holter("gc", "--state", "finished", "--yes")
    assert done.returncode == 0, done.stderr
    return getpass.getuser()


def by_python(served: Served, data: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    Api(directory=data).run("unwanted").delete()
    return getpass.getuser()


Way = Callable[[Served, Path, pytest.MonkeyPatch], str]
every_way = pytest.mark.parametrize("delete", [by_the_page, by_gc, by_python])


@every_way
def test_it_goes_from_page_index_and_disk_and_comes_back_only_when_somebody_says_so(
    delete: Way, server: Served, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert blobs(far) != []
    with stream(server) as events:
        who = delete(server, far, monkeypatch)
        assert events.wait_for("removed")["run"] == "unwanted"
    assert server.get("/runs")["total"] == 0
    assert server.http.get("/runs/unwanted").status_code == 404
    assert [path.name for path in (far / "runs").iterdir()] == []
    assert blobs(far) == []
    refused = holter("sync", "unwanted")
    assert refused.returncode == 1
    assert f"run unwanted was deleted on the server by {who} on " in refused.stderr
    assert not (far / "runs" / "unwanted").exists()
    assert holter("sync", "--restore", "unwanted").returncode == 0
    wait_until(lambda: has_all(server))


@pytest.mark.parametrize("delete", [by_gc, by_python])
def test_while_no_server_runs_it_is_the_same(
    delete: Way, server: Served, far: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.close()
    delete(server, far, monkeypatch)
    with team_server(far, key=server.key) as again:
        wait_until(lambda: again.get("/runs")["total"] == 0)
        wait_until(lambda: blobs(far) == [])
        assert again.http.get("/ingest/unwanted").status_code == 410


def test_the_page_of_ones_own_runs_hears_of_what_a_command_deleted() -> None:
    assert run("import holter\nholter.init(id='own').log({'loss': 1})").returncode == 0
    wait_until(lambda: not sidecars(str(data_directory())), within_s=60)
    let_alone(data_directory())
    with ui() as served:
        wait_until(lambda: served.get("/runs")["total"] == 1)
        with stream(served) as events:
            assert holter("gc", "--state", "finished", "--yes").returncode == 0
            events.wait_for("removed", run="own")
        assert served.get("/runs")["total"] == 0
    told = holter("why", "own")
    assert told.returncode == 2
    assert f"it was deleted by {getpass.getuser()} on " in told.stderr


def test_a_run_that_is_recorded_again_under_the_same_id_is_there_again() -> None:
    source = "import holter\nholter.init(id='own').log({'loss': 1})"
    run(source)
    wait_until(lambda: not sidecars(str(data_directory())), within_s=60)
    Api(directory=data_directory()).run("own").delete()
    run(source)
    with ui() as served:
        wait_until(lambda: served.get("/runs")["total"] == 1)
    assert holter("why", "own").returncode == 0


def test_a_full_disk_is_emptied_all_the_same(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no byte is left there is no room for the note either, until the run has gone."""
    monkeypatch.setenv("HOLTER_DIR", str(disk.path))
    assert run("import holter\nholter.init(id='own').log({'loss': 1})").returncode == 0
    wait_until(lambda: not sidecars(str(disk.path)), within_s=60)
    let_alone(disk.path)
    with pytest.raises(OSError, match="No space"):
        fill(disk.path / "ballast")
    done = holter("gc", "--state", "finished", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in (disk.path / "runs").iterdir()] == []
    deletion = Deletions(str(disk.path)).find("own")
    assert deletion is not None
    assert deletion.by == getpass.getuser()
