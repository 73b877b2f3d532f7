"""Points: in buckets for charts, and one by one."""

import math
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import numpy as np
from starlette.concurrency import run_in_threadpool

from holter.errors import UsageError
from holter.server.query.charts import RELATIVE, TIME, Band, Chart, draw, draw_mean
from holter.server.query.csv_rows import column_names, csv_of
from holter.server.query.expressions import STEP, parse_expression
from holter.server.transport.routing import Reply, Route, Visit
from holter.storage.run_fields import value_of
from holter.storage.series import Buckets, Line, Points
from holter.wire.binary_columns import MEDIA_TYPE, encode_tables

MOST_LINES = 5000
# In one answer.
MOST_POINTS = 5_000_000
MOST_BUCKETS = 10_000_000
_NS = 1e9
Id = Annotated[str, msgspec.Meta(max_length=128)]
MetricName = Annotated[str, msgspec.Meta(max_length=4096)]


class AskedSeries(msgspec.Struct, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
    """Every key of every run as a line, in at most `buckets` parts of the axis.

    `x` is `step`, `time` (seconds since 1970), `relative` (seconds since the run began), the key of a metric, or an
    expression over metrics behind `=`, such as `=tokens / 1e6`. With `group`, such as `config.lr`, the runs with the
    same value there are one line, and `runs` is how many of them each bucket has: their mean between the lowest and the
    highest of them (`band` is `range`) or between a standard deviation to each side (`std`), or their median between
    the `quartiles`. With `since`, lines of runs that have nothing newer than that number are left out.
    """

    runs: Annotated[list[Id], msgspec.Meta(max_length=MOST_LINES)]
    keys: Annotated[list[MetricName], msgspec.Meta(max_length=MOST_LINES)]
    x: MetricName = "step"
    buckets: Annotated[int, msgspec.Meta(ge=1, le=20_000)] = 1000
    first: float | None = None
    last: float | None = None
    group: MetricName = ""
    band: Band = "range"
    since: dict[Id, int] = {}


class AskedPoints(msgspec.Struct, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
    """The points of some series (keys separated by commas, or one in `key`), from a step to another.

    At most `limit` of each; a series that has more `is_cut`, and goes on behind its last step.
    """

    run: Id
    keys: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    key: MetricName = ""
    first: int | None = None
    last: int | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_POINTS)] = 1_000_000


class AskedCsv(msgspec.Struct, frozen=True, kw_only=True):
    """Keys of runs, both separated by commas; a comma within a key is `%2C`, and a percent sign `%25`."""

    runs: Annotated[str, msgspec.Meta(max_length=20_000)]
    keys: Annotated[str, msgspec.Meta(max_length=20_000)]
    name: Annotated[str, msgspec.Meta(max_length=200)] = "points"
    """Of the file."""


class AskedAxis(msgspec.Struct, frozen=True, kw_only=True):
    """An expression over metrics, without `=`."""

    x: Annotated[str, msgspec.Meta(max_length=4096)]


class AxisNames(msgspec.Struct, frozen=True):
    """The metrics that an axis needs."""

    names: list[str]


Table = tuple[dict[str, Any], dict[str, Any]]


def series(visit: Visit, asked: AskedSeries) -> Reply:
    """Series in buckets, as binary columns"""
    lines = len(asked.runs) * len(asked.keys)
    if lines > MOST_LINES:
        raise UsageError(f"{lines:,} lines at once: {MOST_LINES:,} are the most")
    if lines * asked.buckets > MOST_BUCKETS:
        raise UsageError(
            f"{lines:,} lines in {asked.buckets:,} buckets: {MOST_BUCKETS:,} buckets are the most at once;"
            " ask for fewer lines or fewer buckets"
        )
    changes = visit.services.changes
    changes.refresh()
    seqs = {run: changes.seq_of("rows", run) for run in asked.runs}
    runs = [run for run in asked.runs if seqs[run] > asked.since.get(run, 0)]
    tables = _grouped(visit, asked, runs, seqs) if asked.group else _lines(visit, asked, runs, seqs)
    return Reply(data=encode_tables(tables), media=MEDIA_TYPE)


def points(visit: Visit, asked: AskedPoints) -> Reply:
    """Points of series one by one, as binary columns"""
    keys = [asked.key] if asked.key else [key for key in asked.keys.split(",") if key]
    tables: list[Table] = []
    left = MOST_POINTS
    for key in keys:
        most = min(asked.limit, left)
        line = Line(asked.run, key)
        found = visit.services.storage.series.points(line, first=asked.first, last=asked.last, most=most + 1)
        if most < asked.limit and len(found.steps) > most:
            raise UsageError(
                f"these series have more than {MOST_POINTS:,} points together: ask for fewer keys at once, or for a"
                " part of their steps with `from`, `to` and `limit`"
            )
        cut = slice(0, most)
        count = min(len(found.steps), most)
        left -= count
        about = {"run": asked.run, "key": key, "points": count, "is_cut": len(found.steps) > most}
        columns = {
            "step": found.steps[cut].astype(np.float64),
            "time": found.at_ns[cut] / _NS,
            "value": found.values[cut],
        }
        tables.append((about, columns))
    return Reply(data=encode_tables(tables), media=MEDIA_TYPE)


