"""A run on one machine, its server on another: what is recorded arrives, and nothing of it disturbs the program."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.received import has_all, journal_bytes, recorded_rows
from holter.journal.rundir import run_directory
from holter.wire.binary_columns import decode_tables
from holter.wire.connection import quoted
from tests.e2e.programs import data_directory, run, sidecars, start, wait_until
from tests.e2e.servers import Served, holter, team_server

TRAINING = """
import os, time, holter
run = holter.init(project="far", config={"lr": 0.5})
print("id", run.id, flush=True)
for step in range(int(os.environ.get("STEPS", "200"))):
    run.log({"loss": 1 / (step + 1), "step_again": step})
    if step % 10 == 0:
        print("at step", step, flush=True)
    time.sleep(float(os.environ.get("PAUSE", "0")))
"""


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """The server's directory: the other machine."""
    return tmp_path / "far"


@pytest.fixture
def server(far: Path) -> Iterator[Served]:
    with team_server(far) as served:
        yield served


def local_directory(run_id: str) -> str:
    return run_directory(str(data_directory()), run_id)


def wait_for(far: Path, run_id: str) -> None:
    wait_until(lambda: has_all(far, local_directory(run_id), run_id), within_s=60)


def assert_same(server: Served, far: Path, run_id: str) -> None:
    """The server's files are ours byte for byte, and its series has each of our points once, in order."""
    kept, ours = run_directory(str(far), run_id), local_directory(run_id)
    wait_until(lambda: journal_bytes(kept) == journal_bytes(ours), within_s=60)
    wait_until(lambda: printed(kept) == printed(ours))
    local = [(row["_step"], row["loss"]) for row in recorded_rows(ours)]
    wait_until(lambda: len(points(server, run_id)) >= len(local), within_s=60)
    assert points(server, run_id) == local


def printed(directory: str) -> bytes:
    path = Path(directory, "output.log")
    return path.read_bytes() if path.exists() else b""


def points(server: Served, run_id: str) -> list[tuple[int, float]]:
    answer = server.http.get(f"/runs/{run_id}/points", params={"key": "loss"})
    [(_, columns)] = decode_tables(answer.content)
    return list(zip(columns["step"].tolist(), columns["value"].tolist(), strict=True))


