"""All that engines promise, on each kind of ClickHouse that can be had."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holter.storage.places import Places
from tests.clickhouse.cluster import Cluster, running_cluster
from tests.clickhouse.server import ChdbServer, running_chdb
from tests.contract import storage_contract

CURRENT = Path(__file__).parents[2] / ".venv-scale" / "bin" / "python"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("current", marks=pytest.mark.xdist_group("current")),
        pytest.param("replicas", marks=pytest.mark.xdist_group("replicas")),
        pytest.param("shards", marks=pytest.mark.xdist_group("shards")),
    ],
)
def server(request: pytest.FixtureRequest) -> Iterator[ChdbServer | Cluster]:
    """chDB with all that ClickHouse has; two nodes with the same rows; two nodes with other ones."""
    running = (
        running_chdb(str(CURRENT)) if request.param == "current" else running_cluster(1 + (request.param == "shards"))
    )
    with running as found:
        yield found


@pytest.fixture
def url(server: ChdbServer | Cluster, tmp_path: Path) -> Places:
    place = server.new_place()
    return msgspec.structs.replace(Places.at(f"sqlite:{tmp_path}"), series=place, console=place)


class TestSeries(storage_contract.SeriesContract):
    """Points as rows."""


class TestSeriesAgreement(storage_contract.SeriesAgreementContract):
    """Points as rows, beside the plain engine's."""


class TestSeriesSurvival(storage_contract.SeriesSurvivalContract):
    """Points when processes die, or share a place."""


class TestConsole(storage_contract.ConsoleContract):
    """Lines and events as rows."""


class TestSurvival(storage_contract.SurvivalContract):
    """Lines and events when processes die."""
