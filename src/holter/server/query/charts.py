"""Lines of a chart: series in buckets along steps, time, time since the start, or another metric."""

import math
from typing import Literal

import msgspec
import numpy as np

from holter.errors import UsageError
from holter.model.bounds import within
from holter.server.query.expressions import Expression, parse_expression
from holter.storage.bucketing import cut_into_buckets, spans_of_points
from holter.storage.opening import Storage
from holter.storage.series import Buckets, Floats, Ints, Line, Points, Window

STEP, TIME, RELATIVE = "step", "time", "relative"
FORMULA = "="
"""What an axis that is an expression over metrics begins with."""
MOST_BUCKETS = 20_000
Band = Literal["range", "std", "quartiles"]


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """What to draw. `x` is `step`, `time` (ns since 1970), `relative` (ns since the run began), the key of a metric, or
    `=` and an expression over metrics.

    `first` and `last` cut the axis, both included; None is as far as points go.
    """

    lines: tuple[tuple[str, str], ...]
    """Run and key of each."""
    x: str = STEP
    buckets: int = 1000
    first: float | None = None
    last: float | None = None


def draw(storage: Storage, chart: Chart) -> list[Buckets]:
    """The buckets of each line, empty ones for a series that is not there. Raises UsageError."""
    if not 1 <= chart.buckets <= MOST_BUCKETS:
        raise UsageError(f"a chart has 1 to {MOST_BUCKETS:,} buckets, not {chart.buckets:,}")
    if chart.x not in (STEP, TIME, RELATIVE):
        axis = axis_of(chart.x)
        return [_against(storage, Line(run, key), chart, axis) for run, key in chart.lines]
    origins = _starts(storage, chart) if chart.x == RELATIVE else {}
    lines = [Line(run, key, origins.get(run, 0)) for run, key in chart.lines]
    window = Window(
        chart.buckets,
        "step" if chart.x == STEP else "time",
        None if chart.first is None else within(math.ceil(chart.first)),
        None if chart.last is None else within(math.floor(chart.last)),
    )
    return storage.series.buckets(lines, window)


class Averaged(msgspec.Struct, frozen=True, eq=False):
    """Several lines as one, and how many of them each bucket has."""

    buckets: Buckets
    runs: Ints


def axis_of(x: str) -> Expression | None:
    """The expression of an axis that is one. Raises UsageError."""
    return parse_expression(x.removeprefix(FORMULA)) if x.startswith(FORMULA) else None


def draw_mean(storage: Storage, chart: Chart, *, band: Band = "range") -> Averaged:
    """All lines as one: the mean of their means with a band from the lowest to the highest of them or a standard
    deviation to each side, or their median between the quartiles. Raises UsageError.
    """
    alone = draw(storage, chart)
    drawn = [line for line in alone if len(line.first)]
    if not drawn:
        return Averaged(cut_into_buckets(spans_of_points(np.empty(0), np.empty(0)), 1), np.empty(0, np.int64))
    first = min(float(line.first[0]) for line in drawn) if chart.first is None else chart.first
    last = max(float(line.last[-1]) for line in drawn) if chart.last is None else chart.last
    if len(drawn) > 1:
        drawn = draw(storage, msgspec.structs.replace(chart, first=first, last=last))
    # Each by itself: the sum of two huge ones is infinite.
    places = np.concatenate([line.first.astype(np.float64) / 2 + line.last.astype(np.float64) / 2 for line in drawn])
    means = np.concatenate([line.mean for line in drawn])
    owners = np.repeat(np.arange(len(drawn)), [len(line.mean) for line in drawn])
    order = np.argsort(places, kind="stable")
    count = min(chart.buckets, _most_buckets(drawn, last - first, is_even=chart.x == STEP))
    buckets = cut_into_buckets(spans_of_points(places[order], means[order]), count, first=first, last=last)
    return _spread(buckets, means[order], owners[order], band)


