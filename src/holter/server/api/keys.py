"""The names of metrics."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from holter.errors import NoRun
from holter.model.metric_definitions import MetricDefinition, better_of, definition_of
from holter.model.run_row import RunRow
from holter.server.ingest.columns import SYSTEM
from holter.server.query.counters import counters_of
from holter.server.transport.routing import Route, Visit
from holter.storage.filters import Compare

MOST_RUNS = 200
LOOKED_AT = 5
"""Of so many runs the values tell which metrics only count."""
Search = Annotated[str, msgspec.Meta(max_length=1000)]


class AskedRunKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The series of one run whose key contains a text."""

    run: str
    search: Search = ""


class SeriesKey(msgspec.Struct, frozen=True):
    """A series in short; what was measured of the machine has keys that begin with `system/`."""

    key: str
    points: int
    first_step: int
    last_step: int
    last: float | None
    """The last value, where it is a number that JSON has."""
    is_system: bool
    is_counter: bool = False
    """It only counts, as `epoch` does."""
    x_axis: str = ""
    """The metric that its program defined as its x axis."""
    is_hidden: bool = False
    """Its program wants no chart of it."""
    better: str = ""
    """Which of its values its program called better: `low` or `high`."""


class SeriesKeys(msgspec.Struct, frozen=True):
    """By key."""

    keys: list[SeriesKey]


class AskedKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Of the newest runs of a project, or of the runs named (separated by commas)."""

    project: str | None = None
    runs: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    search: Search = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000


class MetricKey(msgspec.Struct, frozen=True):
    """A metric, and how many of the runs that were looked at have it."""

    key: str
    runs: int
    is_counter: bool = False
    """It only counts, as `epoch` does."""
    x_axis: str = ""
    """The metric that the program of the newest run defined as its x axis."""
    is_hidden: bool = False
    """That program wants no chart of it."""
    better: str = ""
    """Which of its values that program called better: `low` or `high`."""


class MetricKeys(msgspec.Struct, frozen=True):
    """By key; `total` counts also those beyond the limit."""

    keys: list[MetricKey]
    total: int


def keys_of_run(visit: Visit, asked: AskedRunKeys) -> SeriesKeys:
    """The series of a run"""
    row = visit.services.storage.runs.get(asked.run)
    if row is None:
        raise NoRun(f"there is no run {asked.run[:128]!r}")
    wanted = asked.search.lower()
    series = visit.services.storage.series
    found = [each for each in series.list_series(asked.run) if wanted in each.key.lower()]
    counters = counters_of(series, [asked.run], keys=[each.key for each in found if not each.key.startswith(SYSTEM)])
    return SeriesKeys(
        [
            SeriesKey(
                each.key,
                each.points,
                each.first_step,
                each.last_step,
                _number(row.summary.get(each.key)),
                each.key.startswith(SYSTEM),
                each.key in counters,
                *_defined(each.key, row.metrics),
            )
            for each in found
        ]
    )


def keys_of_runs(visit: Visit, asked: AskedKeys) -> MetricKeys:
    """The names of metrics over several runs"""
    named = [run for run in asked.runs.split(",") if run][:MOST_RUNS]
    wanted = asked.search.lower()
    series = visit.services.storage.series
    store = visit.services.storage.runs
    rows = [row for run in named if (row := store.get(run)) is not None] if named else _newest(visit, asked.project)
    runs = named or [row.id for row in rows]
    counted = series.count_keys(runs)
    keys = [key for key in sorted(counted) if wanted in key.lower()]
    shown = keys[: asked.limit]
    counters = counters_of(series, runs[:LOOKED_AT], keys=[key for key in shown if not key.startswith(SYSTEM)])
    metrics: dict[str, MetricDefinition] = {}
    for row in reversed(rows):
        metrics |= row.metrics
    return MetricKeys(
        [MetricKey(key, counted[key], key in counters, *_defined(key, metrics)) for key in shown], len(keys)
    )


def _defined(key: str, metrics: Mapping[str, MetricDefinition]) -> tuple[str, bool, str]:
    found = definition_of(key, metrics) if metrics else None
    return ("", False, "") if found is None else (found.step_metric, found.hidden, better_of(found))


def _newest(visit: Visit, project: str | None) -> list[RunRow]:
    where = Compare("project", "=", project) if project is not None else None
    query = visit.services.question(where=where, count=MOST_RUNS, is_counted=False)
    return visit.runs.query(query).runs


def _number(value: object) -> float | None:
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:  # an integer of hundreds of digits
            return None
    return None


ROUTES = [
    Route(
        method="GET", path="/runs/{run}/keys", touches="run", answer=keys_of_run, asked=AskedRunKeys, result=SeriesKeys
    ),
    Route(method="GET", path="/keys", touches="runs", answer=keys_of_runs, asked=AskedKeys, result=MetricKeys),
]
