"""`holter server` whose index is in PostgreSQL and whose files are in an object store, both real and both killed."""

import contextlib
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from holter.storage.opening import open_journals
from holter.storage.places import choose_places
from tests.e2e.balancer import Balancer
from tests.e2e.programs import run, start, wait_until
from tests.e2e.servers import Served, holter, stream, team_server
from tests.object_store import KEYS, ObjectStore
from tests.postgres import PostgresServer, running_postgres

ROWS = 1200
TRAINING = f"""
import holter
import numpy as np
run = holter.init(project="far", config={{"lr": 0.1}})
print("id", run.id)
for step in range({ROWS}):
    run.log({{"loss": 1 / (step + 1)}})
run.log({{"img": holter.Image(np.zeros((4, 4), np.uint8))}})
"""
WAITING = """
import os, time
print("logged", flush=True)
while os.path.exists(os.environ["AWAY"]):
    time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[ObjectStore]:
    found = ObjectStore()
    yield found
    found.close()


@pytest.fixture(scope="module")
def postgres(bucket: ObjectStore) -> Iterator[PostgresServer]:
    with running_postgres() as found:  # while the other one comes up
        yield found


@pytest.fixture
def places(postgres: PostgresServer, bucket: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return ["--runs", postgres.new_place(), "--blobs", bucket.new_place()]


def record(server: Served) -> str:
    done = run(TRAINING, HOLTER_URL=server.address, HOLTER_API_KEY=server.key)
    return next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("id "))


def record_without(postgres: PostgresServer, server: Served, away: Path) -> str:
    """A run that logs while the database is away, and ends when it is back: sidecars of the dead wait for seconds."""
    away.touch()
    postgres.kill()
    try:
        refused = server.http.get("/runs")
        assert refused.status_code == 503, refused.text
        assert "can't be reached" in refused.text
        program = start(TRAINING + WAITING, HOLTER_URL=server.address, HOLTER_API_KEY=server.key, AWAY=str(away))
        assert program.stdout is not None
        run_id = program.stdout.readline().split()[1]
        assert program.stdout.readline() == "logged\n"
    finally:
        postgres.start()
        away.unlink()
    with program:
        program.communicate(timeout=60)
    return run_id


def is_whole(server: Served, run_id: str) -> bool:
    """Whether the run is there with its end, its rows, its lines and its picture."""
    answer = server.http.get(f"/runs/{run_id}")
    if answer.status_code != 200 or answer.json()["state"] != "finished" or answer.json()["rows"] != ROWS + 1:
        return False
    [(_, columns)] = server.series(runs=[run_id], keys=["loss"], buckets=10)
    lines = server.get(f"/runs/{run_id}/console", count=5)["lines"]
    entries = server.post("/media", {"runs": [run_id], "keys": ["img"]})["entries"]
    if not entries or sum(columns["count"]) != ROWS or lines[0]["text"] != f"id {run_id}":
        return False
    return server.http.get(f"/runs/{run_id}/files/{entries[0]['items'][0]['path']}").content.startswith(b"\x89PNG")


def test_a_run_is_there_after_every_part_was_killed(
    tmp_path: Path, places: list[str], postgres: PostgresServer
) -> None:
    data = tmp_path / "data"
    with team_server(data, *places) as server:
        key, first = server.key, record(server)
        wait_until(lambda: is_whole(server, first))
        assert not (data / "index" / "runs.db").exists()
        server.kill()
    with team_server(data, *places, key=key) as server:
        assert is_whole(server, first)
        second = record_without(postgres, server, tmp_path / "away")
        wait_until(lambda: is_whole(server, second))
        assert is_whole(server, first)


def test_rows_do_not_wait_for_an_object_store_that_is_away_and_files_come_later(
    tmp_path: Path, places: list[str], bucket: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with team_server(tmp_path / "data", *places) as server:
        monkeypatch.setenv("HOLTER_API_KEY", server.key)
        bucket.kill()
        try:
            one = record(server)
            wait_until(lambda: server.state(one) == "finished" and server.get(f"/runs/{one}")["rows"] == ROWS + 1)
            assert not is_whole(server, one)
        finally:
            bucket.start()
        bucket.new_place()  # it is there again
        done = holter("sync", one, "--url", server.address)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: is_whole(server, one))


def test_a_server_begins_without_its_object_store_and_ends_without_its_database(
    tmp_path: Path, places: list[str], postgres: PostgresServer, bucket: ObjectStore
) -> None:
    data, places = tmp_path / "data", [*places, "--journals", places[1]]
    with team_server(data, *places) as server:
        key, one = server.key, record(server)
        wait_until(lambda: is_whole(server, one))
    bucket.kill()
    try:
        with team_server(data, *places, key=key) as server:
            assert server.state(one) == "finished"
            assert server.get(f"/runs/{one}")["rows"] == ROWS + 1
    finally:
        bucket.start()
    postgres.kill()
    try:
        refused = holter("server", "--data", str(data), "--port", "0", *places)
    finally:
        postgres.start()
    assert refused.returncode == 1
    assert "can't be reached" in refused.stderr
    bucket.new_place()  # it is there again
    with team_server(data, *places, key=key) as server:
        wait_until(lambda: is_whole(server, one))


def test_a_run_that_is_deleted_while_the_object_store_is_away_holds_up_no_other(
    tmp_path: Path, places: list[str], bucket: ObjectStore
) -> None:
    with team_server(tmp_path / "data", *places, "--journals", places[1]) as server:
        one = record(server)
        wait_until(lambda: is_whole(server, one))
        bucket.kill()
        try:
            refused = server.http.delete(f"/runs/{one}?force=true")
            assert refused.status_code == 503, refused.text
            two = record(server)
            wait_until(lambda: server.state(two) == "finished" and server.get(f"/runs/{two}")["rows"] == ROWS + 1)
        finally:
            bucket.start()
        bucket.new_place()  # it is there again
        wait_until(lambda: server.http.delete(f"/runs/{one}?force=true").status_code == 200)
        wait_until(lambda: server.http.get(f"/runs/{one}").status_code == 404)


def seal(places: list[str], run_id: str) -> None:
    """Not only when it is time."""
    chosen = dict(zip(("runs", "blobs", "journals"), places[1::2], strict=True))
    store = open_journals("", choose_places(chosen, ""))
    assert store.seal(run_id) > 0
    store.close()


def test_a_server_may_lose_its_disk_where_journals_lie_elsewhere(
    tmp_path: Path, places: list[str], postgres: PostgresServer
) -> None:
    data, places = tmp_path / "data", [*places, "--journals", places[1]]
    with team_server(data, *places) as server:
        key, first, second = server.key, record(server), record(server)
        wait_until(lambda: is_whole(server, first) and is_whole(server, second))
        server.post(f"/runs/{first}/marks", {"state": "failed", "reason": "I say so"})
        seal(places, first)
        server.kill()
    for folder in ("runs", "index"):
        shutil.rmtree(data / folder)
    with team_server(data, *places, key=key) as server:
        assert server.get(f"/runs/{first}")["rows"] == ROWS + 1
        assert server.state(first) == "failed"
        assert server.http.get(f"/runs/{first}/files").status_code == 200  # now somebody needs its copy
        assert server.get(f"/runs/{first}/verdict")["state"] == "failed"
        assert server.state(first) == "failed"
        third = record_without(postgres, server, tmp_path / "away")
        wait_until(lambda: is_whole(server, third))
        assert server.http.delete(f"/runs/{second}?force=true").status_code == 200
        assert server.http.get(f"/runs/{second}").status_code == 404
    for act in ("rebuild", "check"):
        done = holter("server", act, "--data", str(data), *places)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "2 runs" in done.stdout
    with team_server(data, *places, key=key) as server:
        assert server.state(first) == "failed"
        assert server.http.delete(f"/runs/{first}/marks").status_code == 200
        wait_until(lambda: is_whole(server, first))  # where several may share, a word said here goes their way


LONG_TRAINING = """
import os, time, holter
run = holter.init(project="far")
print("id", run.id, flush=True)
step = 0
while not os.path.exists(os.environ["ENOUGH"]):
    run.log({"loss": step})
    step += 1
    time.sleep(0.005)
