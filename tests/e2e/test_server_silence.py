"""A run of another machine of which nothing is heard any more: late, then crashed with its cause, and healed."""

import time
from pathlib import Path

import pytest
import zstandard

from tests.clocks import FakeClock
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


@pytest.mark.parametrize(
    ("boot_id", "up_s", "cause", "ruled_out"),
    [
        ("their-boot", 86_400.0, "unknown", {"connection-lost", "host-lost"}),
        ("another-boot", 60.0, "host-lost", {"connection-lost"}),
        # A machine that was there before, and only has the same name.
        ("another-boot", 86_400.0, "connection-lost", set()),
    ],
    ids=["it lives on", "it began anew", "a namesake"],
)
def test_what_other_runs_of_a_machine_tell_parts_a_lost_connection_from_a_lost_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boot_id: str, up_s: float, cause: str, ruled_out: set[str]
) -> None:
    monkeypatch.setenv("HOLTER_STALE_AFTER", "1")
    monkeypatch.setenv("HOLTER_CRASHED_AFTER", "3")
    clock = FakeClock(time.time_ns())
    silent = RemoteJournal(tmp_path / "far", "silent", clock=clock)
    silent.describe()
    silent.log(20)
    with team_server(tmp_path / "team") as server:
        send(server, silent)
        wait_until(lambda: server.http.get("/runs/silent").status_code == 200)
        wait_until(lambda: server.get("/runs/silent/verdict")["cause"] == "connection-lost")
        clock.advance(180)
        for writer in ("client", "sidecar"):
            other = RemoteJournal(tmp_path / "other", "other", clock=clock, writer=writer, boot_id=boot_id)
            other.describe() if writer == "client" else other.beat(up_s)
            send(server, other)
        wait_until(lambda: server.http.get("/runs/other").status_code == 200)
        wait_until(lambda: server.get("/runs/silent/verdict")["cause"] == cause)
        verdict = server.get("/runs/silent/verdict")
        assert {each["cause"] for each in verdict["ruled_out"]} & {"connection-lost", "host-lost"} == ruled_out
        wait_until(lambda: server.get("/runs/silent")["cause"] == cause)
        # It may well have lived on: then all of this is taken back.
        silent.log(5)
        send(server, silent)
        wait_until(lambda: server.get("/runs/silent")["state"] == "running")
