"""The engine `clickhouse:`, on chDB behind HTTP, against examples of the suite that all engines share.

`make test-scale` takes all of the suite, on more kinds of servers.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holter.errors import NewerStorage, StorageFailing
from holter.storage.clickhouse import schema, series
from holter.storage.clickhouse.binary import literal, pack_rows, unpack_rows
from holter.storage.clickhouse.database import ClickHouseDatabase
from holter.storage.clickhouse.http import HttpTransport
from holter.storage.engines import clickhouse
from holter.storage.opening import discard_index, open_storage
from holter.storage.places import Places
from holter.storage.series import Line, Window
from tests.clickhouse.cluster import free_port
from tests.clickhouse.server import ChdbServer, running_chdb
from tests.contract import storage_contract
from tests.contract.writes import are_same, expected, long_journals, replay


@pytest.fixture(scope="module")
def server() -> Iterator[ChdbServer]:
    with running_chdb() as found:
        yield found


@pytest.fixture
def url(server: ChdbServer, tmp_path: Path) -> Places:
    place = server.new_place()
    return msgspec.structs.replace(Places.at(f"sqlite:{tmp_path}"), series=place, console=place)


class TestSeries(storage_contract.SeriesExamplesContract):
    """Points as rows."""


class TestSeriesAgreement(storage_contract.SeriesAgreementContract):
    """Points as rows, beside the plain engine's."""


class TestSeriesSurvival(storage_contract.SeriesSurvivalContract):
    """Points when processes die, or share a place."""


class TestConsole(storage_contract.ConsoleExamplesContract):
    """Lines and events as rows."""


def test_what_comes_while_it_is_away_is_there_when_it_is_back(server: ChdbServer) -> None:
    found, journals = clickhouse.open_series(server.new_place()), long_journals()
    found.append(journals[0].batch("run", start=0, stop=100))
    server.kill()
    try:
        with contextlib.suppress(StorageFailing):  # whether it is taken depends on who sees first that it is away
            found.append(journals[0].batch("run", start=100, stop=1_000))
        with pytest.raises(
            StorageFailing, match=r"clickhouse://127.* can't be reached \(Connection refused\); nothing is lost"
        ):
            found.points(Line("run", "loss"))
    finally:
        server.start()
    replay(found, "run", journals=journals)
    assert are_same(found.points(Line("run", "loss")), expected(journals, "loss"))
    found.close()


def test_what_waits_is_bounded_and_taken_again(server: ChdbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "EVERY_S", 1e6)
    monkeypatch.setattr(series, "MOST_PENDING_BYTES", 100_000)
    found, journals = clickhouse.open_series(server.new_place()), long_journals()
    end = journals[0].end
    found.append(journals[0].batch("run", start=0, stop=end // 2))
    server.kill()
    try:
        with pytest.raises(StorageFailing):
            found.append(journals[0].batch("run", start=end // 2, stop=end))
    finally:
        server.start()
    found.append(journals[0].batch("run", start=end // 2, stop=end))
    assert found.offset("run", journals[0].name) == end // 2  # the rest waits
    assert are_same(found.points(Line("run", "acc")), expected(journals[:1], "acc"))
    assert found.offset("run", journals[0].name) == end
    found.close()


def test_rows_of_a_run_that_says_no_more_are_inserted_too(server: ChdbServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "EVERY_S", 0.05)
    place, journals = server.new_place(), long_journals()
    found, other = clickhouse.open_series(place), clickhouse.open_series(place)
    found.append(journals[0].batch("run", start=0, stop=100))
    while not len(other.points(Line("run", "loss")).steps):  # the limit is that of the test
        time.sleep(0.02)
    assert are_same(
        other.points(Line("run", "loss")), expected([journals[0]._replace(writes=journals[0].writes[:10])], "loss")
    )
    found.close()
    other.close()


def test_of_several_hosts_the_next_one_is_asked_where_one_is_away(server: ChdbServer) -> None:
    place = server.new_place().replace("://", f"://127.0.0.1:{free_port()},")
    found, journals = clickhouse.open_series(place), long_journals()
    replay(found, "run", journals=journals)
    assert are_same(found.points(Line("run", "loss")), expected(journals, "loss"))
    found.close()


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    place = f"clickhouse://ada:secret@127.0.0.1:{free_port()}/x"
    places = msgspec.structs.replace(Places.at(f"sqlite:{tmp_path}"), series=place)
    with pytest.raises(StorageFailing, match=re.escape(place.replace("secret", "…"))) as refused:
        open_storage(places)
    assert "secret" not in str(refused.value)


def test_what_it_refuses_is_told(server: ChdbServer) -> None:
    with pytest.raises(StorageFailing, match=r"refused .*no_such_setting"):
        clickhouse.open_series(f"{server.new_place()}?no_such_setting=1")


def test_tables_of_a_newer_holter_are_left_alone(server: ChdbServer) -> None:
    place = server.new_place()
    newer = ClickHouseDatabase(place, "series", steps=[*schema.SERIES, ()], connect=HttpTransport)
    newer.close()
    with pytest.raises(NewerStorage, match=r"series in .* has version 2, this holter knows up to 1"):
        clickhouse.open_series(place)


def test_an_index_that_is_discarded_is_made_again(url: Places) -> None:
    for _ in range(2):
        storage = open_storage(url)
        assert storage.series.list_series("run") == []
        replay(storage.series, "run", journals=long_journals())
        storage.series.sync()
        [buckets] = storage.series.buckets([Line("run", "loss")], Window(10))
        assert buckets.counts.sum() == 11_000
        storage.close()
        discard_index(url)


@pytest.mark.parametrize("text", ["plain", "it's", "back\\slash", "\0\n", "é", "\ud800", "x" * 300, ""])
def test_any_text_is_kept_as_it_is(server: ChdbServer, text: str) -> None:
    rows = [(text, b"\xff" * 200, 7, -7)]
    assert unpack_rows("sbBq", pack_rows("sbBq", rows)) == rows
    database = ClickHouseDatabase(server.new_place(), "texts", steps=(), connect=HttpTransport)
    assert database.rows("s", f"SELECT {literal(text)}") == [(text,)]
    database.close()
