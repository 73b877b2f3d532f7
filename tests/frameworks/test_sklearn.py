"""scikit-learn records by its own callbacks."""

import time
from collections.abc import Callable
from typing import Any

import numpy
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from holter.integrations.sklearn import HolterCallback

X = numpy.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0] > 0


def test_a_search_records_its_candidates(recorded: Callable[[], Any]) -> None:
    search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0, 100.0]}, cv=3).set_callbacks(HolterCallback())
    search.fit(X, Y)
    run = recorded()
    assert run.config["estimator_class"] == "GridSearchCV"
    assert [row["param/C"] for row in run.scan_history(["param/C", "search/mean_test_score"])] == [0.01, 1.0, 100.0]
    assert run.summary["best/C"] == search.best_params_["C"]
    assert run.summary["best_score"] == search.best_score_


def test_an_iterative_fit_records_its_training_score(recorded: Callable[[], Any]) -> None:
    LogisticRegression(C=0.5).set_callbacks(HolterCallback()).fit(X, Y)
    run = recorded()
    assert run.config["C"] == 0.5
    assert len(list(run.scan_history(["LogisticRegression/train_score"]))) > 1


def test_charts_of_an_estimator_are_recorded_also_by_the_names_of_wandb(recorded: Callable[[], Any]) -> None:
    from sklearn.cluster import KMeans
    from sklearn.linear_model import LinearRegression

    from holter.integrations import sklearn_plots as ours
    from holter.wandb_door.lookup import door_module

    x, y = X, (X[:, 0] > 0).astype(int)
    model = LogisticRegression().fit(x, y)
    plots = door_module("wandb.sklearn")
    plots.plot_classifier(model, x, x, y, y, model.predict(x), model.predict_proba(x), ["no", "yes"], True)
    plots.plot_calibration_curve(model, x, y, "logistic")
    plots.plot_learning_curve(model, x, y, cv=3)
    ours.plot_regressor(LinearRegression().fit(x, x[:, 0]), x, x, x[:, 0], x[:, 0])
    ours.plot_clusterer(KMeans(2, n_init=1).fit(x), x, KMeans(2, n_init=1).fit_predict(x), ["a", "b"], "KMeans")
    run = recorded()
    assert run.summary["summary_metrics/accuracy"] > 0.9
    charts = (
        "confusion_matrix roc precision_recall feature_importances class_proportions calibration_curve learning_curve"
    )
    more = "residuals outlier_candidates elbow_curve silhouette_plot"
    until = time.monotonic() + 60  # who makes media of them is a process of its own
    while len(run.media()) < 11 and time.monotonic() < until:
        time.sleep(0.1)
    assert {medium.key for medium in run.media()} == {*charts.split(), *more.split()}
