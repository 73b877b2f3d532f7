"""A cluster of ClickHouse beside the plain engine: after the same random work both say the same."""

import contextlib
from pathlib import Path

import msgspec
import pytest

from holter.storage.opening import open_storage
from holter.storage.places import Places
from tests.clickhouse.cluster import running_cluster
from tests.contract.agreement import random_work, said_by


@pytest.mark.parametrize("shards", [1, 2])
def test_a_cluster_says_the_same_as_the_plain_engine_after_the_same_work(tmp_path: Path, shards: int) -> None:
    with running_cluster(shards) as cluster:
        points = cluster.new_place()
        places = msgspec.structs.replace(Places.at(f"sqlite:{tmp_path}"), series=points, console=points)
        plain, far = open_storage("memory:"), open_storage(places)
        with contextlib.closing(plain), contextlib.closing(far):
            for each in random_work(1):
                each(plain)
                each(far)
            assert said_by(far) == said_by(plain)
