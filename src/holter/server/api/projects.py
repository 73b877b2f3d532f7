"""Projects, what needs attention, and deaths by cause."""

from typing import Annotated

import msgspec

from holter.catalog.judge.verdict import read_explanation
from holter.model.run_row import RunRow
from holter.model.state import CRASHED, FAILED, PREEMPTED, RUNNING
from holter.server.ingest.followed_run import judged_words
from holter.server.query.briefs import RunBrief, brief_of
from holter.server.query.deaths import By, FaultyHost, Share, each_once, faulty_hosts, hours_lost, shares, week_starts
from holter.server.transport.routing import Nothing, Route, Visit
from holter.storage.filters import All, Among, Compare, Filter
from holter.storage.runs import SortKey

DAY_S = 86400
MOST_SHOWN = 200
MOST_ALIVE = 2000
MOST_COUNTED = 100_000
MOST_NEW = 8
WARNINGS = ("WARN", "ERROR")
_DEAD = Among("state", (CRASHED, FAILED, PREEMPTED))
Limit = Annotated[int, msgspec.Meta(ge=1, le=5000)]


class Project(msgspec.Struct, frozen=True):
    """A project in a line; `died_today` counts the last 24 hours."""

    name: str
    runs: int
    running: int
    died_today: int
    last_at: float | None


class Projects(msgspec.Struct, frozen=True):
    """All of them, the one with the newest run first."""

    projects: list[Project]


class Attention(msgspec.Struct, frozen=True, kw_only=True):
    """A run that somebody should look at, and why: `died`, `stale` or `warning`."""

    because: str
    text: str
    run: RunBrief


class NeedsAttention(msgspec.Struct, frozen=True):
    """The newest first."""

    runs: list[Attention]


class AskedCrashes(msgspec.Struct, frozen=True):
    """Of one project, or of all; of so many of the newest deaths."""

    project: str | None = None
    limit: Limit = 500
    since: float = 0.0


class AskedDeaths(msgspec.Struct, frozen=True):
    """Of one project, or of all; of so many weeks, this one too, which begin on Monday `east_s` east of Greenwich."""

    project: str | None = None
    weeks: Annotated[int, msgspec.Meta(ge=1, le=520)] = 12
    by: By = "cause"
    east_s: Annotated[float, msgspec.Meta(ge=-DAY_S, le=DAY_S)] = 0.0


class NewDeath(msgspec.Struct, frozen=True):
    """A run that died, and the verdict in one sentence, where there is one."""

    run: RunBrief
    title: str


class Deaths(msgspec.Struct, frozen=True, kw_only=True):
    """What died of how many runs that ended in some weeks, and what that cost.

    `weeks` has when each began; shares and hosts with the most come first.
    """

    weeks: list[float]
    runs: int
    deaths: int
    hours_lost: float
    shares: list[Share]
    hosts: list[FaultyHost]
    newest: list[NewDeath]


class Group(msgspec.Struct, frozen=True):
    """Runs that died of the same cause at the same place in the program, or on the same host where none is known."""

    cause: str
    place: str
    runs: list[RunBrief]
    hours_lost: float
    last_at: float


class Crashes(msgspec.Struct, frozen=True):
    """The group with the most hours first."""

    groups: list[Group]


def list_projects(visit: Visit, asked: Nothing) -> Projects:
    """All projects with how many runs they have"""
    projects = [_project(visit, name, count) for name, count in visit.runs.projects().items()]
    return Projects(sorted(projects, key=lambda each: -(each.last_at or 0)))


def needs_attention(visit: Visit, asked: Nothing) -> NeedsAttention:
    """Runs that died within a day, are late, or have warned"""
    recent = All((_DEAD, Compare("ended_at", ">", visit.services.now() - DAY_S)))
    found = [("died", row.cause or row.state, row) for row in _deaths(visit, recent)]
    for row in _find(visit, Compare("state", "=", RUNNING), MOST_ALIVE):
        if row.is_stale:
            found.append(("stale", "its heartbeats are late", row))
        elif (text := _warning(visit, row.id)) is not None:
            found.append(("warning", text, row))
    return NeedsAttention(
        [Attention(because=because, text=text, run=brief_of(row)) for because, text, row in found[:MOST_SHOWN]]
    )


