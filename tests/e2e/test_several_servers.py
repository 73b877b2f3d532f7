"""Three `holter server` on one real PostgreSQL: who digests a run, who goes on when that one is gone, who is told."""

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from holter.alerts.file import FILE
from tests.chaos.runs import Fleet, LiveRun
from tests.chaos.storm import blowing, check_all
from tests.e2e.balancer import Balancer
from tests.e2e.programs import start, wait_until
from tests.e2e.receivers import web
from tests.e2e.servers import Served, stream, team_server
from tests.object_store import KEYS, ObjectStore
from tests.postgres import PostgresServer, running_postgres

if TYPE_CHECKING:
    import subprocess

TRAINING = """
import os, time, holter
run = holter.init(project="far")
run.alert("loss is odd", "look at it")
print("id", run.id, flush=True)
step = 0
while not os.path.exists(os.environ["ENOUGH"]):
    run.log({"loss": step})
    step += 1
    time.sleep(0.01)
print("steps", step)
"""


@pytest.fixture(scope="module")
def bucket() -> Iterator[ObjectStore]:
    found = ObjectStore()
    yield found
    found.close()


@pytest.fixture(scope="module")
def postgres(bucket: ObjectStore) -> Iterator[PostgresServer]:
    with running_postgres() as found:
        yield found


class Lab:
    """Some servers on one storage, and programs that send to one of them or to all."""

    def __init__(self, opened: ExitStack, tmp_path: Path, places: list[str], *, count: int = 3) -> None:
        self._opened = opened
        self.place = tmp_path
        self._enough = tmp_path / "enough"
        self._programs: dict[str, subprocess.Popen[str]] = {}
        self.servers: list[Served] = []
        for number in range(count):
            key = self.servers[0].key if self.servers else ""
            self.servers.append(opened.enter_context(team_server(tmp_path / f"s{number}", *places, key=key)))

    def train(self, url: str) -> str:
        """The id of a run that is sent to an address, and goes on until `finish`."""
        environment = {"HOLTER_URL": url, "HOLTER_API_KEY": self.servers[0].key, "ENOUGH": str(self._enough)}
        program = self._opened.enter_context(start(TRAINING, **environment))
        self._opened.callback(self._enough.touch)
        assert program.stdout is not None
        run_id = program.stdout.readline().split()[1]
        self._programs[run_id] = program
        return run_id

    def finish(self) -> dict[str, int]:
        """How many steps each run has made."""
        self._enough.touch()
        return {run: int(each.communicate(timeout=60)[0].split()[-1]) for run, each in self._programs.items()}

    def digesting(self) -> Served:
        """The one that digests the only run there is."""
        wait_until(lambda: sum(map(followed, self.servers)) == 1)
        return next(each for each in self.servers if followed(each))

    def balanced(self) -> str:
        balancer = Balancer(*(each.address for each in self.servers))
        return self._opened.enter_context(contextlib.closing(balancer)).url


@pytest.fixture
def lab(
    tmp_path: Path, postgres: PostgresServer, bucket: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lab]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    place = postgres.new_place()
    with ExitStack() as opened:
        yield Lab(opened, tmp_path, ["--runs", place, "--blobs", bucket.new_place(), "--journals", place])


def followed(server: Served) -> int:
    """How many runs it digests; none where it is gone."""
    try:
        text = httpx.get(f"{server.address}/metrics", headers=server.authorization, timeout=2).text
    except httpx.HTTPError:
        return 0
    found = re.search(r"^holter_followed_runs (\d+)", text, re.MULTILINE)
    assert found is not None, text
    return int(found[1])


def is_whole(server: Served, run_id: str, steps: int) -> bool:
    """Whether a run is there with its end and each of its points, once."""
    if server.state(run_id) != "finished" or server.get(f"/runs/{run_id}")["rows"] != steps:
        return False
    [(_, columns)] = server.series(runs=[run_id], keys=["loss"], buckets=10)
    return bool(sum(columns["count"]) == steps)


