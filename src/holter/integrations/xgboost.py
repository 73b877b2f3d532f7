"""XGBoost: `train`, `cv` and the estimators.

from holter.integrations.xgboost import HolterCallback
xgboost.train(params, data, evals=[(data, "train")], callbacks=[HolterCallback()])
"""

import functools
import json
import sys
from typing import Any

import xgboost

from holter.client.framework_run import Run, add_config, join_run, unraised

REQUIRES = "xgboost>=2.0"


class HolterCallback(xgboost.callback.TrainingCallback):
    """Records what is measured of each boosting round, as `train/rmse`, and the best round."""

    def __init__(self, **asked: Any) -> None:
        super().__init__()
        self._asked = asked
        self._run: Run | None = None

    def before_training(self, model: Any) -> Any:
        """The run begins, unless there is one."""
        self._run = join_run(**self._asked)
        self._describe(model)
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any, /) -> bool:
        """A row for a round."""
        self._log(epoch, evals_log)
        return False

    @unraised
    def after_training(self, model: Any) -> Any:
        """What the whole training came to."""
        if self._run is not None and hasattr(model, "attributes"):
            found = {name: _number(text) for name, text in model.attributes().items() if name.startswith("best_")}
            if found:
                self._run.summary.update(found)
        return model

    @unraised
    def _log(self, epoch: int, evals_log: Any) -> None:
        row: dict[str, float] = {}
        for data, metrics in evals_log.items():
            for name, values in metrics.items():
                last = values[-1]
                if isinstance(last, tuple):  # of `cv`: the mean over its folds, and how far they are apart
                    row[f"{data}/{name}"], row[f"{data}/{name}_std"] = map(float, last)
                else:
                    row[f"{data}/{name}"] = float(last)
        if self._run is not None and row:
            self._run.log(row, step=epoch)

    @unraised
    def _describe(self, model: Any) -> None:
        if self._run is not None and hasattr(model, "save_config"):
            add_config(self._run, json.loads(model.save_config())["learner"])


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def autolog() -> None:
    """Have every `train()` and every estimator's `fit()` record itself. Idempotent."""
    plain = xgboost.train
    if hasattr(plain, "holter_train"):
        return

    @functools.wraps(plain)
    def train(*args: Any, **kwargs: Any) -> Any:
        given = list(kwargs.get("callbacks") or [])
        if not any(isinstance(each, HolterCallback) for each in given):
            kwargs["callbacks"] = [*given, HolterCallback()]
        return plain(*args, **kwargs)

    train.holter_train = True  # type: ignore[attr-defined]  # a mark of ours
    for module in ("xgboost", "xgboost.training", "xgboost.sklearn"):
        if getattr(sys.modules.get(module), "train", None) is plain:
            sys.modules[module].train = train  # type: ignore[attr-defined]  # they import it by name
