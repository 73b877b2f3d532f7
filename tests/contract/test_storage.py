"""Every file in `storage/engines` against the suite that all of them share."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from holter.storage.journals import JournalStore
from holter.storage.opening import engine_names, open_journals, open_sweeps
from holter.storage.places import Places
from holter.storage.sweeps import SweepStore
from tests.contract import storage_contract
from tests.object_store import KEYS, ObjectStore
from tests.postgres import PostgresServer


class Servers:
    """Those that engines need, begun when the first test needs them."""

    @functools.cached_property
    def bucket(self) -> ObjectStore:
        """It takes seconds to come up."""
        return ObjectStore()

    @functools.cached_property
    def postgres(self) -> PostgresServer:
        """It comes up while the other one does."""
        server = PostgresServer()
        server.start()
        return server

    def place(self) -> Places:
        """One that nobody has used, for all ports."""
        bucket = self.bucket
        url = self.postgres.new_place()
        return msgspec.structs.replace(Places.at(url), blobs=bucket.new_place())

    def close(self) -> None:
        """Leave nothing."""
        for name in ("bucket", "postgres"):
            if name in self.__dict__:
                getattr(self, name).close()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    found = Servers()
    yield found
    found.close()


ALONE = ("memory", "sqlite")
JOURNALS = ("directory", "postgresql")
TOGETHER = {"postgresql+s3": ("postgresql", "s3")}
# In test_clickhouse.py; the second one with `make test-scale`.
ELSEWHERE = ("clickhouse", "clickhouse18")


@pytest.fixture(params=[*ALONE, *TOGETHER])
def url(
    request: pytest.FixtureRequest, tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> Places | str:
    if request.param in ALONE:
        return f"{request.param}:{tmp_path / 'index'}"
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return servers.place()


@pytest.fixture(params=["directory", "postgresql", "postgresql+s3"])
def open_store(
    request: pytest.FixtureRequest, tmp_path: Path, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], JournalStore]:
    places, data = Places.at(f"sqlite:{tmp_path / 'index'}"), str(tmp_path)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    if request.param != "directory":
        blobs = servers.bucket.new_place() if request.param.endswith("s3") else places.blobs
        places = msgspec.structs.replace(places, blobs=blobs, journals=servers.postgres.new_place())
    return functools.partial(open_journals, data, places)


@pytest.fixture(params=["directory", "postgresql"])
def open_sweep_store(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Callable[[], SweepStore]:
    runs = servers.postgres.new_place() if request.param == "postgresql" else f"sqlite:{tmp_path / 'index'}"
    return functools.partial(open_sweeps, str(tmp_path), Places.at(runs))


def test_no_engine_is_left_out() -> None:
    assert {*ALONE, *JOURNALS, *ELSEWHERE, *(each for both in TOGETHER.values() for each in both)} == set(
        engine_names()
    )


class TestRuns(storage_contract.RunsContract):
    """The runs of each engine."""


class TestSeries(storage_contract.SeriesContract):
    """The series of each engine."""


class TestSeriesAgreement(storage_contract.SeriesAgreementContract):
    """The series of each engine beside the plain one's."""


class TestSeriesSurvival(storage_contract.SeriesSurvivalContract):
    """The series of each engine when processes die, or share a place."""


class TestConsole(storage_contract.ConsoleContract):
    """The console and events of each engine."""


class TestBlobs(storage_contract.BlobsContract):
    """The blobs of each engine."""


class TestMedia(storage_contract.MediaContract):
    """The media of each engine."""


class TestSettings(storage_contract.SettingsContract):
    """The settings of each engine."""


class TestJournals(storage_contract.JournalsContract):
    """The journals of each engine."""


class TestSweeps(storage_contract.SweepsContract):
    """The books of sweeps of each engine."""


class TestSurvival(storage_contract.SurvivalContract):
    """The other ports of each engine when processes die."""