print("steps", step)
"""


def is_in(server: Served, run_id: str, state: str) -> bool:
    return server.state(run_id) == state


def test_two_servers_on_one_storage_are_one_to_whoever_sends_and_asks(tmp_path: Path, places: list[str]) -> None:
    places, enough = [*places, "--journals", places[1]], tmp_path / "enough"
    with contextlib.ExitStack() as opened:
        one = opened.enter_context(team_server(tmp_path / "one", *places))
        two = opened.enter_context(team_server(tmp_path / "two", *places, key=one.key))
        balancer = opened.enter_context(contextlib.closing(Balancer(one.address, two.address)))
        made = two.post("/tokens", {"name": "trainer", "scope": "write"})["key"]
        environment = {"HOLTER_URL": balancer.url, "HOLTER_API_KEY": made, "ENOUGH": str(enough)}
        training = opened.enter_context(start(LONG_TRAINING, **environment))
        assert training.stdout is not None
        run_id = training.stdout.readline().split()[1]
        for each in (one, two):
            wait_until(partial(is_in, each, run_id, "running"))
        with stream(one) as first:
            first.wait_for("rows", run=run_id)
            last_id = first.last_id
        with stream(two, last_id) as moved:  # nothing was missed, so nothing has to be asked for again
            assert moved.next()[0] != "reset"
            moved.wait_for("rows", run=run_id)
        one.kill()
        have = two.get(f"/runs/{run_id}")["rows"]
        wait_until(lambda: two.get(f"/runs/{run_id}")["rows"] > have)
        enough.touch()
        out, err = training.communicate(timeout=60)
        assert training.returncode == 0, err
        steps = int(out.split()[-1])
        again = opened.enter_context(team_server(tmp_path / "one", *places, key=made))
        for each in (two, again):
            wait_until(partial(is_in, each, run_id, "finished"))
            assert each.get(f"/runs/{run_id}")["rows"] == steps
            [(_, columns)] = each.series(runs=[run_id], keys=["loss"], buckets=10)
            assert sum(columns["count"]) == steps
        wait_until(lambda: two.http.delete(f"/runs/{run_id}").status_code == 200)
        wait_until(lambda: again.http.get(f"/runs/{run_id}").status_code == 404)
        wait_until(lambda: again.http.get(f"/ingest/{run_id}").status_code == 410)


AGENT = """
import os, time, holter

