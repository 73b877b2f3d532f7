"""A server with few descriptors and many visitors: nothing is said to be deleted, and nobody with a key is kept out."""

import contextlib
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.programs import wait_until
from tests.e2e.servers import API, Served

FEW = 96
"""About 30 are open before anybody comes."""


@contextlib.contextmanager
def limited_server(data: Path, limit: str) -> Iterator[Served]:
    """`holter server` under a limit of open files as a shell sets it."""
    place = data.parent / "server.out"
    words = ["holter", "server", "--data", str(data), "--port", "0"]
    with place.open("w") as file:
        process = subprocess.Popen(
            ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh", sys.executable, "-m", *words],
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    served = Served(process, place)
    try:
        yield served
    finally:
        served.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with limited_server(tmp_path / "far", f"-n {FEW}") as served:
        yield served


def port_of(served: Served) -> int:
    return int(served.address.rpartition(":")[2])


def send(served: Served, run: str, statuses: list[int]) -> None:
    """As a sidecar does: a connection that stays open."""
    with httpx.Client(base_url=served.address + API, headers=served.authorization, timeout=60) as client:
        for number in range(10):
            query = {"offset": 10 * number}
            content = b"0123456789"
            while True:
                try:
                    answer = client.post(
                        f"/ingest/{run}/transcripts/output.log",
                        params=query,
                        content=content,
                        headers={"content-type": "application/octet-stream"},
                    )
                except httpx.TransportError:
                    continue  # somebody else had a greater need of its place
                statuses.append(answer.status_code)
                if answer.status_code == 200:
                    break


def test_more_runs_than_descriptors_are_all_kept_and_none_is_said_to_be_deleted(server: Served, tmp_path: Path) -> None:
    """With strangers who take all that they get."""
    statuses: list[int] = []
    runs = [f"r{number}" for number in range(60)]
    senders = [threading.Thread(target=send, args=(server, run, statuses)) for run in runs]
    with contextlib.ExitStack() as strangers:
        for _ in range(2 * FEW):
            strangers.enter_context(socket.create_connection(("127.0.0.1", port_of(server))))
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(60)
        assert not any(sender.is_alive() for sender in senders)
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) == 600
    kept = {path.parent.name: path.read_bytes() for path in (tmp_path / "far" / "runs").glob("*/output.log")}
    assert kept == dict.fromkeys(runs, b"0123456789" * 10)
    assert not list((tmp_path / "far" / "runs").glob(".trash*"))
    assert len(server.output.read_bytes()) < 32_000


def test_the_limit_is_raised_as_far_as_it_may_be(tmp_path: Path) -> None:
    with limited_server(tmp_path / "far", "-S -n 64") as served:
        limits = Path(f"/proc/{served.process.pid}/limits").read_text()
    found = re.search(r"Max open files +(\d+) +(\d+)", limits)
    assert found is not None
    assert found[1] == found[2] != "64"


def test_who_shows_a_key_is_answered_however_many_strangers_there_are(server: Served) -> None:
    with contextlib.ExitStack() as strangers:
        for _ in range(300):
            strangers.enter_context(socket.create_connection(("127.0.0.1", port_of(server))))
        wait_until(lambda: server.http.get("/runs").status_code == 200)
        assert [server.http.get("/runs").status_code for _ in range(20)] == [200] * 20
