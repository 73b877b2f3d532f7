"""A sweep as `Api().sweep()` gives it, in W&B's words where there are some."""

import importlib
from typing import TYPE_CHECKING, Any

from holter.sweeps.opening import Sweep
from holter.sweeps.present import SweepJson, TrialJson
from holter.sweeps.state import RUNNING, WAITING

if TYPE_CHECKING:
    from holter.api.recorded_runs import Api
    from holter.api.run import ApiRun

_STATES = {"running": "RUNNING", "paused": "PAUSED", "stopped": "STOPPED", "finished": "FINISHED"}


class ApiSweep:
    """One sweep, as it was when it was last loaded."""

    def __init__(self, api: "Api", found: Sweep) -> None:
        self._api = api
        self._found = found
        self._shown = found.show()

    def load(self) -> None:
        """Ask again."""
        self._shown = self._found.show()

    @property
    def shown(self) -> SweepJson:
        """All that `holter sweep show --json` has."""
        return self._shown

    @property
    def id(self) -> str:
        """Its id."""
        return self._shown.id

    @property
    def name(self) -> str:
        """What people call it."""
        return self._shown.name

    @property
    def project(self) -> str:
        """Where its runs are."""
        return self._shown.project

    @property
    def state(self) -> str:
        """RUNNING, PAUSED, STOPPED or FINISHED."""
        return _STATES[self._shown.status]

    @property
    def order(self) -> str:
        """`minimize` or `maximize`."""
        return self._shown.goal

    @property
    def expected_run_count(self) -> int | None:
        """How many trials there will be; None where nobody knows."""
        return self._shown.most

    @property
    def config(self) -> dict[str, Any]:
        """What it searches."""
        import msgspec

        found: dict[str, Any] = msgspec.to_builtins(self._found.configuration)
        return found

    @property
    def trials(self) -> list[TrialJson]:
        """All trials, in the order in which they were chosen."""
        return self._shown.rows

    @property
    def best_trial(self) -> TrialJson | None:
        """The finished trial with the best value."""
        return next((each for each in self.trials if each.number == self._shown.best_trial), None)

    @property
    def runs(self) -> "list[ApiRun]":
        """The run of each trial's newest attempt."""
        return [self._api.run(each.run) for each in self.trials if each.run]

    def best_run(self) -> "ApiRun | None":
        """The run of the best trial."""
        best = self.best_trial
        return self._api.run(best.run) if best is not None and best.run else None

    def enqueue(self, params: dict[str, Any]) -> int:
        """Have these values tried next; returns the trial's number. Raises UsageError, Refused."""
        return self._found.add(params)

    def steer(self, act: str, *, what: str = "", reason: str = "", bounds: tuple[float, float] | None = None) -> None:
        """Pause, resume, stop, end, allow, quarantine, lift, bounds (of `what`). Raises UsageError, Refused."""
        from holter.catalog.change.user_name import user_name

        self._found.change(act, by=user_name(), what=what, reason=reason, bounds=bounds)
        self.load()

    if not TYPE_CHECKING:  # where it would hide every slip of the pen

        def __getattr__(self, name: str) -> Any:
            # W&B's words live above the Api.
            return importlib.import_module("holter.wandb_door.api_words").of_sweep(self, name)

    def __repr__(self) -> str:
        count = len([each for each in self.trials if each.state not in (WAITING, RUNNING)])
        return f"<sweep {self.name} ({self.id}): {self._shown.status}, {count} trials ended>"