def record(server: Served, **environment: str) -> str:
    sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key}
    done = run(TRAINING, **{**sending, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[1]


def test_a_run_arrives_with_all_that_belongs_to_it(server: Served, far: Path) -> None:
    run_id = record(server)
    wait_for(far, run_id)
    assert_same(server, far, run_id)
    wait_until(lambda: server.http.get(f"/runs/{run_id}").status_code == 200)
    wait_until(lambda: server.state(run_id) == "finished")
    shown = server.get(f"/runs/{run_id}")
    assert (shown["project"], shown["config"], shown["rows"]) == ("far", {"lr": 0.5}, 200)
    wait_until(lambda: "script.py" in files(server, run_id) or "config.yaml" in files(server, run_id))
    wait_until(lambda: {"config.yaml", "summary.json", "metadata.json"} <= files(server, run_id))
    assert json.loads(server.http.get(f"/runs/{run_id}/files/summary.json").text)["step_again"] == 199


def files(server: Served, run_id: str) -> set[str]:
    return {each["path"] for each in server.get(f"/runs/{run_id}/files")["files"]}


def test_rows_are_seen_while_the_run_lives_and_its_death_is_explained(server: Served, far: Path) -> None:
    sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "STEPS": "100000", "PAUSE": "0.02"}
    program = start(TRAINING, **sending)
    assert program.stdout is not None
    run_id = program.stdout.readline().split()[1]
    wait_until(lambda: server.http.get(f"/runs/{run_id}").status_code == 200)
    wait_until(lambda: server.get(f"/runs/{run_id}")["rows"] > 20)
    assert server.get(f"/runs/{run_id}")["state"] == "running"
    program.send_signal(signal.SIGKILL)
    program.communicate()
    wait_until(lambda: server.state(run_id) == "crashed")
    wait_for(far, run_id)
    assert_same(server, far, run_id)
    assert server.get(f"/runs/{run_id}/verdict")["cause"] == "killed"


def test_a_command_that_knows_nothing_of_holter_is_sent_too(server: Served, far: Path) -> None:
    sending = {**os.environ, "HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "HOLTER_RUN_ID": "wrapped"}
    command = [sys.executable, "-m", "holter", "run", "--", "sh", "-c", "echo hello; exit 3"]
    done = subprocess.run(command, env=sending, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    wait_for(far, "wrapped")
    wait_until(lambda: server.http.get("/runs/wrapped").status_code == 200)
    wait_until(lambda: server.state("wrapped") == "failed")
    wait_until(lambda: server.get("/runs/wrapped/console", tail=10)["lines"])
    assert [line["text"] for line in server.get("/runs/wrapped/console", tail=10)["lines"]] == ["hello"]


def test_two_machines_send_to_one_server(server: Served, far: Path, tmp_path: Path) -> None:
    sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key}
    homes = [tmp_path / "one", tmp_path / "two"]
    programs = [start(TRAINING, HOLTER_DIR=str(home), PAUSE="0.005", **sending) for home in homes]
    run_ids = [program.communicate(timeout=60)[0].split()[1] for program in programs]
    for home, run_id in zip(homes, run_ids, strict=True):
        kept = run_directory(str(home), run_id)
        wait_until(lambda kept=kept, run_id=run_id: has_all(far, kept, run_id), within_s=60)  # type: ignore[misc]  # bound
    wait_until(lambda: [len(points(server, run_id)) for run_id in run_ids] == [200, 200])


def test_the_key_is_in_no_command_line_and_in_no_file_of_the_run(server: Served, far: Path) -> None:
    sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "STEPS": "100", "PAUSE": "0.05"}
    with start(TRAINING, **sending) as program:
        assert program.stdout is not None
        run_id = program.stdout.readline().split()[1]
        wait_until(lambda: sidecars(str(data_directory())))
        [sidecar] = sidecars(str(data_directory()))
        assert server.key.encode() not in Path(f"/proc/{sidecar}/cmdline").read_bytes()
        program.communicate()
    wait_for(far, run_id)
    kept = [path.read_bytes() for path in Path(local_directory(run_id)).rglob("*") if path.is_file()]
    assert len(kept) > 3
    assert not [data for data in kept if server.key.encode() in data]


def test_without_the_network_everything_is_recorded_and_the_user_is_told_once(far: Path) -> None:
    done = run(TRAINING, HOLTER_URL="http://127.0.0.1:9", HOLTER_API_KEY="k", PAUSE="0.02")
    assert done.returncode == 0
    assert done.stderr.count("the run is not sent to http://127.0.0.1:9") == 1
    run_id = done.stdout.split()[1]
    assert len(recorded_rows(local_directory(run_id))) == 200


def test_offline_nothing_is_sent(server: Served, far: Path) -> None:
    run_id = record(server, HOLTER_MODE="offline")
    time.sleep(1.5)
    assert not (far / "runs" / run_id).exists()


def test_a_wrong_key_is_told_and_the_run_goes_on(server: Served) -> None:
    done = run(TRAINING, HOLTER_URL=server.address, HOLTER_API_KEY="hk_wrong_wrong", PAUSE="0.02")
    assert done.returncode == 0
    assert "this key is not known here" in done.stderr


def test_a_wish_to_stop_reaches_the_program_on_the_other_machine(server: Served) -> None:
    sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "STEPS": "100000", "PAUSE": "0.02"}
    with start(TRAINING, HOLTER_ALLOW_STOP="1", **sending) as program:
        assert program.stdout is not None
        run_id = program.stdout.readline().split()[1]
        wait_until(lambda: server.http.get(f"/runs/{run_id}").status_code == 200)
        wait_until(lambda: server.http.post(f"/runs/{run_id}/stop", json={"reason": "enough"}).status_code == 200)
        _, errors = program.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert "asks run" in errors


