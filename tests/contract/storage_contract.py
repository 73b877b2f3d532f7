"""What every storage engine promises, as tests: a class for each port.

A test module makes a subclass of each with a fixture `url` that gives a place of its own to each test; pytest does the
rest. Nothing here knows which engine it is.
"""

from tests.contract.console_contract import BlobsContract, ConsoleContract
from tests.contract.runs_contract import RunsContract
from tests.contract.series_contract import SeriesContract, SeriesSurvivalContract
from tests.contract.settings_contract import SettingsContract
from tests.contract.survival_contract import SurvivalContract

__all__ = [
    "BlobsContract",
    "ConsoleContract",
    "RunsContract",
    "SeriesContract",
    "SeriesSurvivalContract",
    "SettingsContract",
    "SurvivalContract",
]
