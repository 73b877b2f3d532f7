"""A small storm over three servers; `make test-scale` has a larger one."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.runs import Fleet, LiveRun
from tests.chaos.store_in_between import StoreInBetween
from tests.chaos.storm import blowing, check_all
from tests.clickhouse.server import ChdbServer, running_chdb
from tests.e2e.programs import wait_until
from tests.object_store import KEYS, ObjectStore
from tests.postgres import PostgresServer, running_postgres

RUNS, STEPS = 8, 60


@pytest.fixture
def parts() -> Iterator[tuple[PostgresServer, ObjectStore, ChdbServer]]:
    bucket = ObjectStore()  # it comes up while the others do
    with contextlib.closing(bucket), running_postgres() as postgres, running_chdb() as clickhouse:
        yield postgres, bucket, clickhouse


def test_nothing_is_lost_or_doubled_while_one_part_after_the_other_dies(
    tmp_path: Path, parts: tuple[PostgresServer, ObjectStore, ChdbServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    postgres, bucket, clickhouse = parts
    place = bucket.new_place()
    store = StoreInBetween(bucket.endpoint)
    url = postgres.new_place()
    places = ["--runs", url, "--journals", url, "--blobs", place.replace(bucket.endpoint, store.url)]
    places += ["--series", clickhouse.new_place(), "--console", url]
    runs = [LiveRun(number, exit_code=number % 2) for number in range(RUNS)]

    def refuse() -> None:
        store.refuses = True

    def restart() -> None:
        postgres.kill()
        postgres.start()

    def serve_again() -> None:
        store.refuses = False

    with contextlib.closing(store), blowing(tmp_path, *places) as storm:
        fleet = Fleet(runs, storm.balancer.url, storm.key)
        for number in range(3):
            storm.strike(f"server {number}", lambda: storm.kill(number), lambda: storm.begin(number))  # noqa: B023
        storm.strike("object store", refuse)
        time.sleep(3)
        storm.strike("object store", serve_again)
        storm.strike("PostgreSQL", restart)
        storm.strike("ClickHouse", clickhouse.kill, clickhouse.start)
        wait_until(lambda: min(each.step for each in runs) >= STEPS)
        fleet.end()
        check_all(storm, runs)
