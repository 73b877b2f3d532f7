"""Sweeps of several servers in a real PostgreSQL: their clocks, what stands still, and what was there before."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.errors import StorageError, StorageFailing
from holter.server.domain.sweeps import Sweeps
from holter.server.security.rights import Roll
from holter.storage.opening import open_sweeps
from holter.storage.places import Places
from holter.storage.sweeps import Lines
from holter.sweeps.configuration import read_configuration
from holter.sweeps.desk import Desk
from holter.sweeps.opening import begin_local, open_local
from tests.contract.processes import start_process
from tests.postgres import PostgresServer, running_postgres
from tests.unit.sweeps.desks import Bench, asker

HOUR_NS = 3600 * 10**9
X = {"x": {"min": 0.0, "max": 1.0}}
ALL = Roll().rights("ada", "admin")


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as found:
        yield found


@pytest.fixture
def places(postgres: PostgresServer) -> Places:
    return Places.at(postgres.new_place())


def test_a_server_whose_clock_is_wrong_takes_no_lease_away(
    tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, right = open_sweeps("", places), time.time_ns
    bench = Bench(tmp_path, store=store, parameters=X, run_cap=1)
    bench.now_ns = right()
    bench.take("a")
    with monkeypatch.context() as ahead:
        ahead.setattr("holter.storage.postgres.sweeps.time.time_ns", lambda: right() + HOUR_NS)
        answer = Desk(store, "s1", now_ns=lambda: right() + HOUR_NS).ask(asker("b"))
    assert answer.why == "the last trials are running"
    store.close()


def stand_still_while_adding(places: Places, mark: str) -> None:
    """As a machine that is put to sleep, and wakes up again."""

    def stop(before: Lines) -> list[bytes]:
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGSTOP)
        return [b"late"]

    with contextlib.suppress(StorageError):
        open_sweeps("", places).open("s1").append(0, stop)
        os._exit(1)


def test_a_server_that_stands_still_keeps_the_others_waiting_for_a_while_and_then_adds_nothing(
    tmp_path: Path, places: Places
) -> None:
    store = open_sweeps("", places)
    store.begin("s1", [b"a"])
    stopped = start_process(stand_still_while_adding, places, str(tmp_path / "stopped"))
    while not (tmp_path / "stopped").exists():
        time.sleep(0.01)
    store.open("s1").append(0, lambda before: [b"b"])
    assert stopped.pid is not None
    os.kill(stopped.pid, signal.SIGCONT)
    stopped.join()
    assert stopped.exitcode == 0
    assert store.open("s1").read(0).lines == [b"a", b"b"]
    store.close()


def test_sweeps_from_before_go_on_where_all_servers_have_them(tmp_path: Path, places: Places) -> None:
    configuration = read_configuration({"method": "random", "metric": {"name": "loss"}, "parameters": X})
    made = begin_local(str(tmp_path), configuration, project="p", by="ada")
    open_local(str(tmp_path), made).add({"x": 0.5})
    servers = [Sweeps(str(folder), places, bring=lambda run: None) for folder in (tmp_path, tmp_path / "other")]
    servers.append(Sweeps(str(tmp_path), places, bring=lambda run: None))  # it starts once more
    for server in servers:
        assert [(each.id, each.trials) for each in server.all(ALL, "")] == [(made, 1 + servers.index(server))]
        with server.at(made, ALL) as found:
            found.add({"x": 0.25})
        server.close()
    assert len(open_local(str(tmp_path), made).state().trials) == 1


def test_a_database_that_is_away_is_said_and_nothing_is_lost(
    tmp_path: Path, places: Places, postgres: PostgresServer
) -> None:
    store = open_sweeps("", places)
    bench = Bench(tmp_path, store=store, parameters=X)
    lease = bench.take("a")
    postgres.kill()
    try:
        with pytest.raises(StorageFailing, match="can't be reached"):
            bench.finish(lease, 0.5, "a")
    finally:
        postgres.start()
    assert bench.finish(lease, 0.5, "a")
    assert [each.value for each in bench.open().state().trials] == [0.5]
    store.close()
