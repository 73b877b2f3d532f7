"""`define_metric()`: the x axis of a metric, and what the summary keeps of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holter.errors import UsageError
from holter.model.clock import Clock
from holter.model.metric_definitions import (
    GOALS,
    MINIMISE,
    SUMMARIES,
    Defined,
    MetricDefinition,
    add_rows,
    definition_of,
    is_aggregated,
)

if TYPE_CHECKING:
    from holter.client.recorder import Recorder

MOST = 1000
_GOALS = {"min": "minimize", "max": "maximize", "minimise": "minimize", "maximise": "maximize"}


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """What `define_metric` answers, as W&B's."""

    name: str
    step_metric: str | None = None
    step_sync: bool | None = None
    summary: tuple[str, ...] | None = None
    goal: str | None = None
    hidden: bool | None = None


class Definitions:
    """What was said of the metrics of one process's rows: adds what they ask for to each row, and sums up."""

    def __init__(self, recorder: "Recorder", clock: Clock) -> None:
        self._recorder = recorder
        self._clock = clock
        self._log = recorder.log
        self._known: dict[str, tuple[MetricDefinition | None, bool]] = {}
        self._last_steps: dict[str, Any] = {}
        recorder.when_late = lambda row: self._sum_up(row, "")
        recorder.log = self.log  # type: ignore[method-assign]  # only runs with definitions pay for them

    def define(self, name: str, asked: MetricDefinition, *, overwrite: bool) -> None:
        """Say something of a metric; without `overwrite` what was said before stays. Raises UsageError, NotKept."""
        metrics = dict(self._recorder.metrics)
        if len(metrics) >= MOST and name not in metrics:
            raise UsageError(f"{name!r} is not defined: there are {MOST:,} definitions; a `*` at the end means many")
        before = metrics.get(name)
        if before is not None and not overwrite:
            given = {each: value for each, value in msgspec.structs.asdict(asked).items() if value}
            asked = msgspec.structs.replace(before, **given)
        metrics[name] = asked
        if asked.step_metric and definition_of(asked.step_metric, metrics) is None:
            metrics[asked.step_metric] = MetricDefinition()
        self._recorder.metrics = metrics
        self._known.clear()
        self._recorder.record(Defined(at_ns=self._clock.now_ns(), metrics=metrics))

    def log(self, data: Mapping[str, Any], step: int | None, commit: bool | None, /) -> None:
        """Keep a row with the x values that it lacks."""
        if isinstance(data, Mapping):
            data = self._in_step(data)
        self._log(data, step, commit)
        if isinstance(data, Mapping):
            self._sum_up(data, "")

    def _in_step(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        missing = {}
        for name in data:
            definition = self._definition(name)[0]
            axis = definition.step_metric if definition is not None and definition.step_sync else ""
            if axis and axis not in data and axis in self._last_steps:
                missing[axis] = self._last_steps[axis]
        return {**data, **missing} if missing else data

    def _sum_up(self, data: Mapping[str, Any], prefix: str) -> None:
        for key, value in data.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping):
                self._sum_up(value, f"{name}.")
                continue
            is_counted, is_axis = self._definition(name)[1], name in self._axes()
            if not is_counted and not is_axis:
                continue
            number = value if type(value) in (int, float) else _number(value)
            if number is None:
                continue
            if is_axis:
                self._last_steps[name] = number
            if is_counted:
                add_rows(self._recorder.aggregates, [(name, number)])

    def _definition(self, name: Any) -> tuple[MetricDefinition | None, bool]:
        if name not in self._known:
            found = definition_of(str(name), self._recorder.metrics)
            self._known[name] = (found, is_aggregated(found))
        return self._known[name]

    def _axes(self) -> set[str]:
        return {each.step_metric for each in self._recorder.metrics.values()}


def _number(value: Any) -> Any:
    """The number inside; None where it is on a GPU, from which it comes later."""
    from holter.client.device_scalars import is_on_device
    from holter.client.values import scalar_of

    return None if is_on_device(value) else scalar_of(value)


def understood(name: Any, step_metric: Any, step_sync: Any, hidden: Any, summary: Any, goal: Any, /) -> Metric:
    """What the arguments of `define_metric` mean, by W&B's rules. Raises UsageError."""
    if not isinstance(name, str) or not name or "*" in name[:-1]:
        raise UsageError(f"define_metric() takes a name, or the beginning of names and a `*`; got {name!r}")
    step_metric = getattr(step_metric, "name", step_metric)
    if step_metric is not None and (not isinstance(step_metric, str) or "*" in step_metric):
        raise UsageError(f"step_metric must be the name of a metric, got {step_metric!r}")
    parts = summary.split(",") if isinstance(summary, str) else summary or ()
    kept = tuple(str(part).strip() for part in parts)
    if wrong := [part for part in kept if part not in SUMMARIES]:
        raise UsageError(f"summary takes {', '.join(SUMMARIES)}, separated by commas; got {wrong[0]!r}")
    aim = _GOALS.get(goal, goal)
    if aim is not None and aim not in GOALS:
        raise UsageError(f"goal must be one of {', '.join(GOALS)}; got {goal!r}")
    if "best" in kept and aim is None:
        aim = MINIMISE
    sync = bool(step_metric) if step_sync is None else bool(step_sync)
    return Metric(name=name, step_metric=step_metric, step_sync=sync, summary=kept or None, goal=aim, hidden=hidden)


def as_definition(metric: Metric) -> MetricDefinition:
    """What the journal keeps of it."""
    return MetricDefinition(
        step_metric=metric.step_metric or "",
        step_sync=bool(metric.step_sync),
        summary=metric.summary or (),
        goal=metric.goal or "",
        hidden=bool(metric.hidden),
    )
