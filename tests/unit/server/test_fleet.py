"""Many runs that send to a server whose index can't keep up: it says so, asks for less, and none of them looks dead."""

from pathlib import Path

import pytest
import zstandard

from benchmarks.fleet import SyntheticRun
from holter.server.api.batches import AskedBatch, receive_batches
from holter.server.domain.services import ServerSettings, Services
from holter.server.ingest import ingest
from holter.server.security.access import Visitor
from holter.server.security.gate import ZSTD
from holter.server.transport.routing import Visit
from holter.storage.places import Places
from holter.storage.runs import RunQuery
from holter.wire.batches import Kept
from tests.clocks import FakeClock

RUNS, ROUNDS, EVERY_S = 50, 30, 5


class Fleet:
    """Runs that send every few seconds, by the server's clock."""

    def __init__(self, services: Services) -> None:
        self.pace_s = 0.0
        self._services = services
        self._runs = [SyntheticRun(number, keys=8, rows_per_s=10) for number in range(RUNS)]
        self._who = Visitor(id="k", name="ada", scope="write")
        self._packer = zstandard.ZstdCompressor(level=1, write_checksum=True)

    def send(self, seconds: int = EVERY_S) -> None:
        for run in self._runs:
            run.log(10 * seconds)
        visits = [
            Visit(
                services=self._services,
                visitor=self._who,
                data=run.message(self._packer),
                headers={"content-type": ZSTD},
            )
            for run in self._runs
        ]
        asked = [AskedBatch(run=run.id) for run in self._runs]
        for run, kept in zip(self._runs, receive_batches(list(zip(visits, asked, strict=True))), strict=True):
            assert isinstance(kept, Kept)
            run.has_been_kept(kept)
            self.pace_s = kept.pace_s


def states(services: Services) -> list[str]:
    query = RunQuery(now_ns=services.clock.now_ns(), lateness=services.lateness, count=1000)
    return [each.state for each in services.storage.runs.query(query).runs]


def test_while_the_index_falls_behind_no_run_that_sends_is_shown_as_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    monkeypatch.setattr("holter.server.domain.services.Clock", lambda: clock)
    services = Services(ServerSettings(data=str(tmp_path), places=Places.at("memory:"), token="t"), {})
    fleet = Fleet(services)
    fleet.send()
    services.ingest.catch_up()
    assert states(services) == ["running"] * RUNS
    monkeypatch.setattr(ingest, "READ_S", -1.0)  # one run for each tick
    for _ in range(ROUNDS):
        clock.advance(EVERY_S)
        fleet.send()
        services.ingest.tick()
        assert states(services) == ["running"] * RUNS
    assert services.ingest.lag.seconds > 60
    assert services.ingest.lag.messages > RUNS
    assert fleet.pace_s == 10.0
    monkeypatch.undo()
    services.ingest.catch_up()
    rows = [each.rows for each in services.storage.runs.query(RunQuery(now_ns=0, count=1000)).runs]
    assert rows == [10 * EVERY_S * (ROUNDS + 1)] * RUNS
    assert services.ingest.lag.seconds == 0
    services.close()
