"""How a run gets on: its rows, steps and epochs, as its journals tell."""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

MOST_METRICS = 300
MOST_PAUSES = 400
EPOCHS = ("epoch", "train/epoch", "trainer/epoch", "epochs")


class Metric(msgspec.Struct):
    """One logged number: its newest value, and the usual one."""

    last: float = math.nan
    step: int = 0
    usual: float = math.nan
    """A running mean of its size."""
    lowest: float = math.inf
    count: int = 0
    ratio: float = 1.0
    """The newest value's size, in usual ones."""
    highest: float = 0.0
    highest_before: float = 0.0
    """The highest size, with and without the newest value."""
    bad_step: int | None = None
    """Where it first was NaN or infinite."""
    bad_value: float = math.nan


class Bad(msgspec.Struct, frozen=True):
    """A value that is no number any more."""

    key: str
    value: float
    step: int


class Progress:
    """What was logged so far. One thread."""

    def __init__(self) -> None:
        self.rows = 0
        self.step: int | None = None
        self.first_s = math.nan
        """When the first row came, on the guards' clock."""
        self.last_s = math.nan
        """When the newest came."""
        self.pauses: deque[float] = deque(maxlen=MOST_PAUSES)
        """The seconds for each row, or between rows that are rarer than the looks."""
        self.longest_s = 0.0
        self.metrics: dict[str, Metric] = {}
        self.epochs: list[float] = []
        """When each epoch was first heard of."""
        self.steps: deque[tuple[float, int]] = deque(maxlen=720)
        self.pace: list[tuple[float, float]] = []
        """Seconds for each step, by quarter minutes: the whole run in at most a few hundred parts."""
        self.began_s = math.nan
        self.is_at_rest = False
        """A notebook in which no cell runs: nobody waits for a row."""
        self.cell: int | None = None
        """The number of the notebook's cell that runs, or ran last."""
        self._epoch = math.nan
        self._pace_at: tuple[float, int] | None = None

    @property
    def usual_s(self) -> float:
        """The usual time between two rows; NaN where it is not known yet."""
        if len(self.pauses) < 3:
            return math.nan
        ordered = sorted(self.pauses)
        return ordered[len(ordered) // 2]

    def advance(self, at_s: float, *, rows: int, step: int | None) -> None:
        """So many rows came since the last look, the newest at this time."""
        if not rows:
            return
        if self.rows:
            pause = max(0.0, at_s - self.last_s)
            self.pauses.append(pause / rows)
            self.longest_s = max(self.longest_s, pause)
        else:
            self.first_s = at_s
        self.rows += rows
        self.last_s = max(at_s, self.last_s) if self.last_s == self.last_s else at_s
        if step is not None and (self.step is None or step > self.step):
            self.step = step
            self._take_pace(at_s, step)

    def rest(self, at_s: float, *, is_over: bool) -> None:
        """A notebook's cell has ended, or another one begins: the pause between them is none of the run's."""
        self.is_at_rest = not is_over
        if self.rows:
            self.last_s = max(self.last_s, at_s)

    def take(self, values: Mapping[str, Any], step: int, at_s: float, /) -> list[Bad]:
        """The values of one row; returns those that were numbers until now, and are none."""
        found = []
        for key, value in values.items():
            if type(value) is not float and type(value) is not int:
                continue
            if (
                key in EPOCHS and value == value and value > self._epoch
                if self._epoch == self._epoch
                else key in EPOCHS
            ):
                self._epoch = float(value)
                self.epochs.append(at_s)
            metric = self.metrics.get(key)
            if metric is None:
                if len(self.metrics) >= MOST_METRICS:
                    continue
                metric = self.metrics[key] = Metric()
            if not math.isfinite(value):
                if metric.bad_step is None:
                    metric.bad_step, metric.bad_value = step, float(value)
                    found.append(Bad(key, float(value), step))
                continue
            _count(metric, float(value), step)
        return found

    def _take_pace(self, at_s: float, step: int) -> None:
        self.steps.append((at_s, step))
        if self._pace_at is None:
            self._pace_at = (at_s, step)
        elif at_s - self._pace_at[0] >= 15.0 and step > self._pace_at[1]:
            self.pace.append((at_s, (at_s - self._pace_at[0]) / (step - self._pace_at[1])))
            self._pace_at = (at_s, step)
            if len(self.pace) > 960:
                self.pace = [_joined(*self.pace[at : at + 2]) for at in range(0, len(self.pace), 2)]


def _joined(*pair: tuple[float, float]) -> tuple[float, float]:
    return pair[-1][0], sum(pace for _, pace in pair) / len(pair)


def _count(metric: Metric, value: float, step: int) -> None:
    metric.last, metric.step = value, step
    metric.bad_step = None
    metric.count += 1
    size = abs(value)
    metric.ratio = size / metric.usual if metric.count > 1 and metric.usual > 0 else 1.0
    metric.highest_before, metric.highest = metric.highest, max(metric.highest, size)
    metric.usual = size if metric.count == 1 else metric.usual + (size - metric.usual) * max(0.02, 1 / metric.count)
    metric.lowest = min(metric.lowest, size)


def paces(points: Iterable[tuple[float, float]]) -> list[float]:
    """Only the figures, sorted."""
    return sorted(pace for _, pace in points)
