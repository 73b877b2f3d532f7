"""`holter.plot`: charts that are drawn from a table."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from holter.client.media.bundle import Bundle, as_array, numpy
from holter.client.media.medium import Media
from holter.client.media.table import Table
from holter.errors import UsageError

MOST_POINTS = 10_000
P = ParamSpec("P")


class Chart(Media):
    """A table, and how it is drawn: `line`, `scatter`, `bar`, `histogram` or `confusion`, with which column as what."""

    kind = "chart"

    def __init__(self, table: Table, shape: str, *, title: str = "", fields: dict[str, str]) -> None:
        self.table = table
        self._about = {
            "chart": shape,
            "title": str(title or ""),
            "fields": {name: str(each) for name, each in fields.items()},
        }
        self.trouble = table.trouble
        missing = [each for each in self._about["fields"].values() if each not in table.columns]  # type: ignore[attr-defined]
        if missing and not self.trouble:
            self.trouble = f"a {shape} needs the column {missing[0]!r}: the table has {', '.join(table.columns[:20])}"

    def pack(self, bundle: Bundle) -> dict[str, Any]:
        """Add the table."""
        return {**self.table.pack(bundle), **self._about}


def unraised(make: Callable[P, Chart]) -> Callable[P, Chart]:
    """What is wrong with the input is said by `log()`, as with all media."""

    @functools.wraps(make)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Chart:
        try:
            return make(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  the boundary: users' arrays may raise anything
            chart = Chart(Table(columns=[]), "line", fields={})
            chart.trouble = str(error) if isinstance(error, UsageError) else f"{type(error).__name__}: {error}"
            return chart

    return wrapped


@unraised
def line(table: Table, x: str, y: str, stroke: str | None = None, title: str = "", **_: Any) -> Chart:
    """A line through points, one for each value of the column `stroke`."""
    fields = {"x": x, "y": y} | ({"series": stroke} if stroke else {})
    return Chart(table, "line", title=title, fields=fields)


@unraised
def scatter(table: Table, x: str, y: str, title: str = "", **_: Any) -> Chart:
    """Points."""
    return Chart(table, "scatter", title=title, fields={"x": x, "y": y})


@unraised
def bar(table: Table, label: str, value: str, title: str = "", **_: Any) -> Chart:
    """A bar for each row."""
    return Chart(table, "bar", title=title, fields={"label": label, "value": value})


@unraised
def histogram(table: Table, value: str, title: str = "", **_: Any) -> Chart:
    """How often the values of a column come."""
    return Chart(table, "histogram", title=title, fields={"value": value})


@unraised
def line_series(
    xs: Any, ys: Any, keys: Sequence[Any] | None = None, title: str = "", xname: str = "x", **_: Any
) -> Chart:
    """Several lines over the same `xs`, or each over its own."""
    lines = [list(each) for each in ys]
    across = [list(each) for each in xs] if len(xs) and hasattr(xs[0], "__len__") else [list(xs)] * len(lines)
    names = list(keys) if keys is not None else [f"line {number}" for number in range(len(lines))]
    rows = [
        [x, y, str(name)]
        for places, values, name in zip(across, lines, names, strict=False)
        for x, y in zip(places, values, strict=False)
    ]
    table = Table(columns=[xname, "y", "line"], data=rows)
    return Chart(table, "line", title=title, fields={"x": xname, "y": "y", "series": "line"})


@unraised
def confusion_matrix(
    probs: Any = None,
    y_true: Any = None,
    preds: Any = None,
    class_names: Sequence[str] | None = None,
    title: str = "",
    **_: Any,
) -> Chart:
    """How often each class was taken for each other one."""
    if (probs is None) == (preds is None):
        raise UsageError("confusion_matrix needs either probs or preds, and y_true")
    np = numpy()
    guessed = as_array(probs).argmax(axis=1) if probs is not None else np.asarray(preds)
    true = np.asarray(y_true)
    found = np.unique(np.concatenate([true, guessed]))
    classes = np.arange(len(class_names)) if class_names is not None and true.dtype.kind in "iu" else found
    names = [str(each) for each in class_names] if class_names is not None else [str(each) for each in classes.tolist()]
    rows = [
        [names[one], names[other], int(((true == first) & (guessed == second)).sum())]
        for one, first in enumerate(classes.tolist()[: len(names)])
        for other, second in enumerate(classes.tolist()[: len(names)])
    ]
    table = Table(columns=["Actual", "Predicted", "nPredictions"], data=rows)
    return Chart(
        table,
        "confusion",
        title=title or "Confusion matrix",
        fields={"actual": "Actual", "predicted": "Predicted", "count": "nPredictions"},
    )


@unraised
def roc_curve(y_true: Any, y_probas: Any, labels: Sequence[str] | None = None, *, title: str = "", **_: Any) -> Chart:
    """True positives over false ones, for each class."""
    rows = []
    for name, is_class, score in _by_class(y_true, y_probas, labels):
        right, wrong = _counted(is_class, score)
        x, y = wrong / max(1, wrong[-1]), right / max(1, right[-1])
        rows += [[name, a, b] for a, b in zip(x[_thin(x)].tolist(), y[_thin(x)].tolist(), strict=True)]
    table = Table(columns=["class", "fpr", "tpr"], data=rows)
    return Chart(table, "line", title=title or "ROC", fields={"x": "fpr", "y": "tpr", "series": "class"})


@unraised
def pr_curve(y_true: Any, y_probas: Any, labels: Sequence[str] | None = None, *, title: str = "", **_: Any) -> Chart:
    """Precision over recall, for each class."""
    np = numpy()
    rows = []
    for name, is_class, score in _by_class(y_true, y_probas, labels):
        right, wrong = _counted(is_class, score)
        x, y = right / max(1, right[-1]), right / np.maximum(1, right + wrong)
        rows += [[name, a, b] for a, b in zip(x[1:][_thin(x[1:])].tolist(), y[1:][_thin(x[1:])].tolist(), strict=True)]
    table = Table(columns=["class", "recall", "precision"], data=rows)
    return Chart(
        table,
        "line",
        title=title or "Precision and recall",
        fields={"x": "recall", "y": "precision", "series": "class"},
    )


def _by_class(y_true: Any, y_probas: Any, labels: Sequence[str] | None) -> Any:
    np = numpy()
    true, scores = np.asarray(y_true), np.asarray(y_probas, dtype=float)
    if scores.ndim == 1:
        scores = np.stack([1 - scores, scores], axis=1)
    for place, value in enumerate(np.unique(true).tolist()[: scores.shape[1]]):
        yield (str(labels[place]) if labels is not None else str(value)), true == value, scores[:, place]


def _counted(is_class: Any, score: Any) -> Any:
    """How many right and wrong ones there are above each threshold, from the highest down; each threshold once."""
    np = numpy()
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)
    right, wrong = np.cumsum(is_class[order])[last], np.cumsum(~is_class[order])[last]
    return np.append(0, right), np.append(0, wrong)


def _thin(line: Any) -> Any:
    """The places of at most so many points of it."""
    np = numpy()
    return np.unique(np.linspace(0, len(line) - 1, min(len(line), MOST_POINTS)).astype(int))
