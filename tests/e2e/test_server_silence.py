"""A run of another machine of which nothing is heard any more: late, then crashed with its cause, and healed."""

import time
from pathlib import Path

import pytest
import zstandard

from holter.testing.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served, stream, team_server
from tests.unit.server.remote import RemoteJournal


def send(server: Served, journal: RemoteJournal) -> None:
    data = journal.stream()
    have = server.get(f"/ingest/{journal.run}")["journals"].get(journal.id, 0)
    while have < len(data):  # some bytes at the end may have to come again
        answer = server.http.post(
            f"/ingest/{journal.run}/journals/{journal.id}",
            params={"offset": have},
            content=zstandard.compress(data[have:]),
            headers={"content-type": "application/zstd"},
        )
        assert answer.status_code == 200, answer.text
        have = answer.json()["offset"]


@pytest.mark.parametrize("skew_s", [0.0, -90_000.0, 90_000.0], ids=["on time", "a day behind", "a day ahead"])
def test_a_lost_connection_is_named_and_what_arrives_heals_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, skew_s: float
) -> None:
    monkeypatch.setenv("HOLTER_STALE_AFTER", "1")
    monkeypatch.setenv("HOLTER_CRASHED_AFTER", "3")
    clock = FakeClock(time.time_ns() + int(skew_s * 1e9))
    journal = RemoteJournal(tmp_path / "far", "silent", clock=clock)
    journal.describe()
    journal.log(20)
    with team_server(tmp_path / "team") as server, stream(server) as live:
        send(server, journal)
        assert live.wait_for("run", id="silent", is_stale=False)["state"] == "running"
        assert live.wait_for("run", id="silent", is_stale=True)["state"] == "running"
        assert live.wait_for("run", id="silent", state="crashed")["is_stale"] is False
        verdict = server.get("/runs/silent/verdict")
        assert (verdict["state"], verdict["cause"]) == ("crashed", "connection-lost")
        wait_until(lambda: server.get("/runs/silent")["cause"] == "connection-lost")
        # Nobody here can tell whether the machine is gone as well, and that is said.
        assert "host-lost" in str(verdict["not_observable"])
        clock.advance(5)
        journal.log(5)
        send(server, journal)
        assert live.wait_for("run", id="silent", state="running")["rows"] == 25
        wait_until(lambda: server.get("/runs/silent/verdict")["cause"] is None)
        journal.finish()
        send(server, journal)
        assert live.wait_for("run", id="silent", state="finished")["cause"] is None
