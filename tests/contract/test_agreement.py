"""Engines beside each other: after the same random work all of them say the same."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holter.storage.opening import open_storage
from holter.storage.places import Places
from tests.clickhouse.server import ChdbServer, running_chdb
from tests.contract.agreement import random_work, said_by
from tests.postgres import PostgresServer, running_postgres


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[PostgresServer, ChdbServer]]:
    with running_postgres() as postgres, running_chdb() as clickhouse:
        yield postgres, clickhouse


@pytest.mark.parametrize("seed", range(3))
def test_memory_sqlite_postgresql_and_clickhouse_say_the_same_after_the_same_work(
    tmp_path: Path, servers: tuple[PostgresServer, ChdbServer], seed: int
) -> None:
    postgres, clickhouse = servers
    points = clickhouse.new_place()
    near = Places.at(f"sqlite:{tmp_path / 'near'}")
    places = {
        "memory": Places.at("memory:"),
        "sqlite": near,
        "postgresql": msgspec.structs.replace(Places.at(postgres.new_place()), blobs=near.blobs),
        "clickhouse": msgspec.structs.replace(
            Places.at(f"sqlite:{tmp_path / 'beside'}"), series=points, console=points
        ),
    }
    opened = {name: open_storage(place) for name, place in places.items()}
    work = random_work(seed)
    for number, each in enumerate(work):
        for storage in opened.values():
            each(storage)
        if number in (len(work) // 3, len(work) - 1):
            wanted = said_by(opened["memory"])
            assert {name: said_by(storage) for name, storage in opened.items()} == dict.fromkeys(opened, wanted)
    for name, place in places.items():
        opened[name].series.sync()
        opened[name].close()
        if name != "memory":  # what was there is there
            again = open_storage(place)
            assert said_by(again) == wanted, name
            again.close()