def has_rows(server: Served, run_id: str, least: int) -> bool:
    answer = server.http.get(f"/runs/{run_id}")
    return answer.status_code == 200 and answer.json()["rows"] >= least


def test_a_run_is_digested_by_one_server_and_seen_on_all(lab: Lab) -> None:
    one, two, three = lab.servers
    with stream(three) as told:
        run_id = lab.train(two.address)
        told.wait_for("run", id=run_id)
        told.wait_for("rows", run=run_id)
        last_id = told.last_id
    assert lab.digesting() is two
    with stream(one, last_id) as moved:
        moved.wait_for("rows", run=run_id)
    # What nobody has sealed yet is there as well.
    for each in lab.servers:
        [(_, columns)] = each.series(runs=[run_id], keys=["loss"], buckets=10)
        assert sum(columns["count"]) > 0
        assert [key["key"] for key in each.get(f"/runs/{run_id}/keys", search="loss")["keys"]] == ["loss"]
    # Who marks a run on another server waits for the one that digests it, and not only for more of the run's own words.
    for name in [f"otter {number}" for number in range(8)]:
        assert one.http.patch(f"/runs/{run_id}", json={"name": name}).status_code == 200
        assert one.get(f"/runs/{run_id}")["name"] == name
    steps = lab.finish()[run_id]
    for each in lab.servers:
        wait_until(partial(is_whole, each, run_id, steps))
    assert [followed(each) for each in (one, three)] == [0, 0]


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_another_server_goes_on_where_one_dies_or_stops_to_answer(lab: Lab, death: signal.Signals) -> None:
    run_id = lab.train(lab.balanced())
    gone = lab.digesting()
    left = [each for each in lab.servers if each is not gone]
    wait_until(lambda: has_rows(left[0], run_id, 1))
    os.kill(gone.process.pid, death)
    wait_until(lambda: sum(map(followed, left)) == 1)
    if death == signal.SIGSTOP:
        os.kill(gone.process.pid, signal.SIGCONT)  # it believes that nothing has happened
        wait_until(lambda: followed(gone) == 0)
    steps = lab.finish()[run_id]
    for each in left:
        wait_until(partial(is_whole, each, run_id, steps))


def test_nothing_is_lost_or_doubled_while_those_who_digest_die_in_turn(
    tmp_path: Path, postgres: PostgresServer, bucket: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    place = postgres.new_place()

    def restart() -> None:
        postgres.kill()
        postgres.start()

    runs = [LiveRun(number, exit_code=number % 2) for number in range(6)]
    with blowing(tmp_path, "--runs", place, "--journals", place, "--blobs", bucket.new_place()) as storm:
        sending = Fleet(runs, storm.balancer.url, storm.key)
        for number in range(3):
            storm.strike(f"server {number}", partial(storm.kill, number), partial(storm.begin, number))
        storm.strike("PostgreSQL", restart)
        wait_until(lambda: min(each.step for each in runs) >= 60)
        sending.end()
        check_all(storm, runs)


def test_an_alert_is_told_once_whoever_digests_the_run(lab: Lab) -> None:
    with web() as chat:
        rules = f'allow = ["127.0.0.1"]\n[[target]]\nkind = "json"\nname = "chat"\nurl = "{chat.url}/hook"\n'
        (lab.place / "s0" / FILE).write_text(rules)
        wait_until(lambda: all((lab.place / f"s{number}" / FILE).exists() for number in range(3)))
        run_id = lab.train(lab.balanced())
        assert chat.wait_for(1)[0].json["title"] == "loss is odd"
        gone = lab.digesting()
        wait_until(lambda: has_rows(gone, run_id, 100))  # a second at least
        gone.kill()
        left = [each for each in lab.servers if each is not gone]
        steps = lab.finish()[run_id]
        for each in left:
            wait_until(partial(is_whole, each, run_id, steps))
        # Its end as well, by the one that goes on.
        alert, end = (each.json["title"] for each in chat.wait_for(2))
        assert (alert, end.split()[0]) == ("loss is odd", "finished")
        assert not end.startswith("finished after 0 s")
