"""What a program said about its metrics: their x axis, what the summary keeps of them, which way is better."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from holter.model.record import Record

SUMMARIES = ("min", "max", "mean", "last", "first", "best", "copy", "none")
MINIMISE, MAXIMISE = "minimize", "maximize"
GOALS = (MINIMISE, MAXIMISE)


class MetricDefinition(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What holds for one metric, or for all whose names begin as a name with `*` at its end does."""

    step_metric: str = ""
    """The metric that is its x axis; empty for the step."""
    step_sync: bool = False
    """A row without that metric gets its last value."""
    summary: tuple[str, ...] = ()
    """What the summary keeps of it; nothing said: the last value under its own name."""
    goal: str = ""
    hidden: bool = False
    """It gets no chart by itself."""


class Defined(Record, frozen=True, kw_only=True):
    """All definitions of metrics as they are now, by name."""

    metrics: dict[str, MetricDefinition]


class Aggregate(msgspec.Struct, omit_defaults=True):
    """The values of a metric together, since it was defined. NaN is none of them."""

    count: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    first: float = math.nan
    last: float = math.nan

    def add(self, value: float) -> None:
        """One more value."""
        if value != value:
            return
        if not self.count:
            self.first = value
        self.count += 1
        self.total += value
        self.low = min(self.low, value)
        self.high = max(self.high, value)
        self.last = value

    def joined(self, later: "Aggregate") -> "Aggregate":
        """With what another process, or a later attempt, has logged."""
        if not self.count or not later.count:
            return later if later.count else self
        return Aggregate(
            self.count + later.count,
            self.total + later.total,
            min(self.low, later.low),
            max(self.high, later.high),
            self.first,
            later.last,
        )

    def told(self, what: str, goal: str) -> float:
        """Its `min`, `mean` and so on."""
        if what == "best":
            what = "max" if goal == MAXIMISE else "min"
        values = {"min": self.low, "max": self.high, "last": self.last, "first": self.first}
        return values[what] if what in values else self.total / self.count


def definition_of(name: str, metrics: Mapping[str, MetricDefinition]) -> MetricDefinition | None:
    """What was said of a metric: by its own name, else by the longest name with `*` that fits."""
    if name in metrics:
        return metrics[name]
    fits = [each for each in metrics if each.endswith("*") and name.startswith(each[:-1])]
    return metrics[max(fits, key=len)] if fits else None


def better_of(definition: MetricDefinition) -> str:
    """`low` or `high`, by its goal, else by which end of its values the summary keeps; empty where neither is said."""
    if definition.goal:
        return "high" if definition.goal == MAXIMISE else "low"
    kept = {"min": "low", "max": "high"}
    ends = {kept[what] for what in definition.summary if what in kept}
    return ends.pop() if len(ends) == 1 else ""


def is_aggregated(definition: MetricDefinition | None) -> bool:
    """Whether all its values count for the summary, and not the last one alone."""
    return definition is not None and not {"copy", "none"}.issuperset(definition.summary)


def summarise(
    last: Mapping[str, Any], aggregates: Mapping[str, Aggregate], *, metrics: Mapping[str, MetricDefinition]
) -> dict[str, Any]:
    """The summary as the definitions want it: `loss.min` for the least of `loss`, and so on. Pure."""
    if not metrics:
        return dict(last)
    found: dict[str, Any] = {}
    for name, value in last.items():
        definition = definition_of(name, metrics)
        if definition is None or not definition.summary or "copy" in definition.summary:
            found[name] = value
        if definition is None or name not in aggregates or not aggregates[name].count:
            continue
        for what in definition.summary:
            if what not in ("copy", "none"):
                found[f"{name}.{what}"] = aggregates[name].told(what, definition.goal)
    return found


def add_rows(
    aggregates: dict[str, Aggregate],
    rows: Iterable[tuple[str, Any]],
) -> None:
    """Count more values, by name."""
    for name, value in rows:
        if type(value) in (int, float):
            aggregates.setdefault(name, Aggregate()).add(value)


KINDS: dict[int, type[Record]] = {65: Defined}
