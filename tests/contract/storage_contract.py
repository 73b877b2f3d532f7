"""What every storage engine promises, as tests: a class for each port.

A test module makes a subclass of each with a fixture `url` that gives a place of its own to each test; pytest does the
rest. Nothing here knows which engine it is.
"""

from tests.contract.console_contract import BlobsContract, ConsoleContract, ConsoleExamplesContract
from tests.contract.journals_contract import JournalsContract
from tests.contract.media_contract import MediaContract
from tests.contract.runs_contract import RunsContract
from tests.contract.series_contract import (
    SeriesAgreementContract,
    SeriesContract,
    SeriesExamplesContract,
    SeriesSurvivalContract,
)
from tests.contract.settings_contract import SettingsContract
from tests.contract.survival_contract import SurvivalContract
from tests.contract.sweeps_contract import SweepsContract

__all__ = [
    "BlobsContract",
    "ConsoleContract",
    "ConsoleExamplesContract",
    "JournalsContract",
    "MediaContract",
    "RunsContract",
    "SeriesAgreementContract",
    "SeriesContract",
    "SeriesExamplesContract",
    "SeriesSurvivalContract",
    "SettingsContract",
    "SurvivalContract",
    "SweepsContract",
]
