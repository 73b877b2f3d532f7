"""`holter server migrate`: all of a server goes to a real PostgreSQL and a real object store, and back."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.run_copies import copy_run
from holter.journal.rundir import is_run_id
from holter.storage.engines import s3
from holter.storage.opening import open_storage
from holter.storage.places import choose_places, places_in, read_places
from tests.clickhouse.server import running_chdb
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import Served, holter, team_server
from tests.object_store import KEYS, ObjectStore
from tests.postgres import PostgresServer, running_postgres

COPIES = 12
TRAINING = """
import holter
import numpy as np
run = holter.init(project="far", config={"lr": 0.1})
print("id", run.id)
for step in [*range(900), *range(800, 1000)]:
    run.log({"loss": float("nan") if step == 7 else 1 / (step + 1)}, step=step)
run.log({"img": holter.Image(np.zeros((4, 4), np.uint8))})
run.alert("high", "too high")
model = holter.Artifact("model", "model")
with model.new_file("weights.bin", "wb") as file:
    file.write(bytes(range(256)) * 1000)
run.log_artifact(model, aliases=["best"])
"""
SWEEP = {"program": "train.py", "method": "random", "parameters": {"lr": {"min": 0.0, "max": 1.0}}}


class Recorded:
    """A stopped server's data directory, and what belongs to it."""

    def __init__(self, data: Path, key: str, first: str) -> None:
        self.data, self.key, self.first = data, key, first
        self.runs = sorted(path.name for path in (data / "runs").iterdir() if is_run_id(path.name))

    def copy(self, place: Path) -> "Recorded":
        shutil.copytree(self.data, place)
        return Recorded(place, self.key, self.first)


@pytest.fixture(scope="module")
def bucket() -> Iterator[ObjectStore]:
    found = ObjectStore()
    yield found
    found.close()


@pytest.fixture(scope="module")
def postgres(bucket: ObjectStore) -> Iterator[PostgresServer]:
    with running_postgres() as found:
        yield found


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    data = tmp_path_factory.mktemp("migration") / "data"
    with team_server(data) as server:
        sent = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key}
        homes = [str(tmp_path_factory.mktemp("home")) for _ in range(2)]
        first, second = (run(TRAINING, HOLTER_DIR=home, **sent).stdout.split()[1] for home in homes)
        for each in (first, second):
            wait_until(lambda: is_whole(server, each))  # noqa: B023  it is waited for at once
        wait_until(lambda: has_model(server))
        server.post(f"/runs/{first}/marks", {"state": "failed", "reason": "I say so"})
        assert server.http.delete(f"/runs/{second}?force=true").status_code == 200
        server.post("/sweeps", {"project": "far", "configuration": SWEEP})
        key = server.key
    for number in range(COPIES):
        copy_run(data / "runs" / first, number)
    (data / "runs" / first / "notes.txt").write_text("by hand")
    done = holter("server", "rebuild", "--data", str(data))
    assert done.returncode == 0, done.stderr
    storage = open_storage(places_in(str(data / "index")))
    storage.settings.merge("far", "ada", changes={"now": {"sort": "-loss"}})
    storage.close()
    return Recorded(data, key, first)


