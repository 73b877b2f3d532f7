"""Ray Tune and Train: each trial is a run of its own, kept by the process that drives them.

from holter.integrations.ray import HolterLoggerCallback
tune.Tuner(..., run_config=RunConfig(callbacks=[HolterLoggerCallback(project="cats")]))
"""

from typing import Any

from ray.tune.logger import LoggerCallback
from ray.tune.utils import flatten_dict

import holter
from holter.client.framework_run import Run, name_checkpoint, unraised

REQUIRES = "ray[tune]>=2.9"

# About Ray's own doing: constant, or told by the run already.
_LEFT_OUT = ("config", "date", "done", "experiment_tag", "hostname", "node_ip", "pid", "should_checkpoint", "timestamp")


class HolterLoggerCallback(LoggerCallback):
    """Records what trials report, at their iteration; a trial that fails is a failed run. Takes what `init()` takes."""

    def __init__(self, **asked: Any) -> None:
        self._asked = asked
        self._runs: dict[str, Run] = {}

    def log_trial_start(self, trial: Any) -> None:
        """A trial begins, or goes on after a failure."""
        if trial.trial_id not in self._runs:
            named = {"name": str(trial), "group": trial.experiment_dir_name, "config": dict(trial.config)}
            self._runs[trial.trial_id] = holter.init(**{**named, **self._asked, "reinit": "create_new"})

    @unraised
    def log_trial_result(self, iteration: int, trial: Any, result: dict[str, Any], /) -> None:
        """A trial reports."""
        self.log_trial_start(trial)
        measured = {name: value for name, value in result.items() if name not in _LEFT_OUT}
        row = {name: value for name, value in flatten_dict(measured).items() if value is not None}
        self._runs[trial.trial_id].log(row, step=result.get("training_iteration", iteration))

    @unraised
    def log_trial_save(self, trial: Any) -> None:
        """A checkpoint is there."""
        run, checkpoint = self._runs.get(trial.trial_id), trial.checkpoint
        if run is not None and checkpoint is not None:
            name_checkpoint(run, checkpoint.path, step=trial.last_result.get("training_iteration", 0))

    @unraised
    def log_trial_end(self, trial: Any, failed: bool = False) -> None:
        """A trial is through."""
        if (run := self._runs.pop(trial.trial_id, None)) is not None:
            run.finish(exit_code=int(failed))
