"""scikit-learn 1.9 and newer: estimators that call back (searches, pipelines, LogisticRegression …).

from holter.integrations.sklearn import HolterCallback
GridSearchCV(model, grid).set_callbacks(HolterCallback()).fit(x, y)
"""

from typing import Any

from holter.client.framework_run import Run, add_config, join_run, unraised

REQUIRES = "scikit-learn>=1.9"


class HolterCallback:
    """Records an estimator's parameters, its training score and, of a search, each candidate at its place in the grid.

    Workers get copies of it, which do nothing: the process that calls `fit()` records.
    """

    def __init__(self, **asked: Any) -> None:
        self._asked = asked
        self._run: Run | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_asked": self._asked, "_run": None}

    def setup(self, estimator: Any, context: Any) -> None:
        """The run begins, unless there is one."""
        self._run = join_run(**self._asked)
        if self._run is not None:
            self._describe(estimator)

    def teardown(self, estimator: Any, context: Any) -> None:
        """`fit()` is through, well or not."""
        if self._run is not None:
            self._tell_search(estimator)
        self._run = None

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Asked for by scikit-learn; there is nothing to tell yet."""

    @unraised
    def on_fit_task_end(
        self,
        estimator: Any,
        context: Any,
        /,
        *,
        X: Any = None,
        y: Any = None,
        fitted_estimator: Any = None,
    ) -> None:
        """A step of `fit()` is through: its training score is a point, where what is fitted so far can be asked."""
        is_step = context.parent is not None and context.task_name.endswith("iter")
        if self._run is not None and is_step and hasattr(fitted_estimator, "score") and X is not None:
            self._run.log(
                {f"{type(estimator).__name__}/train_score": fitted_estimator.score(X, y)}, step=context.task_id
            )

    @unraised
    def _describe(self, estimator: Any) -> None:
        assert self._run is not None
        add_config(self._run, {"estimator_class": type(estimator).__name__, **_plain(estimator.get_params())})

    @unraised
    def _tell_search(self, estimator: Any) -> None:
        assert self._run is not None
        results = getattr(estimator, "cv_results_", None) or {}
        scores = {name: values for name, values in results.items() if name.startswith(("mean_", "std_", "rank_"))}
        for place, params in enumerate(results.get("params", ())):
            candidate = {f"param/{name}": value for name, value in params.items()}
            measured = {f"search/{name}": values[place] for name, values in scores.items()}
            self._run.log({**measured, **_plain(candidate)}, step=place)
        if hasattr(estimator, "best_score_"):
            self._run.summary.update({"best_score": float(estimator.best_score_), **_best(estimator)})


def _best(search: Any) -> dict[str, Any]:
    return _plain({f"best/{name}": value for name, value in search.best_params_.items()})


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, bool | int | float | str) or value is None else repr(value)
        for name, value in params.items()
    }
