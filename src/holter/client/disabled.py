"""The run of `mode="disabled"`: the same surface, and nothing behind it."""

from collections.abc import Mapping
from typing import Any

from holter.client.mappings import Config, Summary
from holter.client.run import Run
from holter.client.settings import Settings


class DisabledRun(Run):
    """Records nothing, starts nothing, costs nothing; `config` and `summary` work as plain dictionaries."""

    def __init__(self, settings: Settings, config: dict[str, Any]) -> None:
        self.id = settings.run_id or "disabled"
        self.resumed = False
        self._settings = settings
        self._config_values = config
        self._summary_by_hand: dict[str, Any] = {}
        self._finished = False

    def log(self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None) -> None:
        pass

    def flush(self) -> None:
        pass

    def alert(self, title: str, text: str = "", level: str = "INFO", wait_duration: float | None = None) -> None:
        pass

    def mark_preempting(self) -> None:
        pass