def _spread(buckets: Buckets, values: Floats, owners: Ints, band: Band, /) -> Averaged:
    """Each line counts once in a bucket, however many points it has there."""
    size = len(buckets.counts)
    places = np.repeat(np.arange(size), buckets.counts)
    finite = np.isfinite(values)
    pairs, which = np.unique(np.stack([places[finite], owners[finite]]), axis=1, return_inverse=True)
    which = which.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        own = np.bincount(which, values[finite]) / np.bincount(which) if len(which) else np.empty(0)
    at = pairs[0]
    runs = np.bincount(at, minlength=size)
    if band == "range" or not len(at):
        return Averaged(buckets, runs)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if band == "std":
            mean = np.bincount(at, own, minlength=size) / runs
            # The sum of huge values is infinite: the mean is known, how far they lie from it is not.
            mean = np.where(np.isfinite(mean), mean, buckets.mean)
            off = np.sqrt(np.bincount(at, (own - mean[at]) ** 2, minlength=size) / np.maximum(runs - 1, 1))
            off = np.where(np.isfinite(off), off, np.nan)
            return Averaged(msgspec.structs.replace(buckets, low=mean - off, mean=mean, high=mean + off), runs)
    ordered = own[np.lexsort((own, at))]
    low, mean, high = (_quantile(ordered, runs, share) for share in (0.25, 0.5, 0.75))
    return Averaged(msgspec.structs.replace(buckets, low=low, mean=mean, high=high), runs)


def _quantile(ordered: Floats, runs: Ints, share: float, /) -> Floats:
    """Of each bucket's values, which stand one after the other; NaN where it has none."""
    place = np.maximum(runs - 1, 0) * share
    starts = np.cumsum(runs) - runs
    last = len(ordered) - 1
    below = ordered[np.minimum(starts + np.floor(place).astype(np.int64), last)]
    above = ordered[np.minimum(starts + np.ceil(place).astype(np.int64), last)]
    found: Floats = np.where(runs > 0, below + (above - below) * (place - np.floor(place)), np.nan)
    return found


def _most_buckets(lines: list[Buckets], width: float, *, is_even: bool) -> int:
    """As many as leave a point of each line in each: with more, their mean would jump from one line to the other."""
    gaps = [float(line.last[-1] - line.last[0]) / (len(line.last) - 1) for line in lines if len(line.last) > 2]
    if len(lines) == 1 or not gaps or not max(gaps) > 0:
        return max(len(line.first) for line in lines)
    # Steps come at the same places in every line; what comes when it comes needs room.
    return max(1, round(width / max(gaps)) + 1 if is_even else int(width / max(gaps) / 2))


def _starts(storage: Storage, chart: Chart) -> dict[str, int]:
    rows = {run: storage.runs.get(run) for run in {run for run, _ in chart.lines}}
    return {run: row.started_ns for run, row in rows.items() if row is not None}


def _against(storage: Storage, line: Line, chart: Chart, axis: Expression | None, /) -> Buckets:
    """A series along the values that another one has at the same steps; points without such a value are left out."""
    along = storage.series.points(line)
    if axis is None:
        across = storage.series.points(Line(line.run, chart.x))
        places, values = _joined(across.steps, across.values, along.steps, along.values)
    else:
        places, values = _measured(storage, line.run, axis, along)
    kept = np.isfinite(places)
    if chart.first is not None:
        kept &= places >= chart.first
    if chart.last is not None:
        kept &= places <= chart.last
    places, values = places[kept], values[kept]
    order = np.argsort(places, kind="stable")
    spans = spans_of_points(places[order], values[order])
    return cut_into_buckets(spans, chart.buckets, first=chart.first, last=chart.last)


def _measured(storage: Storage, run: str, axis: Expression, along: Points, /) -> tuple[Floats, Floats]:
    """The value of the expression at each step at which all of its metrics have one, and that of the series."""
    steps, values = along.steps, along.values
    columns = {STEP: steps.astype(np.float64)}
    for name in axis.names:
        across = storage.series.points(Line(run, name))
        # A metric that is named as the steps are means itself.
        if name == STEP and not len(across.steps):
            continue
        found = np.minimum(np.searchsorted(across.steps, steps), max(0, len(across.steps) - 1))
        is_there = across.steps[found] == steps if len(across.steps) else np.zeros(len(steps), bool)
        steps, values = steps[is_there], values[is_there]
        columns = {each: column[is_there] for each, column in columns.items()}
        columns[name] = across.values[found[is_there]]
    return np.broadcast_to(axis.value(columns), len(steps)), values


def _joined(steps: Ints, places: Floats, other_steps: Ints, values: Floats, /) -> tuple[Floats, Floats]:
    if not len(steps) or not len(other_steps):
        return np.empty(0), np.empty(0)
    found = np.minimum(np.searchsorted(steps, other_steps), len(steps) - 1)
    is_there = steps[found] == other_steps
    return places[found[is_there]], values[is_there]