@pytest.fixture
def recorded(original: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return original.copy(tmp_path / "data")


def is_whole(server: Served, run_id: str) -> bool:
    answer = server.http.get(f"/runs/{run_id}")
    if answer.status_code != 200 or answer.json()["rows"] != 1101 or answer.json()["ended_at"] is None:
        return False
    [(_, columns)] = server.series(runs=[run_id], keys=["loss"], buckets=10)
    entries = server.post("/media", {"runs": [run_id], "keys": ["img"]})["entries"]
    if not entries or sum(columns["count"]) != 1000:
        return False
    return server.http.get(f"/runs/{run_id}/files/{entries[0]['items'][0]['path']}").content.startswith(b"\x89PNG")


def has_model(server: Served) -> bool:
    asked = {"project": "far", "name": "model", "version": "best", "path": "weights.bin"}
    return server.http.get("/artifact/content", params=asked).content == bytes(range(256)) * 1000


def check_served(data: Path, recorded: Recorded) -> None:
    """Whether a server that is started there has all that was recorded."""
    with team_server(data, key=recorded.key) as server:
        wait_until(lambda: {each["id"] for each in server.get("/runs", limit=1000)["runs"]} == set(recorded.runs))
        for each in recorded.runs:
            wait_until(lambda: is_whole(server, each))  # noqa: B023  it is waited for at once
        wait_until(lambda: server.state(recorded.first) == "failed")
        assert has_model(server)
        assert server.http.get(f"/runs/{recorded.first}/files/notes.txt").content == b"by hand"
        assert [each["project"] for each in server.get("/sweeps")["sweeps"]] == ["far"]
        lines = server.get(f"/runs/{recorded.first}/console", count=5)["lines"]
        assert lines[0]["text"] == f"id {recorded.first}"
    done = holter("server", "check", "--data", str(data))
    assert done.returncode == 0, done.stdout
    index = str(data / "index")
    storage = open_storage(choose_places(read_places(str(data)), f"sqlite:{index}"))
    assert storage.settings.get("far", "ada") == {"now": {"sort": "-loss"}}
    storage.close()


def migrate(
    *arguments: str, killed_after_s: float | None = None, killed_at: str = ""
) -> subprocess.CompletedProcess[str]:
    """To its end, or until some time is over, or until it says that it has come so far."""
    command = [sys.executable, "-m", "holter", "server", "migrate", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        if killed_at:
            assert any(line.startswith(f"holter: {killed_at}:") for line in process.stderr)
            process.kill()
        if killed_after_s is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(killed_after_s)
            process.kill()
        out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_it_is_all_there_however_often_it_was_killed_on_the_way(
    recorded: Recorded, postgres: PostgresServer, bucket: ObjectStore
) -> None:
    asked = ["--from", f"sqlite:{recorded.data}", "--to", postgres.new_place(), "--blobs", bucket.new_place()]
    for part in ("journals", "files", "index", "comparing"):
        for _ in range(2):
            assert migrate(*asked, killed_at=part).returncode == -signal.SIGKILL
    kills = 0
    while (done := migrate(*asked, killed_after_s=0.5 + 0.1 * kills)).returncode == -signal.SIGKILL:
        kills += 1
        assert kills < 100, done.stderr
    assert done.returncode == 0 or "there is nothing to move" in done.stderr, done.stderr  # killed in the last moment
    assert not [path for path in recorded.data.iterdir() if path.name.startswith(".migration")]
    shutil.rmtree(recorded.data / "runs")  # only copies
    shutil.rmtree(recorded.data / "index")
    shutil.rmtree(recorded.data / "artifacts")
    check_served(recorded.data, recorded)


def test_what_comes_between_two_attempts_comes_along_and_what_goes_does_not(
    recorded: Recorded, postgres: PostgresServer, bucket: ObjectStore, tmp_path: Path
) -> None:
    data, new = recorded.data, tmp_path / "new"
    asked = ["--from", f"sqlite:{data}", "--to", postgres.new_place(), "--blobs", bucket.new_place()]
    asked += ["--data", str(new)]
    assert migrate(*asked, killed_at="comparing").returncode == -signal.SIGKILL
    with team_server(data, key=recorded.key) as server:  # nobody is in a hurry
        assert server.http.delete("/runs/c0000000?force=true").status_code == 200
        again = run(TRAINING, HOLTER_URL=server.address, HOLTER_API_KEY=server.key).stdout.split()[1]
        wait_until(lambda: is_whole(server, again))
    done = migrate(*asked, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"] == COPIES + 1
    here = Recorded(data, recorded.key, recorded.first)
    assert again in here.runs
    audit = Path("access", "audit.jsonl")
    assert b"run-deleted" in (data / audit).read_bytes()
    assert (new / audit).read_bytes() == (data / audit).read_bytes()
    check_served(new, here)
    assert not (data / "holter-server.toml").exists()
    with team_server(data, key=recorded.key) as server:  # the old one is as it was
        assert is_whole(server, again)
    back = tmp_path / "back"
    done = migrate("--from", f"sqlite:{new}", "--to", f"sqlite:{back}")
    assert done.returncode == 0, done.stderr
    assert not (back / "holter-server.toml").exists()
    check_served(back, here)


def test_a_backup_in_a_bucket_has_all_of_a_server_wherever_its_parts_lie(
    recorded: Recorded, postgres: PostgresServer, bucket: ObjectStore, tmp_path: Path
) -> None:
    near, far, data, new = bucket.new_place(), bucket.new_place(), recorded.data, tmp_path / "new"
    with running_chdb() as clickhouse:
        places = ["--to", postgres.new_place(), "--blobs", bucket.new_place(), "--series", clickhouse.new_place()]
        done = migrate("--from", f"sqlite:{data}", *places, "--data", str(new))
        assert done.returncode == 0, done.stderr
        check_served(new, recorded)
        for source, place in ((data, near), (new, far)):
            with team_server(source, key=recorded.key):  # it need not stop
                done = holter("server", "backup", place, "--data", str(source))
            assert done.returncode == 0, done.stderr
            assert f"`holter server restore {place} DIRECTORY` brings them back" in done.stdout
    for source, place in ((data, near), (new, far)):
        shutil.rmtree(source)
        restored = tmp_path / f"restored-{source.name}"
        done = holter("server", "restore", place, str(restored))
        assert done.returncode == 0, done.stderr
        check_served(restored, recorded)
    done = holter("server", "backup", near, "--data", str(restored))
    assert "has a backup: another one needs a folder of its own" in done.stderr
    assert "exists: what is restored needs a name" in holter("server", "restore", near, str(restored)).stderr
    assert "needs no restoring" in holter("server", "restore", str(restored), str(tmp_path / "x")).stderr
    nothing = holter("server", "restore", bucket.new_place(), str(tmp_path / "x")).stderr
    assert "there is no backup, or one that was not completed" in nothing
    assert "a backup is a directory, or s3://" in holter("server", "restore", "postgresql://db", "y").stderr
    assert not (tmp_path / "x").exists()


def test_a_backup_that_was_killed_is_none_and_one_that_has_changed_is_told(
    recorded: Recorded, bucket: ObjectStore, tmp_path: Path
) -> None:
    place = bucket.new_place()
    opened = s3.open_bucket(place)
    command = [sys.executable, "-m", "holter", "server", "backup", place, "--data", str(recorded.data)]
    with subprocess.Popen(command) as process:
        wait_until(lambda: len(opened.list("")) > 5 or process.poll() is not None)
        process.kill()
    assert "was not completed" in holter("server", "restore", place, str(tmp_path / "x")).stderr
    done = holter("server", "backup", place, "--data", str(recorded.data))
    assert done.returncode == 0, done.stderr
    [segment, *_] = [each.name for each in opened.list("runs/") if each.name.endswith(".seg")]
    opened.put(segment, opened.read(segment)[:-1] + b"?")
    done = holter("server", "restore", place, str(tmp_path / "x"))
    assert done.returncode == 1
    assert f"{segment} is not what was written there" in done.stderr
    assert not list(tmp_path.glob("x*"))


def test_what_can_not_be_moved_is_told_before_anything_is_changed(
    recorded: Recorded, postgres: PostgresServer, bucket: ObjectStore, tmp_path: Path
) -> None:
    data, place = recorded.data, postgres.new_place()
    before = sorted(path.relative_to(data) for path in data.rglob("*"))

    def told(*asked: str) -> str:
        done = holter("server", "migrate", *asked)
        assert done.returncode != 0, done.stdout
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    assert "write `holter server migrate --from" in told()
    assert "write `holter server migrate --from" in told("--from", f"sqlite:{data}")
    assert "there is no data directory" in told("--from", f"sqlite:{tmp_path}/x", "--to", place)
    assert "--from takes a data directory" in told("--from", "postgresql://ada:secret@db/x", "--to", place)
    assert f"takes the data directory with it, sqlite:{data}" in told("--from", f"sqlite:{data}/index", "--to", place)
    assert "no storage engine for 'postgres://db'" in told("--from", f"sqlite:{data}", "--to", "postgres://db")
    assert "there is nothing to move" in told("--from", f"sqlite:{data}", "--to", f"sqlite:{data}")
    assert "has something in it" in told("--from", f"sqlite:{data}", "--to", f"sqlite:{tmp_path}")
    nowhere = "postgresql://127.0.0.1:1/x?connect_timeout=2"
    assert "can't be reached" in told("--from", f"sqlite:{data}", "--to", nowhere)
    assert "can't be reached" in told(
        "--from", f"sqlite:{data}", "--to", place, "--blobs", "s3://b/x?endpoint=http://127.0.0.1:1"
    )
    with team_server(data, key=recorded.key):
        assert "is served by another process already" in told("--from", f"sqlite:{data}", "--to", place)
    files = sorted(path.relative_to(data) for path in data.rglob("*"))
    assert [each for each in files if each not in before and each.suffix not in (".db-wal", ".db-shm")] == []
    assert "--from is an option of `holter server migrate`" in holter("server", "check", "--from", "sqlite:x").stderr
    storage = open_storage(choose_places({"runs": place}, places_in(str(tmp_path / "other")).runs))
    storage.settings.merge("far", "bob", changes={"now": {"sort": "name"}})
    storage.close()
    done = migrate("--from", f"sqlite:{data}", "--to", place)  # settings alone are no server's data
    assert done.returncode == 0, done.stderr
    other = recorded.copy(tmp_path / "copy")
    with contextlib.suppress(FileNotFoundError):
        (other.data / "holter-server.toml").unlink()
    assert "there are runs and journals and keys already" in told("--from", f"sqlite:{other.data}", "--to", place)


def test_a_file_that_is_damaged_stays_and_is_told(recorded: Recorded, postgres: PostgresServer) -> None:
    blobs = [path for path in (recorded.data / "index" / "blobs").rglob("*") if path.is_file()]
    blobs[0].write_bytes(b"rotten")
    place = postgres.new_place()
    done = migrate("--from", f"sqlite:{recorded.data}", "--to", place, "--blobs", f"sqlite:{recorded.data}/elsewhere")
    assert done.returncode == 1, done.stderr
    assert "stays where it is: what was staged for blob" in done.stderr
    assert "Moved, read again and found equal" in done.stdout
