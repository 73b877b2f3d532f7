"""A server that is started while its disk is full: what is there can be read, and it goes on when there is room."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served, start_holter
from tests.e2e.test_full_disk import Disk
from tests.e2e.test_full_disk import disk as disk  # noqa: PLC0414  a fixture
from tests.e2e.test_server_trouble import fill
from tests.unit.server.remote import RemoteJournal

OCTETS = {"content-type": "application/octet-stream"}


class Team:
    """A data directory on a small disk, and the servers that were started there one after the other."""

    def __init__(self, data: Path, outputs: Path) -> None:
        self.data = data
        self.journal = RemoteJournal(outputs / "far", "r1", clock=FakeClock(time.time_ns()))
        self.key = ""
        self._outputs = outputs
        self._starts = 0

    @contextlib.contextmanager
    def serve(self) -> Iterator[Served]:
        self._starts += 1
        place = self._outputs / f"server-{self._starts}.out"
        process = start_holter("server", "--data", str(self.data), "--port", "0", output=place)
        served = Served(process, place, key=self.key)
        self.key = served.key
        try:
            yield served
        finally:
            served.close()

    def send(self, served: Served) -> int:
        """The status for the whole journal, once more."""
        return served.http.post(
            f"/ingest/r1/journals/{self.journal.id}",
            params={"offset": 0},
            content=self.journal.stream(),
            headers=OCTETS,
        ).status_code


@pytest.fixture
def team(disk: Disk, tmp_path: Path) -> Team:
    """One run was received, and the server has left."""
    found = Team(disk.path / "team", tmp_path)
    found.journal.describe()
    found.journal.log(10)
    with found.serve() as server:
        assert found.send(server) == 200
        wait_until(lambda: server.state("r1"))
    return found


def test_what_was_received_can_be_read_and_the_rest_comes_when_there_is_room(team: Team, disk: Disk) -> None:
    ballast = disk.path / "ballast"
    with pytest.raises(OSError, match="No space"):
        fill(ballast)
    with team.serve() as server:
        assert server.get("/runs")["total"] == 1
        assert server.get("/runs/r1")["id"] == "r1"
    with team.serve() as server:  # the second time on the full disk
        assert server.get("/runs")["total"] == 1
        server.kill()
    with team.serve() as server:  # after it was killed there
        assert server.get("/runs")["total"] == 1
        team.journal.log(20_000)
        assert team.send(server) == 503
        ballast.unlink()
        wait_until(lambda: team.send(server) == 200)
        wait_until(lambda: server.get("/runs/r1")["steps"] == 20_010)