def list_crashes(visit: Visit, asked: AskedCrashes) -> Crashes:
    """Deaths by cause and place, with the hours that they cost"""
    where = All((_DEAD, *_of_project(asked.project), *_ended_since(asked.since)))
    grouped: dict[tuple[str, str], list[RunBrief]] = {}
    for row in _deaths(visit, where, asked.limit):
        grouped.setdefault((row.cause or "unknown", _place(visit, row)), []).append(brief_of(row))
    groups = [
        Group(
            cause,
            place,
            runs,
            hours_lost=sum(run.duration_s for run in runs) / 3600,
            last_at=max(run.ended_at or run.started_at for run in runs),
        )
        for (cause, place), runs in grouped.items()
    ]
    return Crashes(sorted(groups, key=lambda group: -group.hours_lost))


def list_deaths(visit: Visit, asked: AskedDeaths) -> Deaths:
    """What died in some weeks, of what and where, and the hours that it cost"""
    starts = week_starts(visit.services.now(), asked.weeks, east_s=asked.east_s)
    among = (*_of_project(asked.project), *_ended_since(starts[0]))
    deaths = _deaths(visit, All((_DEAD, *among)), MOST_COUNTED)
    return Deaths(
        weeks=starts,
        runs=_count(visit, All(among)),
        deaths=len(deaths),
        hours_lost=hours_lost(deaths),
        shares=shares(deaths, starts, by=asked.by),
        hosts=faulty_hosts(deaths),
        newest=[NewDeath(brief_of(row), _title(visit, row)) for row in deaths[:MOST_NEW]],
    )


def _of_project(project: str | None) -> tuple[Filter, ...]:
    return () if project is None else (Compare("project", "=", project),)


def _ended_since(since: float) -> tuple[Filter, ...]:
    return (Compare("ended_at", ">=", since),) if since else ()


def _title(visit: Visit, row: RunRow) -> str:
    words = judged_words(visit.services.storage, row.id)
    explained = read_explanation(words[-1]) if words else None
    return explained.diagnosis.title if explained is not None else ""


def _project(visit: Visit, name: str, count: int) -> Project:
    is_of_it = Compare("project", "=", name)
    newest = _find(visit, is_of_it, 1, sort="started_at")
    recent = All((is_of_it, _DEAD, Compare("ended_at", ">", visit.services.now() - DAY_S)))
    return Project(
        name=name,
        runs=count,
        running=_count(visit, All((is_of_it, Compare("state", "=", RUNNING)))),
        died_today=_count(visit, recent),
        last_at=newest[0].started_at if newest else None,
    )


def _count(visit: Visit, where: Filter) -> int:
    return visit.runs.query(visit.services.question(where=where, count=0)).total or 0


def _find(visit: Visit, where: Filter, count: int = MOST_SHOWN, *, sort: str = "ended_at") -> list[RunRow]:
    order = (SortKey(sort, is_descending=True),)
    return visit.runs.query(visit.services.question(where=where, sort=order, count=count, is_counted=False)).runs


def _deaths(visit: Visit, where: Filter, count: int = MOST_SHOWN) -> list[RunRow]:
    return each_once(_find(visit, where, count))


def _warning(visit: Visit, run: str) -> str | None:
    now_ns = visit.services.clock.now_ns()
    for event in reversed(visit.services.storage.console.events(run, ["Alerted", "Warned"])):
        if now_ns - event.at_ns >= DAY_S * 1e9:
            continue
        if event.kind == "Warned" or event.fields.get("level") in WARNINGS:
            return str(event.fields.get("text" if event.kind == "Warned" else "title", ""))
    return None


def _place(visit: Visit, row: RunRow) -> str:
    for event in reversed(visit.services.storage.console.events(row.id, ["Raised"])):
        frames = event.fields.get("frames") or ()
        if event.fields.get("where", "main") == "main" and frames:
            last = frames[-1]
            return f"{str(last['file']).rpartition('/')[2]}:{last['line']} {last['function']}"
    return row.host


ROUTES = [
    Route(method="GET", path="/projects", touches="listing", answer=list_projects, result=Projects),
    Route(method="GET", path="/attention", touches="listing", answer=needs_attention, result=NeedsAttention),
    Route(method="GET", path="/crashes", touches="listing", answer=list_crashes, asked=AskedCrashes, result=Crashes),
    Route(method="GET", path="/deaths", touches="listing", answer=list_deaths, asked=AskedDeaths, result=Deaths),
]