def train():
    with holter.init() as run:
        for step in range(3):
            run.log({"loss": run.config["x"] + 2 - step})
            time.sleep(0.05)

holter.agent(os.environ["SWEEP"], function=train)
"""
SEARCH: dict[str, Any] = {
    "method": "grid",
    "metric": {"name": "loss"},
    "parameters": {"x": {"values": list(range(24))}},
}


def has_finished(server: Served, sweep: str, trials: int) -> bool:
    return bool(server.get(f"/sweeps/{sweep}")["counts"]["finished"] >= trials)


def test_a_sweep_goes_on_at_another_server_when_one_is_killed(tmp_path: Path, places: list[str]) -> None:
    places = [*places, "--journals", places[1]]
    with contextlib.ExitStack() as opened:
        one = opened.enter_context(team_server(tmp_path / "one", *places))
        two = opened.enter_context(team_server(tmp_path / "two", *places, key=one.key))
        balancer = opened.enter_context(contextlib.closing(Balancer(one.address, two.address)))
        sweep = one.post("/sweeps", {"configuration": SEARCH, "project": "far"})["id"]
        environment = {"HOLTER_URL": balancer.url, "HOLTER_API_KEY": one.key, "SWEEP": sweep}
        agents = [opened.enter_context(start(AGENT, **environment)) for _ in range(2)]
        for each in (one, two):
            wait_until(partial(has_finished, each, sweep, 3), 120)
        one.kill()
        for agent in agents:
            _, err = agent.communicate(timeout=240)
            assert agent.returncode == 0, err
        found = two.get(f"/sweeps/{sweep}")
    assert found["status"] == "finished"
    assert [(each["state"], each["value"]) for each in sorted(found["rows"], key=lambda each: each["params"]["x"])] == [
        ("finished", float(x)) for x in range(24)
    ]
    assert len({run for each in found["rows"] for run in each["runs"]}) == sum(
        each["attempts"] for each in found["rows"]
    )


MAKING = """
import os, holter
run = holter.init(project="far", id=os.environ["RUN"])
for step in range(6):
    with open("model.bin", "wb") as file:
        file.write(bytes([step]) * 300_000 + os.urandom(2_000_000))
    run.log_artifact("model.bin", name="model", type="model", aliases=[f"step-{step}"]).wait()
