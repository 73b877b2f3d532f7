"""Files of runs on other machines: complete or absent, whoever dies in the middle, and named again after damage."""

import hashlib
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.chaotic_proxy import ChaoticProxy
from benchmarks.server_process import ServerProcess
from holter.sidecar.file_sending import PART_BYTES
from tests.e2e.programs import data_directory, run, sidecars, start, wait_until
from tests.e2e.servers import holter, team_server

LARGE_BYTES = 50_000_000
SAVING = """
import holter
run = holter.init(id="heavy")
run.save("weights.bin", policy="now")
print("saved", flush=True)
"""
PATH = "/runs/heavy/files/files/weights.bin"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "far")
    process.start()
    yield process
    process.close()


@pytest.fixture
def proxy(server: ServerProcess) -> Iterator[ChaoticProxy]:
    """Slow enough that a large file takes seconds."""
    slow = ChaoticProxy(server.port, chaos=0.0)
    slow.delay_s = 0.15
    yield slow
    slow.close()


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.chdir(tmp_path)
    data = random.Random(5).randbytes(LARGE_BYTES)
    Path("weights.bin").write_bytes(data)
    return data


def begin(server: ServerProcess, proxy: ChaoticProxy) -> None:
    """Save the file in a run, and wait until the server has some of it."""
    done = run(SAVING, HOLTER_URL=proxy.url, HOLTER_API_KEY=server.key)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: staged_bytes(server) > 2 * PART_BYTES, within_s=60)
    assert staged_bytes(server) < LARGE_BYTES - 2 * PART_BYTES
    assert not is_there(server)


def staged_bytes(server: ServerProcess) -> int:
    return max((path.stat().st_size for path in (server.data / "index/blobs/staging").iterdir()), default=0)


def is_there(server: ServerProcess) -> bool:
    return "files/weights.bin" in {each["path"] for each in server.get("/runs/heavy/files")["files"]}


def content(server: ServerProcess) -> bytes:
    connection = server.connect()
    try:
        return connection.ask("GET", PATH).data
    finally:
        connection.close()


def test_a_large_file_outlives_the_death_of_the_server(
    server: ServerProcess, proxy: ChaoticProxy, weights: bytes
) -> None:
    begin(server, proxy)
    had = staged_bytes(server)
    server.kill()
    server.start()
    assert staged_bytes(server) >= had
    assert not is_there(server)
    wait_until(lambda: is_there(server), within_s=60)
    assert content(server) == weights
    # It went on where it was: what was on its way came again, and nothing else.
    assert proxy.bytes < LARGE_BYTES + 3 * PART_BYTES


def test_a_large_file_outlives_the_death_of_its_sidecar(
    server: ServerProcess, proxy: ChaoticProxy, weights: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(server, proxy)
    [sidecar] = sidecars(str(data_directory()))
    os.kill(sidecar, signal.SIGKILL)
    wait_until(lambda: not sidecars(str(data_directory())))
    time.sleep(0.5)
    assert not is_there(server)
    monkeypatch.setenv("HOLTER_URL", proxy.url)
    monkeypatch.setenv("HOLTER_API_KEY", server.key)
    done = holter("sync", "heavy")
    assert done.returncode == 0, done.stderr
    assert content(server) == weights
    assert proxy.bytes < LARGE_BYTES + 3 * PART_BYTES
    assert not list((server.data / "index/blobs/staging").iterdir())


def test_rows_do_not_wait_for_a_large_file(server: ServerProcess, proxy: ChaoticProxy, weights: bytes) -> None:
    proxy.delay_s = 0.4
    logging = SAVING + "\nimport time\nfor step in range(100_000):\n    run.log({'x': step})\n    time.sleep(0.02)\n"
    with start(logging, HOLTER_URL=proxy.url, HOLTER_API_KEY=server.key) as program:
        wait_until(lambda: staged_bytes(server) > PART_BYTES, within_s=60)
        rows = server.get("/runs/heavy")["rows"]
        wait_until(lambda: server.get("/runs/heavy")["rows"] > rows)
        assert staged_bytes(server) < LARGE_BYTES
        program.kill()
    for pid in sidecars(str(data_directory())):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("remedy", ["restart", "rebuild", "backup"])
def test_the_names_of_files_are_found_again_without_their_index(remedy: str, tmp_path: Path) -> None:
    data = b"not much" * 1000
    (tmp_path / "weights.bin").write_bytes(data)
    far = tmp_path / "far"
    with team_server(far) as server:
        done = run(
            f"import os; os.chdir({str(tmp_path)!r})\n{SAVING}", HOLTER_URL=server.address, HOLTER_API_KEY=server.key
        )
        assert done.returncode == 0, done.stderr
        wait_until(lambda: server.http.get(PATH).status_code == 200, within_s=60)
        wait_until(lambda: not sidecars(str(data_directory())))
        before = server.get("/ingest/heavy")["files"]
        key = server.key
    assert before["files/weights.bin"]["sha256"] == hashlib.sha256(data).hexdigest()
    if remedy == "backup":
        assert holter("server", "backup", str(tmp_path / "copy"), "--data", str(far)).returncode == 0
        far = tmp_path / "copy"
    else:
        (far / "index" / "blobs.db").write_bytes(b"\xa5" * 20_000)
    if remedy == "rebuild":
        assert holter("server", "rebuild", "--data", str(far)).returncode == 0
    with team_server(far, key=key) as again:
        assert ("is damaged" in again.output.read_text()) == (remedy == "restart")
        assert again.get("/ingest/heavy")["files"] == before
        assert again.http.get(PATH).content == data
