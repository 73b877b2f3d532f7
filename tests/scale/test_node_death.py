"""A replica is killed while points come, and comes again."""

import contextlib
import time
from collections.abc import Callable, Iterator

import pytest

from holter.errors import StorageError
from holter.storage.clickhouse.series import ClickHouseSeries
from holter.storage.series import Line
from tests.clickhouse.cluster import Cluster, running_cluster
from tests.contract.writes import Journal, are_same, expected, long_journals
from tests.engines import clickhouse18

PATIENCE_S = 300.0
QUORUM = ("insert_quorum=2", "insert_quorum_timeout=4000")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with running_cluster(1) as found:
        yield found


def await_true(is_so: Callable[[], bool]) -> None:
    """Replicas tell each other when they can."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with contextlib.suppress(StorageError, OSError):
            if is_so():
                return
        assert time.monotonic() < deadline
        time.sleep(0.2)


def take_in(series: ClickHouseSeries, journal: Journal, stop: int) -> bool:
    """As a server does: it goes on where the storage says. Whether it has come to its end."""
    start = series.offset("run", journal.name)
    while start < stop:
        series.append(journal.batch("run", start=start, stop=min(start + 5_000, stop)))
        series.sync()
        start = series.offset("run", journal.name)
    return True


@pytest.mark.parametrize("options", [(), QUORUM], ids=["alone", "quorum"])
def test_nothing_is_lost_or_doubled_when_a_replica_dies(cluster: Cluster, options: tuple[str, ...]) -> None:
    place, journals = cluster.new_place(options), long_journals()[:1]
    series, [journal] = clickhouse18.open_series(place), journals
    points = f"{place.rpartition('/')[2].partition('?')[0]}.points_local"
    wanted = {key: expected(journals, key) for key in ("loss", "acc")}

    def is_whole() -> bool:
        return all(are_same(series.points(Line("run", key)), wanted[key]) for key in wanted)

    take_in(series, journal, 30_000)
    kept = series.offset("run", journal.name)
    assert kept == 30_000
    cluster.kill(0)
    if options:  # what was kept is on the other one
        some = expected([Journal(journal.name, journal.writes[: kept // 10])], "loss")
        assert are_same(series.points(Line("run", "loss"), last=2_999), some)
    with contextlib.suppress(StorageError):  # with two that must have it nothing is taken now
        take_in(series, journal, 60_000)
    cluster.begin(0)
    cluster.await_node(0)
    await_true(lambda: take_in(series, journal, journal.end))
    await_true(is_whole)
    await_true(lambda: cluster.are_alike(points))
    cluster.kill(1)
    await_true(is_whole)
    series.close()