"""


def versions(server: Served) -> list[str]:
    found = server.http.get("/artifact", params={"project": "far", "name": "model"})
    return [each["version"] for each in found.json()["versions"]] if found.status_code == 200 else []


def has_all(server: Served) -> bool:
    return len(versions(server)) == 6


def test_a_version_that_one_of_two_servers_was_sent_the_other_has_whole(
    tmp_path: Path, places: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [*places, "--journals", places[1]]
    monkeypatch.chdir(tmp_path)
    with contextlib.ExitStack() as opened:
        one = opened.enter_context(team_server(tmp_path / "one", *places))
        two = opened.enter_context(team_server(tmp_path / "two", *places, key=one.key))
        balancer = opened.enter_context(contextlib.closing(Balancer(one.address, two.address)))
        making = opened.enter_context(
            start(MAKING, HOLTER_URL=balancer.url, HOLTER_API_KEY=one.key, HOLTER_MODE="online", RUN="r")
        )
        wait_until(lambda: bool(versions(two)), within_s=60)
        one.kill()  # in the middle of it: the sender goes on at the other one
        assert making.wait(60) == 0
        again = opened.enter_context(team_server(tmp_path / "one", *places, key=one.key))
        for each in (two, again):
            wait_until(partial(has_all, each), within_s=60)
        assert versions(two) == versions(again)
        asked = {"project": "far", "name": "model", "version": "latest", "path": "model.bin"}
        last = (tmp_path / "model.bin").read_bytes()
        assert again.http.get("/artifact/content", params=asked).content == last
        assert two.http.get("/artifact/content", params=asked).content == last
        place = {"project": "far", "name": "model"}
        moved = {**place, "version": "v1", "alias": "best", "expected": ""}
        assert [each.http.post("/artifact/alias", json=moved).status_code for each in (two, again)] == [200, 409]
        gone = {**place, "version": "v0"}
        assert two.http.delete("/artifact/version", params=gone).status_code == 200
        assert len(versions(again)) == 5
        assert again.http.post("/artifact/restore", json=gone).status_code == 200
        assert len(versions(two)) == 6
        assert not (tmp_path / "one" / "artifacts").exists()


ONE_VERSION = """
import os, holter
run = holter.init(project="far")
artifact = holter.Artifact("model", "model")
with artifact.new_file("model.bin", "wb") as file:
    file.write(bytes(range(256)) * 2000)
run.log_artifact(artifact).wait()
"""


@pytest.mark.parametrize("away", ["postgres", "bucket"])
def test_a_version_waits_for_a_storage_that_is_away_and_is_whole_when_it_is_back(
    tmp_path: Path, places: list[str], postgres: PostgresServer, bucket: ObjectStore, away: str
) -> None:
    storage = postgres if away == "postgres" else bucket
    with team_server(tmp_path / "data", *places) as server:
        storage.kill()
        try:
            run(ONE_VERSION, HOLTER_URL=server.address, HOLTER_API_KEY=server.key, HOLTER_MODE="online")
            place = {"project": "far", "name": "model"}
            if away == "postgres":
                refused = server.http.get("/artifact", params=place)
                assert (refused.status_code, "can't be reached" in refused.text) == (503, True)
        finally:
            storage.start()
        bucket.new_place()  # it is there again
        asked = {**place, "version": "latest", "path": "model.bin"}
        wait_until(lambda: server.http.get("/artifact/content", params=asked).status_code == 200, within_s=90)
        assert server.http.get("/artifact/content", params=asked).content == bytes(range(256)) * 2000


def test_damaged_tables_are_left_alone_and_made_again_where_somebody_wants_it(
    tmp_path: Path, places: list[str], postgres: PostgresServer
) -> None:
    data = tmp_path / "data"
    with team_server(data, *places) as server:
        key, one = server.key, record(server)
        wait_until(lambda: is_whole(server, one))
    postgres.execute(places[1], "DROP TABLE run")
    refused = holter("server", "--data", str(data), "--port", "0", *places)
    assert refused.returncode != 0
    assert "is damaged" in refused.stderr
    for act in ("rebuild", "check"):
        done = holter("server", act, "--data", str(data), *places)
        assert done.returncode == 0, done.stdout + done.stderr
    with team_server(data, *places, key=key) as server:
        assert is_whole(server, one)