def test_plain_http_to_another_host_is_warned_of(tmp_path: Path) -> None:
    done = run(TRAINING, HOLTER_URL="http://192.0.2.1:4658", HOLTER_API_KEY="k", STEPS="1")
    assert "goes over the network unencrypted" in done.stderr
    assert done.returncode == 0
    for pid in sidecars(str(data_directory())):  # it would try for a while
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def logged_in(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_API_KEY", server.key)
    done = holter("login", server.address)
    monkeypatch.delenv("HOLTER_API_KEY")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Logged in to {server.address} as first (read, write, admin)" in done.stdout


@pytest.mark.usefixtures("logged_in")
def test_whoever_logged_in_sends_without_any_variable(server: Served, far: Path) -> None:
    run_id = run(TRAINING).stdout.split()[1]
    wait_for(far, run_id)
    assert_same(server, far, run_id)
    assert holter("login", "--logout").returncode == 0
    assert holter("sync", run_id).stderr.startswith("holter: to which server?")


def test_a_key_that_is_not_known_is_not_kept(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_API_KEY", "hk_wrong_wrong")
    done = holter("login", server.address)
    assert done.returncode == 2
    assert "does not know this key" in done.stderr
    assert not (data_directory() / "login.json").exists()


@pytest.mark.usefixtures("logged_in")
def test_runs_recorded_offline_are_sent_once(server: Served, far: Path) -> None:
    run_ids = [run(TRAINING, HOLTER_MODE="offline").stdout.split()[1] for _ in range(2)]
    wait_until(lambda: not sidecars(str(data_directory())))
    first, second = holter("sync", "--all"), holter("sync", "--all")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert all(f"{run_id}: " in first.stdout for run_id in run_ids)
    assert second.stdout.count("it was all there already") == 2
    for run_id in run_ids:
        assert_same(server, far, run_id)
        assert {"config.yaml", "summary.json"} <= files(server, run_id)


@pytest.mark.usefixtures("logged_in")
def test_a_file_may_have_any_name_and_keeps_no_other_back(server: Served) -> None:
    recorded = run(TRAINING, HOLTER_MODE="offline").stdout.split()[1]
    wait_until(lambda: not sidecars(str(data_directory())))
    names = ["a\nb.txt", "ends\n", "b c?#%2F.txt", "ü \u2028.txt", "plain.txt"]
    folder = Path(local_directory(recorded), "files")
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f"of {name}")
    assert holter("sync", recorded).returncode == 0
    assert {f"files/{name}" for name in names} <= files(server, recorded)
    for name in names:
        answer = server.http.get(f"/runs/{recorded}/files/files/{quoted(name)}")
        assert (answer.status_code, answer.text) == (200, f"of {name}")


@pytest.mark.usefixtures("logged_in")
def test_a_copied_directory_is_sent_whatever_it_is_called(server: Served, far: Path, tmp_path: Path) -> None:
    run_id = run(TRAINING, HOLTER_MODE="offline").stdout.split()[1]
    wait_until(lambda: not sidecars(str(data_directory())))
    copy = shutil.copytree(local_directory(run_id), tmp_path / "from-the-cluster")
    assert holter("sync", str(copy)).returncode == 0
    assert_same(server, far, run_id)
    assert holter("sync", str(tmp_path / "far")).stdout.count("already") == 1


@pytest.mark.usefixtures("logged_in")
def test_a_run_that_is_still_written_is_sent_as_far_as_it_is(server: Served, far: Path) -> None:
    with start(TRAINING, HOLTER_MODE="offline", STEPS="100000", PAUSE="0.01") as program:
        assert program.stdout is not None
        run_id = program.stdout.readline().split()[1]
        wait_until(lambda: len(recorded_rows(local_directory(run_id))) > 20)
        assert holter("sync", run_id).returncode == 0
        wait_until(lambda: len(points(server, run_id)) > 20)
        before = len(points(server, run_id))
        program.send_signal(signal.SIGKILL)
        program.communicate()
    wait_until(lambda: not sidecars(str(data_directory())))
    assert holter("sync", run_id).returncode == 0
    assert_same(server, far, run_id)
    assert len(points(server, run_id)) > before


def test_a_server_that_is_not_there_is_told_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = run(TRAINING, HOLTER_MODE="offline").stdout.split()[1]
    done = holter("sync", run_id, "--url", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert "http://127.0.0.1:9 can't be reached (Connection refused)" in done.stderr
