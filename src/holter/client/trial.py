"""A run that is a trial of a sweep: an agent says so in one variable, and `init()` takes the trial's values from it."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holter.errors import HolterError
from holter.model.sweep_records import OfSweep
from holter.recording.settings import Settings

if TYPE_CHECKING:
    from holter.client.run import Run

VARIABLE = "HOLTER_TRIAL"
opened: "list[Callable[[Run], None]]" = []
"""Called with the run of a trial by an agent that shares this process."""


class TrialPruned(HolterError):
    """The sweep ends this trial early: raised by `log()` in a function that `holter.agent` runs, and nowhere else."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent tells the program."""

    sweep: str
    number: int
    attempt: int
    run: str
    config: dict[str, Any] = {}
    project: str = ""
    goes_on_from: str = ""
    """The checkpoint of an attempt before; the program finds it in HOLTER_RESUME_FROM, too."""
    step: int | None = None
    """Of that checkpoint."""

    @property
    def record(self) -> OfSweep:
        """For the journal, from now on."""
        from holter.model.clock import Clock

        return OfSweep(at_ns=Clock().now_ns(), sweep=self.sweep, trial=self.number, attempt=self.attempt)

    def begin(self, run: "Run") -> None:
        """This run is an attempt at it."""
        run.keep(self.record)
        for call in opened:
            call(run)


def read_trial(environ: Mapping[str, str] = os.environ) -> Trial | None:
    """The trial that this process is, None for none."""
    text = environ.get(VARIABLE)
    return msgspec.json.decode(text, type=Trial) if text else None


def placed(settings: Settings, trial: Trial, *, is_used: Callable[[str], bool]) -> Settings:
    """The first run of the process is the trial's, whatever id it asks for: its agent looks for it there."""
    changes: dict[str, Any] = {} if is_used(trial.run) else {"run_id": trial.run}
    if trial.project and "project" not in settings.sources:
        changes["project"] = trial.project
    if not settings.group:
        changes["group"] = trial.sweep
    return msgspec.structs.replace(settings, **changes)


def suggested(config: dict[str, Any], trial: Trial) -> dict[str, Any]:
    """The configuration with the trial's values: they win, name by name also within nested ones."""
    return _over(config, trial.config)


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    found = dict(below)
    for name, value in above.items():
        inner = found.get(name)
        is_nested = isinstance(inner, dict) and isinstance(value, dict)
        found[name] = _over(inner, value) if is_nested and isinstance(inner, dict) else value
    return found
