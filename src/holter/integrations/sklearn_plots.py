"""Charts of what a scikit-learn estimator does, recorded in the active run.

from holter.integrations.sklearn_plots import plot_classifier
plot_classifier(model, X_train, X_test, y_train, y_test, y_pred, y_probas, labels)
"""

from typing import Any

import numpy as np
from sklearn import calibration, metrics, model_selection
from sklearn.base import clone, is_classifier

from holter.client.framework_run import run_here, unraised
from holter.client.media import plot
from holter.client.media.table import Table

REQUIRES = "scikit-learn>=1.2"
MOST_CANDIDATES = 10_000


def _log(name: str, chart: plot.Chart) -> None:
    run_here().log({name: chart})


@unraised
def plot_confusion_matrix(y_true: Any, y_pred: Any, labels: Any = None, **_: Any) -> None:
    """How often each class was taken for each other one."""
    names = None if labels is None else [str(each) for each in labels]
    _log("confusion_matrix", plot.confusion_matrix(y_true=y_true, preds=np.asarray(y_pred), class_names=names))


@unraised
def plot_roc(y_true: Any, y_probas: Any, labels: Any = None, **_: Any) -> None:
    """True positives over false ones, for each class."""
    _log("roc", plot.roc_curve(y_true, y_probas, labels))


@unraised
def plot_precision_recall(y_true: Any, y_probas: Any, labels: Any = None, **_: Any) -> None:
    """Precision over recall, for each class."""
    _log("precision_recall", plot.pr_curve(y_true, y_probas, labels))


@unraised
def plot_feature_importances(
    model: Any, feature_names: Any = None, title: str = "Feature importances", max_num_features: int = 50
) -> None:
    """What the estimator says of its features, the most important first."""
    found = getattr(model, "feature_importances_", None)
    values = np.abs(np.asarray(model.coef_)).reshape(-1, model.n_features_in_).mean(0) if found is None else found
    names = feature_names if feature_names is not None else getattr(model, "feature_names_in_", range(len(values)))
    rows = sorted(zip(map(str, names), map(float, values), strict=False), key=lambda row: -row[1])
    table = Table(columns=["feature", "importance"], data=rows[:max_num_features])
    _log("feature_importances", plot.bar(table, "feature", "importance", title))