def table(visit: Visit, asked: AskedCsv) -> Reply:
    """All points of some keys of some runs as CSV, one row for each step and one column for each key of a run"""
    keys = [key.replace("%2C", ",").replace("%25", "%") for key in asked.keys.split(",") if key]
    storage = visit.services.storage
    rows = [storage.runs.get(run) for run in dict.fromkeys(asked.runs.split(","))]
    runs = [(row.id, row.name) for row in rows if row is not None]
    if len(runs) * len(keys) > MOST_LINES:
        raise UsageError(f"{len(runs) * len(keys):,} columns in one table: {MOST_LINES:,} are the most")
    names = column_names(runs, keys)
    lines = [Line(run, key) for run, _ in runs for key in keys]

    def read(line: Line, first: int | None, most: int, /) -> Points:
        return storage.series.points(line, first=first, most=most)

    pieces = csv_of(lines, names, read=read)
    file = quote(f"{asked.name}.csv", safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{file}", "cache-control": "private, no-store"}
    return Reply(stream=_sent(pieces), headers=headers, media="text/csv; charset=utf-8")


async def _sent(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await run_in_threadpool(next, pieces, None)) is not None:
        yield piece


def axis(_visit: Visit, asked: AskedAxis) -> AxisNames:
    """Which metrics an expression for an axis needs, or what is wrong with it"""
    return AxisNames([name for name in parse_expression(asked.x).names if name != STEP])


def _lines(visit: Visit, asked: AskedSeries, runs: list[str], seqs: dict[str, int], /) -> list[Table]:
    lines = tuple((run, key) for run in runs for key in asked.keys)
    drawn = draw(visit.services.storage, _chart(asked, lines))
    return [
        ({"run": run, "key": key, "seq": seqs[run], **_totals(buckets)}, _columns(buckets, asked.x))
        for (run, key), buckets in zip(lines, drawn, strict=True)
    ]


def _grouped(visit: Visit, asked: AskedSeries, runs: list[str], seqs: dict[str, int], /) -> list[Table]:
    groups: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    for run in runs:
        value = _value(visit, run, asked.group)
        values[repr(value)] = value
        groups.setdefault(repr(value), []).append(run)
    tables = []
    for name, members in groups.items():
        for key in asked.keys:
            lines = tuple((run, key) for run in members)
            found = draw_mean(visit.services.storage, _chart(asked, lines), band=asked.band)
            about = {"group": values[name], "runs": members, "key": key, "seq": max(seqs[run] for run in members)}
            columns = {**_columns(found.buckets, asked.x), "runs": found.runs.astype(np.uint32)}
            tables.append(({**about, **_totals(found.buckets)}, columns))
    return tables


def _value(visit: Visit, run: str, field: str) -> Any:
    services = visit.services
    row = services.storage.runs.get(run)
    return value_of(row.at(services.clock.now_ns(), services.lateness), field) if row is not None else None


def _chart(asked: AskedSeries, lines: tuple[tuple[str, str], ...]) -> Chart:
    scale = _NS if asked.x in (TIME, RELATIVE) else 1.0
    first, last = _edge(asked.first, scale), _edge(asked.last, scale)
    return Chart(lines=lines, x=asked.x, buckets=asked.buckets, first=first, last=last)


def _edge(place: float | None, scale: float) -> float | None:
    """A place on the axis. One that is further away than any number is at the last number."""
    if place is None:
        return None
    if math.isnan(place):
        raise UsageError("`from` and `to` are places on an axis, NaN is none")
    return max(-sys.float_info.max, min(place * scale, sys.float_info.max))


def _totals(buckets: Buckets) -> dict[str, Any]:
    marks = int(np.bitwise_or.reduce(buckets.marks)) if len(buckets.marks) else 0
    return {"points": int(buckets.counts.sum()), "marks": marks, "has_nan": bool(marks)}


def _columns(buckets: Buckets, x: str) -> dict[str, Any]:
    scale = _NS if x in (TIME, RELATIVE) else 1.0
    return {
        "first": buckets.first / scale,
        "last": buckets.last / scale,
        "min": buckets.low,
        "max": buckets.high,
        "mean": buckets.mean,
        "value": buckets.final,
        "count": buckets.counts.astype(np.uint32),
        "marks": buckets.marks,
    }


ROUTES = [
    Route(method="GET", path="/axis", touches="server", answer=axis, asked=AskedAxis, result=AxisNames),
    Route(
        method="GET",
        path="/series.csv",
        touches="runs",
        act="exported",
        answer=table,
        asked=AskedCsv,
        result=bytes,
        media="text/csv",
    ),
    Route(
        method="POST",
        path="/series",
        touches="runs",
        answer=series,
        asked=AskedSeries,
        result=bytes,
        body="json",
        media=MEDIA_TYPE,
    ),
    Route(
        method="GET",
        path="/runs/{run}/points",
        touches="run",
        act="exported",
        answer=points,
        asked=AskedPoints,
        result=bytes,
        media=MEDIA_TYPE,
    ),
]
