"""Optuna: a run for each trial of a study that somebody else runs, and how it ended.

from holter.integrations.optuna import HolterCallback, watched
study.optimize(watched(objective, project="tuning"), n_trials=100, callbacks=[HolterCallback()])
"""

import functools
from collections.abc import Callable
from typing import Any

import optuna

from holter.client import active
from holter.client.framework_run import Run, run_here, unraised
from holter.client.opening import init

REQUIRES = "optuna>=3.0"


def watched(objective: Callable[[Any], Any], **asked: Any) -> Callable[[Any], Any]:
    """The objective, with a run around each call: parameters are its configuration, reports and values its rows.

    A trial that is pruned is `finished`; what the objective raises ends its run as it would end a program's.
    """

    @functools.wraps(objective)
    def called(trial: Any) -> Any:
        given = {"group": trial.study.study_name, "name": f"trial {trial.number}", **asked}
        run = init(reinit="create_new", **given)
        _follow(run, trial)
        try:
            value = objective(trial)
        except optuna.TrialPruned:
            _describe(run, trial, state="pruned")
            run.finish(0)
            raise
        except BaseException:
            _describe(run, trial, state="failed")
            run.finish(1)
            raise
        _describe(run, trial, state="complete", values=_values(value))
        run.finish()
        return value

    return called


class HolterCallback:
    """Records a study into one run: a row for each trial that has ended, with the best value so far."""

    def __init__(self, **asked: Any) -> None:
        self._asked = asked

    @unraised
    def __call__(self, study: Any, trial: Any) -> None:
        """A trial has ended."""
        if active.current() is None and not self._asked:
            return
        run = run_here(**self._asked)
        row: dict[str, Any] = {f"params/{name}": value for name, value in trial.params.items()}
        row |= _named(trial.values or ())
        if len(study.directions) == 1 and trial.values:
            row["best_value"] = study.best_value
        run.log(row, step=trial.number)


@unraised
def _describe(run: Run, trial: Any, *, state: str, values: tuple[float, ...] = ()) -> None:
    run.config.update(trial.params)
    run.summary.update({"trial": trial.number, "trial_state": state, **_named(values)})


def _follow(run: Run, trial: Any) -> None:
    """What the objective reports to the pruner is logged as well."""
    report = trial.report

    @functools.wraps(report)
    def reported(value: float, step: int) -> None:
        report(value, step)
        run.log({"value": value}, step=step)

    vars(trial)["report"] = reported


def _values(value: Any) -> tuple[float, ...]:
    return tuple(map(float, value)) if isinstance(value, tuple | list) else (float(value),)


def _named(values: Any) -> dict[str, float]:
    found = list(values)
    return {"value": found[0]} if len(found) == 1 else {f"value_{place}": each for place, each in enumerate(found)}
