"""Sweeps: agents ask for trials and tell what became of them, people look and steer."""

from typing import Annotated, Any

import msgspec

from holter.errors import Refused, UsageError
from holter.server.transport.routing import Nothing, Route, Visit
from holter.sweeps.configuration import read_configuration
from holter.sweeps.present import SweepJson, SweepLine
from holter.sweeps.words import Answer, Asker, Said, Word

Id = Annotated[str, msgspec.Meta(max_length=100)]
Project = Annotated[str, msgspec.Meta(min_length=1, max_length=256, pattern=r"\S")]
Text = Annotated[str, msgspec.Meta(max_length=2000)]
ACTS = "pause, resume, stop, end (stop at once), allow (what did not fit), quarantine and lift (a host or GPU), bounds"


class AskedSweeps(msgspec.Struct, frozen=True, kw_only=True):
    """Of one project, or all."""

    project: Annotated[str, msgspec.Meta(max_length=256)] = ""


class SweepList(msgspec.Struct, frozen=True):
    """The newest first."""

    sweeps: list[SweepLine]


class NewSweep(msgspec.Struct, frozen=True, kw_only=True):
    """W&B's configuration, and where the runs go."""

    configuration: dict[str, Any]
    project: Project


class MadeSweep(msgspec.Struct, frozen=True):
    """The sweep that was begun."""

    id: str


class AskedSweep(msgspec.Struct, frozen=True, kw_only=True):
    """One sweep; with `importance` also how much each parameter matters, which takes a moment."""

    sweep: Id
    importance: bool = False


class ConfigurationJson(msgspec.Struct, frozen=True):
    """As agents need it."""

    configuration: dict[str, Any]


class AskedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """An agent wants a trial."""

    sweep: Id
    asker: Asker


class SaidWord(msgspec.Struct, frozen=True, kw_only=True):
    """An agent tells of its trial: that it lives, what it reached, how it ended."""

    sweep: Id
    word: Word


class Steering(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants of a sweep."""

    sweep: Id
    act: Id
    what: Text = ""
    """A host or GPU; of `bounds` a parameter."""
    reason: Text = ""
    bounds: tuple[float, float] | None = None


class NewTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Values of a trial to run; with a `value`, of one that ran before; or the number of one to run `again`."""

    sweep: Id
    params: dict[str, Any] = {}
    value: float | None = None
    of_run: Id = ""
    again: Annotated[int, msgspec.Meta(ge=0, le=1 << 40)] | None = None


class MadeTrial(msgspec.Struct, frozen=True):
    """Its number."""

    number: int


def list_sweeps(visit: Visit, asked: AskedSweeps) -> SweepList:
    """The sweeps of a project"""
    return SweepList(visit.services.sweeps.all(visit.rights, asked.project))


def begin_sweep(visit: Visit, asked: NewSweep) -> MadeSweep:
    """Begin a sweep"""
    if visit.rights.only is not None or not visit.rights.may_change(asked.project):
        raise Refused(403, f"you may not begin sweeps in {asked.project[:100]!r}", do="ask an admin for that right")
    try:
        configuration = read_configuration(asked.configuration)
        begun = visit.services.sweeps.begin(configuration, project=asked.project, by=visit.who.name)
    except UsageError as error:
        raise Refused(400, str(error)) from error
    visit.note("sweep-begun", sweep=begun, project=asked.project)
    return MadeSweep(begun)


def show_sweep(visit: Visit, asked: AskedSweep) -> SweepJson:
    """A sweep with its trials, agents and what did not fit"""
    with visit.services.sweeps.at(asked.sweep, visit.rights) as found:
        return found.show(with_importance=asked.importance)


def configuration_of_sweep(visit: Visit, asked: AskedSweep) -> ConfigurationJson:
    """What a sweep searches, and what its agents run"""
    with visit.services.sweeps.at(asked.sweep, visit.rights) as found:
        return ConfigurationJson(msgspec.to_builtins(found.configuration))


def ask_for_trial(visit: Visit, asked: AskedTrial) -> Answer:
    """Lease a trial to an agent"""
    with visit.services.sweeps.at(asked.sweep, visit.rights, to_change=True) as found:
        return found.ask(asked.asker)


def say_word(visit: Visit, asked: SaidWord) -> Said:
    """Renew the lease of a trial, report values, tell how it ended"""
    with visit.services.sweeps.at(asked.sweep, visit.rights, to_change=True) as found:
        return found.say(asked.word)


def steer_sweep(visit: Visit, asked: Steering) -> Nothing:
    """Pause, resume or stop a sweep, allow what did not fit, keep trials from a host or GPU, change bounds"""
    with visit.services.sweeps.at(asked.sweep, visit.rights, to_change=True) as found:
        try:
            found.change(asked.act, by=visit.who.name, what=asked.what, reason=asked.reason, bounds=asked.bounds)
        except UsageError as error:
            raise Refused(400, str(error), do=f"the acts are {ACTS}") from error
    return Nothing()


def add_trial(visit: Visit, asked: NewTrial) -> MadeTrial:
    """Enqueue a trial, take over one that ran before, or run one again"""
    with visit.services.sweeps.at(asked.sweep, visit.rights, to_change=True) as found:
        try:
            if asked.again is not None:
                return MadeTrial(found.again(asked.again, by=visit.who.name))
            return MadeTrial(found.add(asked.params, value=asked.value, run=asked.of_run))
        except UsageError as error:
            raise Refused(400, str(error)) from error


def _change(method: str, path: str, answer: Any, asked: Any, /, *, result: Any = Nothing, act: str = "") -> Route:
    return Route(
        method=method,
        path=path,
        touches="listing",
        answer=answer,
        asked=asked,
        result=result,
        needs="write",
        body="json",
        act=act,
    )


ROUTES = [
    Route(method="GET", path="/sweeps", touches="listing", answer=list_sweeps, asked=AskedSweeps, result=SweepList),
    Route(
        method="GET", path="/sweeps/{sweep}", touches="listing", answer=show_sweep, asked=AskedSweep, result=SweepJson
    ),
    Route(
        method="GET",
        path="/sweeps/{sweep}/configuration",
        touches="listing",
        answer=configuration_of_sweep,
        asked=AskedSweep,
        result=ConfigurationJson,
    ),
    _change("POST", "/sweeps", begin_sweep, NewSweep, result=MadeSweep),
    _change("POST", "/sweeps/{sweep}/ask", ask_for_trial, AskedTrial, result=Answer),
    _change("POST", "/sweeps/{sweep}/word", say_word, SaidWord, result=Said),
    _change("POST", "/sweeps/{sweep}/trials", add_trial, NewTrial, result=MadeTrial, act="trial-added"),
    _change("PATCH", "/sweeps/{sweep}", steer_sweep, Steering, act="sweep-steered"),
]
