"""The run of `mode="disabled"`: the same surface, and nothing behind it."""

from collections.abc import Mapping
from typing import Any

from holter.client.recorder import Recorder
from holter.client.run import Run
from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.record import Record
from holter.model.records import Described, Finished
from holter.recording.settings import Settings
from holter.recording.sidecar_link import SidecarLink
from holter.recording.voice import Voice


def disabled_run(settings: Settings, config: dict[str, Any]) -> Run:
    """A run that records nothing, starts nothing and costs nothing; `config` and `summary` work as dictionaries."""
    clock, voice = Clock(), Voice(silent=True)
    described = Described(
        at_ns=0, started_ns=0, project=settings.project, name=settings.name or "disabled", tags=settings.tags
    )
    run = Run(
        settings.run_id or "disabled",
        NullRecorder(clock),
        described,
        link=SidecarLink(voice),
        voice=voice,
        clock=clock,
    )
    run.config.update(config)
    return run


class NullRecorder(Recorder):
    """Takes everything and keeps nothing."""

    def __init__(self, clock: Clock) -> None:
        super().__init__("", _nobody, complain=lambda cause, text: False, clock=clock, masking=Masking())

    def log(self, data: Mapping[str, Any], step: int | None, commit: bool | None, /) -> None:
        """Do nothing."""

    def record(self, record: Record) -> None:
        """Do nothing."""

    def note(self, text: str) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""

    def close(self, finished: Finished | None) -> None:
        """Do nothing."""


def _nobody() -> Any:
    raise AssertionError("a disabled run has no journal to open")
