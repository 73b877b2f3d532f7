"""Exactly once, whatever happens on the way: servers that are killed, networks that fail, proxies that repeat."""

import time
from pathlib import Path

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
        wait_until(lambda: server.get("/runs")["runs"] != [], within_s=30)
        wait_until(lambda: server.get("/runs")["runs"][0]["rows"] == 200_000, within_s=60)
    finally:
        server.close()
        proxy.close()
