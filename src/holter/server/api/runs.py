"""Runs: the table, one run with all that is known of it, what people change about it, its removal."""

import time
from functools import partial
from typing import Annotated, Any

import msgspec

from holter.catalog.change.command_journal import as_command, write_down
from holter.catalog.change.removal import UNTOUCHED_S, protection
from holter.catalog.change.trash import weigh
from holter.catalog.read.going_on import command_to_go_on
from holter.catalog.read.loaded_run import MAIN, LoadedRun, outcome_of_attempt
from holter.errors import NoRun, Refused, UsageError
from holter.journal.digest import Digest
from holter.model.amending import Amended
from holter.model.masking import Masking
from holter.model.metric_definitions import MetricDefinition
from holter.model.record import Record
from holter.model.records import KERNEL, Alerted, Edited
from holter.model.run_row import COLOURS, Mark, RunRow
from holter.model.state import RUNNING, UNREADABLE, Outcome
from holter.model.verdicts import CauseMark
from holter.server.domain.removal import hide, remove_run
from holter.server.domain.services import Services
from holter.server.query.briefs import RunBrief, brief_of, marks_of
from holter.server.transport.routing import Nothing, Route, Visit
from holter.storage.filter_text import parse_query
from holter.storage.filters import All, Among, Compare, Filter, Not
from holter.storage.run_fields import COLUMNS, PREFIXES
from holter.storage.runs import PLAIN_FIELDS
from holter.wire.odd_numbers import in_words

# It takes a sidecar about a second to ask all who may know why its run died; much longer on a busy machine.
LAST_WORDS_S, POLL_S = 10.0, 0.1

Text = Annotated[str, msgspec.Meta(max_length=4096)]
Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


