"""Ten minutes of a storm over three servers, PostgreSQL, two nodes of ClickHouse and an object store.

HOLTER_STORM=RUNS,SECONDS makes another one of it.
"""

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.runs import Fleet, LiveRun
from tests.chaos.store_in_between import StoreInBetween
from tests.chaos.storm import Storm, blowing, check_all
from tests.clickhouse.cluster import Cluster, running_cluster
from tests.object_store import KEYS, ObjectStore
from tests.postgres import PostgresServer, running_postgres

RUNS, SECONDS = map(int, os.environ.get("HOLTER_STORM", "200,600").split(","))
KILLS, RESTARTS, REFUSED_S = 20, 5, 60


class Parts:
    """All that the servers share."""

    def __init__(self, postgres: PostgresServer, bucket: ObjectStore, cluster: Cluster) -> None:
        self.postgres, self.cluster = postgres, cluster
        place = bucket.new_place()
        self.store = StoreInBetween(bucket.endpoint)
        url, series = postgres.new_place(), cluster.new_place()
        blobs = place.replace(bucket.endpoint, self.store.url)
        self.places = ["--runs", url, "--journals", url, "--console", url, "--blobs", blobs, "--series", series]

    def restart(self) -> None:
        self.postgres.kill()
        self.postgres.start()

    def refuse(self) -> None:
        self.store.refuses = True

    def serve(self) -> None:
        self.store.refuses = False

    def kill_node(self) -> None:
        self.cluster.kill(1)

    def begin_node(self) -> None:
        self.cluster.begin(1)
        self.cluster.await_node(1)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parts]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with contextlib.closing(ObjectStore()) as bucket, running_postgres() as postgres, running_cluster(1) as cluster:
        found = Parts(postgres, bucket, cluster)
        with contextlib.closing(found.store):
            yield found


def strikes(storm: Storm, parts: Parts) -> list[tuple[float, str, Callable[[], None]]]:
    """What is done when, as a part of the time."""

    def kill(number: int) -> Callable[[], None]:
        return lambda: storm.kill(number)

    def begin(number: int) -> Callable[[], None]:
        return lambda: storm.begin(number)

    found: list[tuple[float, str, Callable[[], None]]] = []
    for place in range(KILLS):
        at = (place + 0.5) / KILLS
        found += [(at, "server", kill(place % 3)), (at + 0.4 / KILLS, "server", begin(place % 3))]
    found += [((place + 0.25) / RESTARTS, "PostgreSQL", parts.restart) for place in range(RESTARTS)]
    refused = min(0.2, REFUSED_S / SECONDS)
    found += [(0.3, "object store", parts.refuse), (0.3 + refused, "object store", parts.serve)]
    found += [(0.6, "ClickHouse", parts.kill_node), (0.7, "ClickHouse", parts.begin_node)]
    return sorted(found, key=lambda each: each[0])


@pytest.mark.xdist_group("storm")
def test_nothing_is_lost_or_doubled_in_a_storm(tmp_path: Path, parts: Parts) -> None:
    runs = [LiveRun(number, exit_code=number % 2) for number in range(RUNS)]
    with blowing(tmp_path, *parts.places) as storm:
        fleet = Fleet(runs, storm.balancer.url, storm.key, threads=8)
        began = time.monotonic()
        for at, name, act in strikes(storm, parts):
            time.sleep(max(0.0, began + at * SECONDS - time.monotonic()))
            storm.strike(name, act)
        time.sleep(max(0.0, began + SECONDS - time.monotonic()))
        fleet.end()
        steps = sum(each.step for each in runs)
        print(f"{steps:,} points, {sum(len(each.lines) for each in runs):,} lines, ", end="")
        print(f"{sum(len(each.files) for each in runs):,} files; answered again after {storm.slowest_s:.1f} s at most")
        check_all(storm, random.sample(runs, len(runs)))
