"""What the guards of a run warn of, and which of them nobody wants to hear."""

from typing import Annotated, Any

import msgspec

from holter.catalog.change.command_journal import as_command, write_down
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.spent_by import cost as cost_of
from holter.catalog.read.spent_by import peaks as peaks_of
from holter.catalog.read.warnings_of import is_open, silenced_guards
from holter.errors import Refused
from holter.guards.patrol import guard_ids, in_short
from holter.model.state import RUNNING
from holter.model.warning_records import Eased, Pressed, Silenced, Stood, Warned
from holter.server.api.runs import AskedRun
from holter.server.transport.routing import Route, Visit
from holter.wire.odd_numbers import in_words


class GuardWarning(msgspec.Struct, frozen=True, kw_only=True):
    """One warning; `eta_s`, with its range, counts from `at`."""

    guard: str
    subject: str
    at: float
    text: str
    advice: list[str]
    since: float | None
    eta_s: float | None
    eta_least_s: float | None
    eta_most_s: float | None
    is_open: bool
    """It is still so."""
    figures: dict[str, Any]


class GuardState(msgspec.Struct, frozen=True, kw_only=True):
    """One guard, and whether it has something to say."""

    guard: str
    in_short: str
    is_silenced: bool
    warnings: int
    is_open: bool


class PressedJson(msgspec.Struct, frozen=True, kw_only=True):
    """What was done because memory ran out."""

    at: float
    done: str
    what: str
    error: str


class PeakJson(msgspec.Struct, frozen=True, kw_only=True):
    """The most of one memory in one phase."""

    memory: str
    phase: str
    bytes: int
    at: float
    step: int | None
    cell: int | None


class CostJson(msgspec.Struct, frozen=True, kw_only=True):
    """Of holter's processes beside the program."""

    cpu_s: float
    wall_s: float


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The newest warnings first."""

    warnings: list[GuardWarning]
    guards: list[GuardState]
    pressed: list[PressedJson]
    peaks: list[PeakJson]
    """The highest memory of each phase."""
    cost: CostJson | None
    """What watching the run took of the processors, once somebody has counted."""


class NewSilence(msgspec.Struct, frozen=True, kw_only=True):
    """The guard that is to say nothing more about this run; `is_over`: it may speak again."""

    run: str
    guard: Annotated[str, msgspec.Meta(max_length=100)]
    is_over: bool = False


def show_health(visit: Visit, asked: AskedRun) -> Health:
    """What the guards of a run said, and what is still so"""
    return _health(visit.services.verdicts.load(asked.run))


def silence(visit: Visit, asked: NewSilence) -> Health:
    """Silence a guard for a run, or have it speak again"""
    if asked.guard not in guard_ids():
        raise Refused(400, f"there is no guard {asked.guard!r}", do=f"name one of {', '.join(guard_ids())}")
    loaded = visit.services.verdicts.load(asked.run)
    said = Silenced(at_ns=visit.services.clock.now_ns(), guard=asked.guard, by=visit.who.name, is_over=asked.is_over)
    if not write_down(loaded.row.directory, [said], opened=as_command(loaded.row.id, loaded.row.attempt)):
        raise Refused(503, "it could not be written down", why="the disk did not take it", do="make room", retry_s=30)
    visit.services.follower.take_in(asked.run)
    return _health(visit.services.verdicts.load(asked.run))


def _health(loaded: LoadedRun) -> Health:
    said: list[Warned] = loaded.said(Warned)
    stood = {str(each.pid) for each in loaded.said(Stood)}
    over: list[Eased] = loaded.said(Eased)
    is_alive = loaded.row.state == RUNNING
    found = [
        GuardWarning(
            guard=each.guard,
            subject=f"process {each.subject}" if each.subject in stood else each.subject,
            at=each.at_ns / 1e9,
            text=each.text,
            advice=list(each.advice),
            since=each.since_ns / 1e9 if each.since_ns is not None else None,
            eta_s=each.eta_s,
            eta_least_s=each.eta_least_s,
            eta_most_s=each.eta_most_s,
            is_open=is_alive and is_open(each, over),
            figures=in_words(each.figures),
        )
        for each in reversed(said)
    ]
    silenced = silenced_guards(loaded.digests)
    guards = [
        GuardState(
            guard=guard,
            in_short=in_short(guard),
            is_silenced=guard in silenced,
            warnings=sum(each.guard == guard for each in found),
            is_open=any(each.guard == guard and each.is_open for each in found),
        )
        for guard in guard_ids()
    ]
    pressed = [PressedJson(at=p.at_ns / 1e9, done=p.done, what=p.what, error=p.error) for p in loaded.said(Pressed)]
    peaks = [
        PeakJson(memory=p.memory, phase=p.phase, bytes=p.bytes, at=p.at_ns / 1e9, step=p.step, cell=p.cell)
        for p in peaks_of(loaded.digests)
    ]
    spent = cost_of(loaded.digests)
    cost = CostJson(cpu_s=spent.cpu_s, wall_s=spent.wall_s) if spent is not None else None
    return Health(warnings=found, guards=guards, pressed=pressed, peaks=peaks, cost=cost)


ROUTES = [
    Route(method="GET", path="/runs/{run}/health", touches="run", answer=show_health, asked=AskedRun, result=Health),
    Route(
        method="POST",
        path="/runs/{run}/silence",
        touches="run",
        act="guard-silenced",
        answer=silence,
        asked=NewSilence,
        result=Health,
        needs="write",
        body="json",
    ),
]