@unraised
def plot_summary_metrics(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    """The usual scores on data that the estimator has not seen."""
    predicted = model.predict(X_test)
    if is_classifier(model):
        several = {"average": "weighted", "zero_division": 0}
        scores = {
            "accuracy": metrics.accuracy_score(y_test, predicted),
            "precision": metrics.precision_score(y_test, predicted, **several),
            "recall": metrics.recall_score(y_test, predicted, **several),
            "f1": metrics.f1_score(y_test, predicted, **several),
        }
    else:
        scores = {
            "mae": metrics.mean_absolute_error(y_test, predicted),
            "mse": metrics.mean_squared_error(y_test, predicted),
            "r2": metrics.r2_score(y_test, predicted),
        }
    run_here().summary.update({f"summary_metrics/{name}": float(score) for name, score in scores.items()})


@unraised
def plot_learning_curve(model: Any, X: Any, y: Any, **options: Any) -> None:
    """The score over the number of samples; trains copies of the estimator. Options are those of scikit-learn's."""
    sizes, *scores = model_selection.learning_curve(clone(model), X, y, **options)[:3]
    means = [each.mean(axis=1).tolist() for each in scores]
    chart = plot.line_series(sizes.tolist(), means, ["train", "test"], "Learning curve", xname="samples")
    _log("learning_curve", chart)


@unraised
def plot_class_proportions(y_train: Any, y_test: Any, labels: Any = None) -> None:
    """How many samples each class has."""
    classes, counts = np.unique(np.concatenate([np.asarray(y_train), np.asarray(y_test)]), return_counts=True)
    names = [str(labels[place]) if labels is not None else str(each) for place, each in enumerate(classes.tolist())]
    table = Table(columns=["class", "count"], data=list(zip(names, counts.tolist(), strict=True)))
    _log("class_proportions", plot.bar(table, "class", "count", "Class proportions"))


@unraised
def plot_calibration_curve(clf: Any, X: Any, y: Any, clf_name: str = "classifier") -> None:
    """How often what is said to be likely is so; for two classes."""
    right, said = calibration.calibration_curve(y, clf.predict_proba(X)[:, 1], n_bins=10)
    chart = plot.line_series([said.tolist(), [0, 1]], [right.tolist(), [0, 1]], [clf_name, "perfect"], "Calibration")
    _log("calibration_curve", chart)


@unraised
def plot_residuals(regressor: Any, X: Any, y: Any) -> None:
    """What a regression is off by, over what it predicts."""
    predicted = np.asarray(regressor.predict(X), dtype=float).ravel()
    off = np.asarray(y, dtype=float).ravel() - predicted
    rows = list(zip(predicted.tolist(), off.tolist(), strict=True))[: plot.MOST_POINTS]
    table = Table(columns=["predicted", "residual"], data=rows)
    _log("residuals", plot.scatter(table, "predicted", "residual", "Residuals"))


@unraised
def plot_outlier_candidates(regressor: Any, X: Any, y: Any) -> None:
    """Cook's distance of each sample: how much the fit hangs on it."""
    data, target = np.asarray(X, dtype=float)[:MOST_CANDIDATES], np.asarray(y, dtype=float).ravel()[:MOST_CANDIDATES]
    off = target - np.asarray(regressor.predict(data), dtype=float).ravel()
    lever = np.einsum("ij,ji->i", data, np.linalg.pinv(data))
    share = data.shape[1] * max(float((off**2).mean()), 1e-300)
    distance = off**2 / share * lever / np.maximum(1 - lever, 1e-12) ** 2
    table = Table(columns=["sample", "distance"], data=list(enumerate(distance.tolist())))
    _log("outlier_candidates", plot.scatter(table, "sample", "distance", "Cook's distance"))


@unraised
def plot_elbow_curve(clusterer: Any, X: Any, cluster_ranges: Any = None, **_: Any) -> None:
    """The score over the number of clusters; trains copies of the clusterer."""
    ranges = list(cluster_ranges if cluster_ranges is not None else range(1, 10, 2))
    scores = [float(clone(clusterer).set_params(n_clusters=count).fit(X).score(X)) for count in ranges]
    table = Table(columns=["clusters", "score"], data=list(zip(ranges, scores, strict=True)))
    _log("elbow_curve", plot.line(table, "clusters", "score", title="Elbow curve"))


@unraised
def plot_silhouette(clusterer: Any, X: Any, cluster_labels: Any = None, labels: Any = None, **options: Any) -> None:
    """How well each sample lies in its cluster."""
    found = np.asarray(cluster_labels if cluster_labels is not None else clone(clusterer).fit_predict(X))
    values = metrics.silhouette_samples(X, found, metric=options.get("metric", "euclidean"))
    rows = []
    for cluster in np.unique(found).tolist():
        name = str(labels[cluster]) if labels is not None else str(cluster)
        rows += [[place, float(each), name] for place, each in enumerate(np.sort(values[found == cluster]))]
    table = Table(columns=["sample", "silhouette", "cluster"], data=rows)
    _log("silhouette_plot", plot.line(table, "sample", "silhouette", "cluster", "Silhouette"))


def plot_classifier(
    model: Any, X_train: Any, X_test: Any, y_train: Any, y_test: Any, *options: Any, **named: Any
) -> None:
    """All charts of a classifier. Options are `y_pred`, `y_probas`, `labels`; others of W&B's change nothing."""
    given = {**dict(zip(("y_pred", "y_probas", "labels"), options, strict=False)), **named}
    labels = given.get("labels")
    plot_feature_importances(model, given.get("feature_names"))
    if given.get("log_learning_curve"):
        plot_learning_curve(model, X_train, y_train)
    plot_summary_metrics(model, X_train, y_train, X_test, y_test)
    plot_class_proportions(y_train, y_test, labels)
    plot_confusion_matrix(
        y_test, given.get("y_pred") if given.get("y_pred") is not None else model.predict(X_test), labels
    )
    if (probas := given.get("y_probas")) is not None:
        plot_roc(y_test, probas, labels)
        plot_precision_recall(y_test, probas, labels)


def plot_regressor(model: Any, X_train: Any, X_test: Any, y_train: Any, y_test: Any, *_: Any, **__: Any) -> None:
    """All charts of a regression."""
    plot_summary_metrics(model, X_train, y_train, X_test, y_test)
    plot_outlier_candidates(model, X_train, y_train)
    plot_residuals(model, X_train, y_train)


def plot_clusterer(
    model: Any, X_train: Any, cluster_labels: Any = None, labels: Any = None, *_: Any, **__: Any
) -> None:
    """All charts of a clustering."""
    plot_elbow_curve(model, X_train)
    plot_silhouette(model, X_train, cluster_labels, labels)
