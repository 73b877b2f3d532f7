"""Exactly once, whatever happens on the way: servers that are killed, networks that fail, proxies that repeat."""

import time
from pathlib import Path

import pytest

from benchmarks.received import Compared, compare
from benchmarks.server_kills import Training, kill_in_ingest
from benchmarks.server_process import ServerProcess
from tests.e2e.proxies import FAULTS, ChaoticProxy

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
    server = ServerProcess(tmp_path / "server")
    server.start()
    proxy = ChaoticProxy(server.port, chaos=0.5)
    training = Training(tmp_path / "home", "jostled", url=proxy.url, key=server.key)
    try:
        deadline = time.monotonic() + 60
        while min(proxy.done.values()) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        proxy.chaos = 0.0
        assert training.end() == 0
        assert_exactly_once(compare(server, training.directory, run=training.run, key="loss"))
        assert set(proxy.done) == set(FAULTS)
        assert min(proxy.done.values()) >= 2, proxy.done
    finally:
        training.close()
        server.close()
        proxy.close()


def test_after_an_outage_everything_arrives(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path / "server")
    server.start()
    proxy = ChaoticProxy(server.port, chaos=0.0)
    training = Training(tmp_path / "home", "cut-off", url=proxy.url, key=server.key)
    try:
        while not server.get("/runs")["total"]:
            time.sleep(0.1)
        proxy.is_down = True
        time.sleep(OUTAGE_S)
        proxy.is_down = False
        time.sleep(OUTAGE_S)  # no wait of the sender is longer than the outage was
        assert training.end() == 0
        assert_exactly_once(compare(server, training.directory, run=training.run, key="loss"))
    finally:
        training.close()
        server.close()
        proxy.close()
