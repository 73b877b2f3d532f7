"""A run that somebody deleted on the server stays deleted, whatever its sidecar still sends."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from benchmarks.received import recorded_rows
from holter.journal.rundir import run_directory
from tests.e2e.programs import Program, data_directory, sidecars, start, wait_until
from tests.e2e.servers import Served, holter, team_server

TRAINING = """
import time, holter
run = holter.init(project="far", id="unwanted")
open("model.bin", "wb").write(b"weights" * 1000)
run.save("model.bin", policy="now")
print("ready", flush=True)
for step in range(100_000):
    run.log({"loss": step})
    time.sleep(0.02)
"""


@pytest.fixture
def far(tmp_path: Path) -> Path:
    return tmp_path / "far"


@pytest.fixture
def server(far: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("HOLTER_STALE_AFTER", "1")
    monkeypatch.setenv("HOLTER_CRASHED_AFTER", "2")
    with team_server(far) as served:
        monkeypatch.setenv("HOLTER_URL", served.address)
        monkeypatch.setenv("HOLTER_API_KEY", served.key)
        yield served


@pytest.fixture
def program(server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    """It records and sends; the server has some of it."""
    monkeypatch.chdir(tmp_path)
    with start(TRAINING) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n", started.stderr
        wait_until(lambda: server.http.get("/runs/unwanted").status_code == 200, within_s=60)
        wait_until(lambda: server.get("/runs/unwanted")["rows"] > 10)
        yield started
        started.kill()


def internal_log() -> str:
    return Path(run_directory(str(data_directory()), "unwanted"), "debug-internal.log").read_text()


def kill_unheard(server: Served, program: Program) -> list[int]:
    """Let the run die while its sidecar can say nothing; returns that, and any other that is about to leave to it."""
    found = sidecars(str(data_directory()))
    signal_all(found, signal.SIGSTOP)
    program.kill()
    program.wait()
    wait_until(lambda: server.state("unwanted") == "crashed")
    return found


def signal_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def delete_unheard(server: Served, program: Program) -> list[int]:
    found = kill_unheard(server, program)
    assert server.http.delete("/runs/unwanted", params={"force": "true"}).status_code == 200
    return found


def test_a_sidecar_that_comes_back_does_not_bring_the_run_back(server: Served, far: Path, program: Program) -> None:
    signal_all(delete_unheard(server, program), signal.SIGCONT)
    wait_until(lambda: "run unwanted was deleted on the server by first" in internal_log(), within_s=60)
    wait_until(lambda: not sidecars(str(data_directory())), within_s=60)  # and does not try again
    assert internal_log().count("was deleted on the server") == 1
    assert server.http.get("/runs/unwanted").status_code == 404
    assert not (far / "runs" / "unwanted").exists()


def test_only_a_person_who_says_so_brings_it_back(server: Served, far: Path, program: Program) -> None:
    signal_all(delete_unheard(server, program), signal.SIGKILL)
    refused, passed_over = holter("sync", "unwanted"), holter("sync", "--all")
    assert refused.returncode == 1
    assert "run unwanted was deleted on the server by first" in refused.stderr
    assert "`holter sync --restore unwanted` sends it again" in refused.stderr
    assert passed_over.returncode == 0
    assert "was deleted on the server" in passed_over.stderr
    assert not (far / "runs" / "unwanted").exists()
    assert holter("sync", "--restore", "unwanted").returncode == 0
    rows = len(recorded_rows(run_directory(str(data_directory()), "unwanted")))
    wait_until(lambda: server.http.get("/runs/unwanted").status_code == 200)
    wait_until(lambda: server.get("/runs/unwanted")["rows"] == rows > 10)
    assert "files/model.bin" in {each["path"] for each in server.get("/runs/unwanted/files")["files"]}


def test_it_stays_deleted_over_a_restart_and_a_rebuild(server: Served, far: Path, program: Program) -> None:
    signal_all(delete_unheard(server, program), signal.SIGKILL)
    server.close()
    assert holter("server", "rebuild", "--data", str(far)).returncode == 0
    with team_server(far, key=server.key) as again:
        answer = again.http.get("/ingest/unwanted")
        assert answer.status_code == 410
        assert answer.json()["error"]["do"] == "`holter sync --restore unwanted` sends it again"


def test_what_arrives_in_the_moment_of_the_deletion_goes_with_it(server: Served, far: Path, program: Program) -> None:
    """Ten senders that begin the journal from its start, again and again, while somebody deletes the run."""
    kept = run_directory(str(far), "unwanted")
    segment = next(path for path in sorted(Path(kept).glob("*.seg")) if path.stat().st_size > 1000)
    data, journal = segment.read_bytes(), segment.name.partition("-")[0]
    statuses: list[int] = []
    is_enough = threading.Event()

    def send() -> None:
        while not is_enough.is_set():
            answer = server.http.post(
                f"/ingest/unwanted/journals/{journal}",
                params={"offset": 0},
                content=zstandard.compress(data),
                headers={"content-type": "application/zstd"},
            )
            if answer.status_code != 429:  # ten at once may be too many
                statuses.append(answer.status_code)

    signal_all(kill_unheard(server, program), signal.SIGKILL)
    senders = [threading.Thread(target=send) for _ in range(10)]
    for sender in senders:
        sender.start()
    wait_until(lambda: statuses.count(200) > 20)
    deleted = server.http.delete("/runs/unwanted", params={"force": "true"})
    wait_until(lambda: statuses[-20:] == [410] * 20)
    is_enough.set()
    for sender in senders:
        sender.join()
    assert deleted.status_code == 200
    assert set(statuses) == {200, 410}
    wait_until(
        lambda: not Path(kept).exists()
    )  # what was on its way when it was deleted goes a moment after the answer
    assert server.get("/runs")["total"] == 0