class AskedTable(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs, in which order, which page, and which columns beside the usual ones, separated by commas.

    `without` names runs that are left out, by their ids.
    """

    project: str | None = None
    filter: Annotated[str, msgspec.Meta(max_length=4_000)] = ""
    without: Text = ""
    sort: Text = ""
    offset: Count = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 50
    columns: Annotated[str, msgspec.Meta(max_length=4_000)] = ""


class RunTable(msgspec.Struct, frozen=True):
    """A page of runs, and how many there are in all."""

    total: int
    runs: list[RunBrief]


class AskedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    run: str


class AskedRemoval(msgspec.Struct, frozen=True, kw_only=True):
    """One run; with `force` also one whose end is not certain, because nothing is heard of its machine any more.

    With `undo` whoever deletes it can have it back for ten minutes, where that is possible.
    """

    run: str
    force: bool = False
    undo: bool = False


class Removed(msgspec.Struct, frozen=True):
    """A run is gone; `is_kept` where it can be had back for ten minutes."""

    is_kept: bool = False


class Attempt(msgspec.Struct, frozen=True):
    """One try of a run."""

    attempt: int
    started_at: float
    ended_at: float | None
    state: str
    host: str
    ranks: int


class Warned(msgspec.Struct, frozen=True):
    """Something that asked for attention."""

    at: float
    level: str
    title: str
    text: str


class RunDetail(RunBrief, kw_only=True):
    """A run with all that is known of it beside its points; of one that is `unreadable`, what its row says."""

    config: dict[str, Any]
    summary: dict[str, Any]
    notes: str
    entity: str
    because: str
    directory: str
    facts: dict[str, Any]
    command: list[str]
    git: dict[str, Any]
    attempts: list[Attempt]
    marks: list[Mark]
    alerts: list[Warned]
    own_state: str
    """The state without what people said."""
    has_console: bool
    masked: dict[str, int]
    """How many secrets were hidden in what was recorded, by kind and place."""
    keys: int
    seq: int
    resume_command: str
    metrics: dict[str, MetricDefinition]
    """What the program said of its metrics: x axis, summary, which way is better."""
    sent_by: str = ""
    """The user who sent it; empty for one that was recorded here."""
    cause_mark: CauseMark | None = None
    """What a person says that it died of."""


class Edits(msgspec.Struct, frozen=True, kw_only=True):
    """What people change; what is left out stays."""

    run: str
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=256)] | None = None
    notes: Annotated[str, msgspec.Meta(max_length=20_000)] | None = None
    tags: Annotated[list[Tag], msgspec.Meta(max_length=100)] | None = None
    colour: Annotated[int, msgspec.Meta(ge=0, lt=COLOURS)] | None = None
    """Of its lines: a slot of the palette."""
    config: dict[str, Any] | None = None
    """Values that hold over those that the program set."""
    summary: dict[str, Any] | None = None
    """The same of the summary."""


def list_runs(visit: Visit, asked: AskedTable) -> RunTable:
    """Runs that fit a filter, such as `state = crashed and config.lr > 1e-4`, sorted by any field"""
    columns = [column.strip() for column in asked.columns.split(",") if column.strip()]
    for column in columns:
        if column not in COLUMNS and not column.startswith(PREFIXES):
            raise UsageError(f"no column {column!r}: there are {', '.join(PLAIN_FIELDS)}, config.… and summary.…")
    services = visit.services
    where: list[Filter] = [] if asked.project is None else [Compare("project", "=", asked.project)]
    if asked.without:
        where.append(Not(Among("id", tuple(asked.without.split(",")))))
    query = services.question(where=All(tuple(where)) if where else None, start=asked.offset, count=asked.limit)
    page = visit.runs.query(parse_query(query, where=asked.filter, sort=asked.sort))
    return RunTable(page.total or 0, [brief_of(row, columns) for row in page.runs])


def show_run(visit: Visit, asked: AskedRun) -> RunDetail:
    """One run with all that is known of it beside its points"""
    services = visit.services
    row = services.storage.runs.get(asked.run)
    if row is None:
        raise NoRun(f"there is no run {asked.run[:128]!r}: it was deleted, or it has not begun yet")
    return RunDetail(
        **msgspec.structs.asdict(brief_of(row.at(services.clock.now_ns(), services.lateness))),
        **(_untold(row) if row.state == UNREADABLE else _told(services.verdicts.load(asked.run), services)),
        config=in_words(row.config),
        summary=in_words(row.summary),
        notes=row.notes,
        entity=row.entity,
        directory=services.verdicts.directory(asked.run) if visit.who.scope == "admin" else "",
        marks=marks_of(services.storage, asked.run),
        has_console=bool(services.storage.console.transcripts(asked.run)),
        keys=len(services.storage.series.list_series(asked.run)),
        seq=services.changes.seq_of("rows", asked.run),
        sent_by=owner.user if (owner := services.arrivals.owner(asked.run)) is not None else "",
    )


def _told(loaded: LoadedRun, services: Services) -> dict[str, Any]:
    """What the journals say of a run beside its row."""
    is_kernel = loaded.row.kind == KERNEL
    return {
        "because": loaded.outcome.because,
        "facts": in_words(loaded.facts),
        "command": loaded.command,
        "git": in_words(loaded.facts.get("git")) or {},
        "attempts": _attempts(loaded, services),
        "alerts": [Warned(each.at_ns / 1e9, each.level, each.title, each.text) for each in loaded.said(Alerted)],
        "own_state": loaded.by_itself.state,
        "masked": loaded.row.masked,
        "metrics": loaded.row.metrics,
        "cause_mark": loaded.row.cause_mark,
        "resume_command": "" if is_kernel else command_to_go_on(loaded, is_here=services.settings.kind == "ui"),
    }


def _untold(row: RunRow) -> dict[str, Any]:
    nothing: dict[str, Any] = {"facts": {}, "command": [], "git": {}, "attempts": [], "alerts": [], "masked": {}}
    nothing["metrics"] = {}
    return {**nothing, "because": row.because, "own_state": row.state, "resume_command": ""}


def edit_run(visit: Visit, asked: Edits) -> Nothing:
    """Give a run another name, other tags or notes, another colour, or other values"""
    loaded = visit.services.verdicts.load(asked.run)
    edited = Edited(
        at_ns=visit.services.clock.now_ns(),
        by=visit.who.name,
        name=asked.name,
        notes=asked.notes,
        tags=tuple(asked.tags) if asked.tags is not None else None,
        colour=asked.colour,
    )
    _write(loaded, edited)
    values = {part: value for part in ("config", "summary") if (value := getattr(asked, part))}
    if values:
        _write(loaded, Masking().record(Amended(at_ns=edited.at_ns, by=edited.by, values=values)))
    visit.services.follower.take_in(asked.run)
    return Nothing()


def delete_run(visit: Visit, asked: AskedRemoval) -> Removed:
    """Remove a run; not one that is alive. What is still sent of it is refused"""
    loaded = _when_settled(visit, asked.run)
    is_settled = loaded.is_settled or (asked.force and loaded.row.state != RUNNING)
    # A person has looked at it: nobody has to wait until it was left alone for a while.
    because = protection(weigh(loaded.row, is_settled=is_settled), time.time() + UNTOUCHED_S)
    if because:
        do = "stop it first; force=true for one that is lost"
        if not is_settled and _is_dead(loaded):
            because, do = "its sidecar, or a worker of it, still adds to it", "try again in a moment"
        raise Refused(409, f"run {asked.run} stays", why=because, do=do)
    if asked.undo:
        return Removed(hide(visit.services, asked.run, by=visit.who.name, user=visit.who.user))
    remove_run(visit.services, asked.run, by=visit.who.name)
    return Removed()


def _when_settled(visit: Visit, run: str) -> LoadedRun:
    """The run; where it died a moment ago, as soon as its sidecar has said its last words, or after a few seconds."""
    deadline = time.monotonic() + LAST_WORDS_S
    while True:
        loaded = visit.services.verdicts.load(run)
        if loaded.is_settled or not _is_dead(loaded) or time.monotonic() > deadline:
            return loaded
        time.sleep(POLL_S)


def _is_dead(loaded: LoadedRun) -> bool:
    return loaded.outcome.is_final and loaded.row.state != RUNNING


def _write(loaded: LoadedRun, record: Record) -> None:
    if not write_down(loaded.row.directory, [record], opened=as_command(loaded.row.id, loaded.row.attempt)):
        raise Refused(503, "it could not be written down", why="the disk did not take it", do="make room", retry_s=30)


def _attempts(loaded: LoadedRun, services: Services) -> list[Attempt]:
    by_number: dict[int, list[Digest]] = {}
    for each in loaded.digests:
        if each.opened.writer in MAIN:
            by_number.setdefault(each.opened.attempt, []).append(each)
    before = partial(outcome_of_attempt, loaded, now_ns=services.clock.now_ns(), lateness=services.lateness)
    return [
        _attempt(number, found, loaded.outcome if number == loaded.row.attempt else before(number))
        for number, found in sorted(by_number.items())
    ]


def _attempt(number: int, found: list[Digest], outcome: Outcome, /) -> Attempt:
    return Attempt(
        attempt=number,
        started_at=min(each.opened.at_ns for each in found) / 1e9,
        ended_at=outcome.ended_at_ns / 1e9 if outcome.ended_at_ns else None,
        state=outcome.state,
        host=found[0].opened.host,
        ranks=len({each.opened.rank for each in found}),
    )


ROUTES = [
    Route(method="GET", path="/runs", touches="listing", answer=list_runs, asked=AskedTable, result=RunTable),
    Route(method="GET", path="/runs/{run}", touches="run", answer=show_run, asked=AskedRun, result=RunDetail),
    Route(
        method="PATCH",
        path="/runs/{run}",
        touches="run",
        act="run-edited",
        answer=edit_run,
        asked=Edits,
        needs="write",
        body="json",
    ),
    Route(
        method="DELETE",
        path="/runs/{run}",
        touches="own run",
        act="run-deleted",
        answer=delete_run,
        asked=AskedRemoval,
        result=Removed,
        needs="write",
    ),
]
