"""Lines of a chart: series in buckets along steps, time, time since the start, or another metric."""

import math

import msgspec
import numpy as np

from holter.errors import UsageError
from holter.model.bounds import within
from holter.storage.bucketing import cut_into_buckets, spans_of_points
from holter.storage.opening import Storage
from holter.storage.series import Buckets, Floats, Ints, Line, Window

STEP, TIME, RELATIVE = "step", "time", "relative"
MOST_BUCKETS = 20_000


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """What to draw. `x` is `step`, `time` (ns since 1970), `relative` (ns since the run began), or the key of a metric.

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
        return [_against(storage, Line(run, key), chart) for run, key in chart.lines]
    origins = _starts(storage, chart) if chart.x == RELATIVE else {}
    lines = [Line(run, key, origins.get(run, 0)) for run, key in chart.lines]
    window = Window(
        chart.buckets,
        "step" if chart.x == STEP else "time",
        None if chart.first is None else within(math.ceil(chart.first)),
        None if chart.last is None else within(math.floor(chart.last)),
    )
    return storage.series.buckets(lines, window)


def draw_mean(storage: Storage, chart: Chart) -> Buckets:
    """All lines as one: the mean of their means, and between the lowest and the highest of them. Raises UsageError."""
    alone = draw(storage, chart)
    drawn = [line for line in alone if len(line.first)]
    if not drawn:
        return cut_into_buckets(spans_of_points(np.empty(0), np.empty(0)), 1)
    first = min(float(line.first[0]) for line in drawn) if chart.first is None else chart.first
    last = max(float(line.last[-1]) for line in drawn) if chart.last is None else chart.last
    if len(drawn) > 1:
        drawn = draw(storage, msgspec.structs.replace(chart, first=first, last=last))
    # Each by itself: the sum of two huge ones is infinite.
    places = np.concatenate([line.first.astype(np.float64) / 2 + line.last.astype(np.float64) / 2 for line in drawn])
    means = np.concatenate([line.mean for line in drawn])
    order = np.argsort(places, kind="stable")
    count = min(chart.buckets, _most_buckets(drawn, last - first, is_even=chart.x == STEP))
    return cut_into_buckets(spans_of_points(places[order], means[order]), count, first=first, last=last)


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


def _against(storage: Storage, line: Line, chart: Chart) -> Buckets:
    """A series along the values that another one has at the same steps; points without such a value are left out."""
    across, along = storage.series.points(Line(line.run, chart.x)), storage.series.points(line)
    places, values = _joined(across.steps, across.values, along.steps, along.values)
    kept = np.isfinite(places)
    if chart.first is not None:
        kept &= places >= chart.first
    if chart.last is not None:
        kept &= places <= chart.last
    places, values = places[kept], values[kept]
    order = np.argsort(places, kind="stable")
    spans = spans_of_points(places[order], values[order])
    return cut_into_buckets(spans, chart.buckets, first=chart.first, last=chart.last)


def _joined(steps: Ints, places: Floats, other_steps: Ints, values: Floats, /) -> tuple[Floats, Floats]:
    if not len(steps) or not len(other_steps):
        return np.empty(0), np.empty(0)
    found = np.minimum(np.searchsorted(steps, other_steps), len(steps) - 1)
    is_there = steps[found] == other_steps
    return places[found[is_there]], values[is_there]
