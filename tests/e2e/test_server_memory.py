"""Memory is bounded at both ends: whatever waits is in files, however long it waited and however many send at once."""

import hashlib
import http.client
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.programs import run, wait_until
from tests.e2e.servers import API, Served, team_server

MIB = 1 << 20
SENDERS, PART_BYTES = 48, 24 * MIB


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1]) << 10


def put(served: Served, path: str, data: bytes) -> int:
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=120)
    try:
        headers = {**served.authorization, "content-type": "application/octet-stream"}
        connection.request("PUT", API + path, body=data, headers=headers)
        return connection.getresponse().status
    except ConnectionError:  # refused in the middle of the body
        return 503
    finally:
        connection.close()


def test_many_large_parts_at_once_are_taken_in_turn(tmp_path: Path) -> None:
    data = os.urandom(PART_BYTES)
    digest = hashlib.sha256(data).hexdigest()
    statuses: list[int] = []

    def send(number: int) -> None:
        place = f"/ingest/r{number}/files/model.bin?offset=0&total={PART_BYTES}&sha256={digest}"
        statuses.append(put(served, place, data))

    with team_server(tmp_path / "team") as served:
        before = peak_bytes(served.process.pid)
        senders = [threading.Thread(target=send, args=(number,)) for number in range(SENDERS)]
        for sender in senders:
            sender.start()
        while any(sender.is_alive() for sender in senders):
            assert served.http.get("/runs").status_code == 200  # reading goes on
            time.sleep(0.1)
        grown = peak_bytes(served.process.pid) - before
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) >= 8
    assert grown < SENDERS * PART_BYTES / 3, f"{grown / MIB:.0f} MiB"
    assert grown < 400 * MIB, f"{grown / MIB:.0f} MiB"


BACKLOG = """
import os, holter
run = holter.init(id=os.environ["ID"])
for step in range(int(os.environ["ROWS"])):
    run.log({f"metric/{key}": step * 1.37 + key for key in range(20)})
with open("weights.bin", "wb") as file:
    file.truncate(int(os.environ["BYTES"]))
run.save("weights.bin", policy="now")
"""


def peak_of_sync(run_id: str) -> int:
    process = subprocess.Popen([sys.executable, "-m", "holter", "sync", run_id], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss << 10


@pytest.mark.timeout(300)
def test_neither_end_needs_more_memory_for_what_waited_for_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of a moment beside one whose journal and file have some 250 MB, both recorded while nobody answered."""
    monkeypatch.chdir(tmp_path)
    for run_id, rows, size in (("small", 10, 1000), ("large", 300_000, 200 * MIB)):
        assert run(BACKLOG, HOLTER_MODE="offline", ID=run_id, ROWS=str(rows), BYTES=str(size)).returncode == 0
    with team_server(tmp_path / "team") as served:
        monkeypatch.setenv("HOLTER_URL", served.address)
        monkeypatch.setenv("HOLTER_API_KEY", served.key)
        small = peak_of_sync("small")
        wait_until(lambda: served.http.get("/runs/small").status_code == 200)
        before = peak_bytes(served.process.pid)
        large = peak_of_sync("large")
        wait_until(lambda: served.http.get("/runs/large").status_code == 200)
        wait_until(lambda: served.get("/runs/large")["rows"] == 300_000, within_s=120)
        grown = peak_bytes(served.process.pid) - before
        assert served.http.head("/runs/large/files/files/weights.bin").headers["content-length"] == str(200 * MIB)
    assert large - small < 40 * MIB, f"the sender: {small / MIB:.0f} and {large / MIB:.0f} MiB"
    assert grown < 150 * MIB, f"the server: {grown / MIB:.0f} MiB more"
