"""LightGBM: `train`, `cv` and the estimators.

from holter.integrations.lightgbm import HolterCallback
lightgbm.train(params, data, valid_sets=[data], callbacks=[HolterCallback()])
"""

import functools
import sys
from typing import Any

import lightgbm

from holter.client.framework_run import Run, add_config, join_run, unraised

REQUIRES = "lightgbm>=4.0"


class HolterCallback:
    """Records what is measured of each boosting round, as `training/l2`."""

    order = 20
    before_iteration = False

    def __init__(self, **asked: Any) -> None:
        self._asked = asked
        self._run: Run | None = None
        self._is_open = False

    def __call__(self, env: Any) -> None:
        """Called by LightGBM after each round."""
        if not self._is_open:
            self._is_open = True
            self._run = join_run(**self._asked)
            self._describe(env)
        self._log(env)

    @unraised
    def _log(self, env: Any) -> None:
        row = {}
        for data, metric, value, _, *deviation in env.evaluation_result_list or ():
            row[f"{data}/{metric}"] = float(value)
            if deviation:  # of `cv`
                row[f"{data}/{metric}_std"] = float(deviation[0])
        if self._run is not None and row:
            self._run.log(row, step=env.iteration)

    @unraised
    def _describe(self, env: Any) -> None:
        if self._run is not None:
            rounds = {"num_boost_round": env.end_iteration - env.begin_iteration}
            add_config(self._run, {**env.params, **rounds})


def autolog() -> None:
    """Have every `train()` and every estimator's `fit()` record itself. Idempotent."""
    plain = lightgbm.train
    if hasattr(plain, "holter_train"):
        return

    @functools.wraps(plain)
    def train(*args: Any, **kwargs: Any) -> Any:
        given = list(kwargs.get("callbacks") or [])
        if not any(isinstance(each, HolterCallback) for each in given):
            kwargs["callbacks"] = [*given, HolterCallback()]
        return plain(*args, **kwargs)

    train.holter_train = True  # type: ignore[attr-defined]  # a mark of ours
    for module in ("lightgbm", "lightgbm.engine", "lightgbm.sklearn"):
        if getattr(sys.modules.get(module), "train", None) is plain:
            sys.modules[module].train = train  # type: ignore[attr-defined]  # they import it by name
