"""Exactly once, whatever happens on the way: servers that are killed, networks that fail, proxies that repeat."""

import itertools
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from benchmarks.chaotic_proxy import FAULTS, ChaoticProxy
from benchmarks.received import Compared, compare
from benchmarks.server_kills import Training, kill_in_ingest
from benchmarks.server_network import send_over_an_outage, send_through_chaos
from benchmarks.server_process import ServerProcess
from holter.sidecar.sending import BATCH_BYTES
from holter.sidecar.uploading import TIMEOUT_S
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import holter

pytestmark = pytest.mark.timeout(300)

KILLS = 10
OUTAGE_S = 8.0


def assert_exactly_once(found: Compared) -> None:
    assert found.points > 1000
    assert (found.lost, found.doubled, found.is_in_order, found.is_same_bytes) == (0, 0, True, True)


def test_a_server_that_is_killed_again_and_again_has_everything_once(tmp_path: Path) -> None:
    found, code = kill_in_ingest(tmp_path, kills=KILLS)
    assert code == 0
    assert_exactly_once(found)


def test_a_proxy_that_drops_delays_repeats_and_cuts_off_does_no_harm(tmp_path: Path) -> None:
    found, faults = send_through_chaos(tmp_path, for_s=5.0)
    assert_exactly_once(found)
    assert set(faults) == set(FAULTS)
    assert min(faults.values()) >= 2, faults


def test_after_an_outage_everything_arrives(tmp_path: Path) -> None:
    assert_exactly_once(send_over_an_outage(tmp_path, outage_s=OUTAGE_S))


def test_a_proxy_that_falls_silent_in_the_middle_is_left_and_sending_goes_on(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "server")
    server.start()
    proxy = ChaoticProxy(server.port, chaos=0.0)
    training = Training(tmp_path / "home", "unanswered", url=proxy.url, key=server.key)
    try:
        while not server.get("/runs")["total"]:
            time.sleep(0.1)
        proxy.is_silent = True
        while not proxy.unanswered:
            time.sleep(0.05)
        proxy.is_silent = False  # but for the connection on which it is silent already
        rows = server.get("/runs")["runs"][0]["rows"]
        deadline = time.monotonic() + TIMEOUT_S + 20
        while server.get("/runs")["runs"][0]["rows"] <= rows + 100:
            assert time.monotonic() < deadline, "sending does not go on"
            time.sleep(0.2)
        assert training.end() == 0
        assert_exactly_once(compare(server, training.directory, run=training.run, key="loss"))
    finally:
        training.close()
        server.close()
        proxy.close()


class Patience(BaseHTTPRequestHandler):
    """A server that has no time for anybody, and says when to come back."""

    asked_at: ClassVar[list[float]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def do_GET(self) -> None:
        self.asked_at.append(time.monotonic())
        self.send_response(503)
        self.send_header("retry-after", "3")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the parent has it
        """Nothing."""


def test_a_sidecar_does_not_come_back_before_the_time_that_the_server_asks_for(tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Patience)
    threading.Thread(target=server.serve_forever).start()
    training = Training(tmp_path / "home", "patient", url=f"http://127.0.0.1:{server.server_port}", key="hk_a_b")
    try:
        wait_until(lambda: len(Patience.asked_at) >= 4, within_s=60)
        assert training.end() == 0
    finally:
        training.close()
        server.shutdown()
        server.server_close()
    waits = [later - earlier for earlier, later in itertools.pairwise(Patience.asked_at[:4])]
    assert min(waits) >= 3.0, waits
    assert max(waits) < 15.0, waits


MUCH = """
import random, holter
run = holter.init(id="much")
for step in range(200_000):
    run.log({f"metric/{key}": random.random() for key in range(8)})
"""


def test_what_waited_for_hours_is_sent_in_pieces_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ServerProcess(tmp_path / "server")
    server.start()
    proxy = ChaoticProxy(server.port, chaos=0.0)
    try:
        done = run(MUCH, HOLTER_MODE="offline")
        assert done.returncode == 0, done.stderr
        monkeypatch.setenv("HOLTER_URL", proxy.url)
        monkeypatch.setenv("HOLTER_API_KEY", server.key)
        assert holter("sync", "much").returncode == 0
        assert proxy.bytes > 3 * BATCH_BYTES
        assert proxy.largest < BATCH_BYTES + (64 << 10)
        wait_until(lambda: server.get("/runs")["runs"] != [], within_s=60)
        wait_until(lambda: server.get("/runs")["runs"][0]["rows"] == 200_000, within_s=60)
    finally:
        server.close()
        proxy.close()
