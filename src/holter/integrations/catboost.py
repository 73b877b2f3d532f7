"""CatBoost, on the CPU: it calls nobody back on a GPU.

from holter.integrations.catboost import HolterCallback
CatBoostRegressor(iterations=100).fit(x, y, callbacks=[HolterCallback()])
"""

import functools
import inspect
from typing import Any

import catboost

from holter.client.framework_run import Run, add_config, join_run, unraised

REQUIRES = "catboost>=1.2"


class HolterCallback:
    """Records what is measured of each iteration, as `learn/RMSE`; CatBoost counts them from 1."""

    def __init__(self, **asked: Any) -> None:
        self._asked = asked
        self._run: Run | None = None
        self._is_open = False

    def after_iteration(self, info: Any) -> bool:
        """Called by CatBoost; it goes on."""
        if not self._is_open:
            self.begin()
        self._log(info)
        return True

    def begin(self, config: dict[str, Any] | None = None) -> None:
        """The run begins, unless there is one."""
        self._is_open = True
        self._run = join_run(**self._asked)
        if self._run is not None and config:
            add_config(self._run, config)

    @unraised
    def _log(self, info: Any) -> None:
        row = {
            f"{data}/{name}": values[-1]
            for data, metrics in info.metrics.items()
            for name, values in metrics.items()
            if values
        }
        if self._run is not None and row:
            self._run.log(row, step=info.iteration)


def autolog() -> None:
    """Have every `fit()` on the CPU record itself. Idempotent."""
    plain = catboost.CatBoost._fit
    if hasattr(plain, "holter_fit"):
        return

    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = signature.bind(self, *args, **kwargs)
        given = call.arguments.get("callbacks")
        several = list(given) if isinstance(given, list | tuple) else [given] if given else []
        params = self.get_params()
        if params.get("task_type") != "GPU" and not any(isinstance(each, HolterCallback) for each in several):
            callback = HolterCallback()
            callback.begin(params)
            call.arguments["callbacks"] = [*several, callback]
        return plain(*call.args, **call.kwargs)

    fit.holter_fit = True  # type: ignore[attr-defined]  # a mark of ours
    catboost.CatBoost._fit = fit
