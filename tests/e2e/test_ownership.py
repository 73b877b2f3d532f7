"""Two people with one run id are two runs on their server, and nobody takes over another's."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

from holter.journal.rundir import list_segments
from holter.wire.binary_columns import decode_tables
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import API, Served, holter, team_server

TRAINING = """
import os, holter
run = holter.init(project=os.environ["PROJECT"], name=os.environ["NAME"])
for step in range(20):
    run.log({"loss": float(os.environ["LOSS"])})
run.finish()
print(run.url)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ownership") / "team"


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[Served]:
    with team_server(data) as served:
        yield served


def key_of(server: Served, name: str, scope: str = "write") -> str:
    return str(server.post("/tokens", {"name": name, "scope": scope})["key"])


def record(server: Served, machine: Path, key: str, **environ: str) -> str:
    """Record a run on a machine of its own; returns what the program and holter printed."""
    done = run(
        TRAINING,
        HOLTER_DIR=str(machine),
        HOLTER_URL=server.address,
        HOLTER_API_KEY=key,
        **{"PROJECT": "p", "NAME": "run", "LOSS": "1", **environ},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def has_ended(server: Served, run_id: str) -> bool:
    return server.state(run_id) == "finished"


def losses(server: Served, run_id: str) -> list[float]:
    answer = server.http.get(f"/runs/{run_id}/points", params={"key": "loss"})
    [(_, columns)] = decode_tables(answer.content)
    return list(columns["value"].tolist())


def test_two_people_with_one_run_id_are_two_runs(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = key_of(server, "ann"), key_of(server, "bob")
    record(server, tmp_path / "a", ann, HOLTER_RUN_ID="baseline", NAME="ann's", LOSS="1")
    wait_until(lambda: has_ended(server, "baseline"), within_s=60)
    record(server, tmp_path / "b", bob, HOLTER_RUN_ID="baseline", NAME="bob's", LOSS="2")
    wait_until(lambda: has_ended(server, "baseline-2"), within_s=60)
    names = {each["id"]: each["name"] for each in server.get("/runs")["runs"]}
    assert (names["baseline"], names["baseline-2"]) == ("ann's", "bob's")
    assert (set(losses(server, "baseline")), set(losses(server, "baseline-2"))) == ({1.0}, {2.0})
    assert (tmp_path / "b" / "runs" / "baseline").is_dir()
    assert "this run is baseline-2 on" in (tmp_path / "b" / "runs" / "baseline" / "debug-internal.log").read_text()
    # Sent again by hand, it is the same one; and so it is for the page's address.
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "b"))
    monkeypatch.setenv("HOLTER_API_KEY", bob)
    synced = holter("sync", "baseline", "--url", server.address)
    assert synced.returncode == 0, synced.stderr
    assert synced.stdout.endswith(", as baseline-2\n")
    again = record(server, tmp_path / "b", bob, HOLTER_RUN_ID="baseline", NAME="bob's", LOSS="3")
    assert again.startswith(server.address)
    assert unquote(again.splitlines()[0]).endswith("/baseline-2")
    wait_until(lambda: 3.0 in losses(server, "baseline-2"), within_s=60)
    assert sorted(each["id"] for each in server.get("/runs")["runs"]) == ["baseline", "baseline-2"]


def test_the_same_user_joins_from_another_machine_with_another_key(server: Served, data: Path, tmp_path: Path) -> None:
    keys = {"one": key_of(server, "cid"), "two": key_of(server, "cid")}
    for machine, key in keys.items():
        record(server, tmp_path / machine, key, HOLTER_RUN_ID="ranks", LOSS="1")
    recorded = {each for name in keys for each in list_segments(str(tmp_path / name / "runs" / "ranks"))}
    kept = data / "runs" / "ranks"
    wait_until(lambda: kept.is_dir() and recorded <= set(list_segments(str(kept))), within_s=60)
    assert not (data / "runs" / "ranks-2").exists()


def test_a_sender_that_knows_nothing_of_owners_is_told_whose_the_run_is(server: Served) -> None:
    dan, eve = key_of(server, "dan"), key_of(server, "eve")
    octets = {"content-type": "application/octet-stream"}
    text = "/ingest/old/transcripts/output.log?offset=0"
    with httpx.Client(base_url=server.address + API, headers=octets) as sender:
        mine = sender.post(text, content=b"mine\n", headers={"authorization": f"Bearer {dan}"})
        assert mine.status_code == 200, mine.text
        theirs = {"authorization": f"Bearer {eve}"}
        for answer in (
            sender.post(text, content=b"theirs, and longer\n", headers=theirs),
            sender.get("/ingest/old", headers=theirs),
            sender.post("/ingest/old/restore", json={}, headers={**theirs, "content-type": "application/json"}),
        ):
            assert answer.status_code == 409
            assert answer.json()["error"]["what"] == "the run 'old' on this server is somebody else's"
        assert sender.get("/ingest/old", headers={"authorization": f"Bearer {dan}"}).json()["transcripts"] == {
            "output.log": 5
        }
