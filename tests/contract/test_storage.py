"""Every file in `storage/engines` against the suite that all of them share."""

from pathlib import Path

import pytest

from holter.storage.opening import engine_names, load_engine
from tests.contract import storage_contract


@pytest.fixture(params=engine_names())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return load_engine(f"{request.param}:").TEST_URL.format(directory=tmp_path / "index")


class TestRuns(storage_contract.RunsContract):
    """The runs of each engine."""


class TestSeries(storage_contract.SeriesContract):
    """The series of each engine."""


class TestSeriesSurvival(storage_contract.SeriesSurvivalContract):
    """The series of each engine when processes die, or share a place."""


class TestConsole(storage_contract.ConsoleContract):
    """The console and events of each engine."""


class TestBlobs(storage_contract.BlobsContract):
    """The blobs of each engine."""


class TestSettings(storage_contract.SettingsContract):
    """The settings of each engine."""


class TestSurvival(storage_contract.SurvivalContract):
    """The other ports of each engine when processes die."""
