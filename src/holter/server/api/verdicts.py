"""Why a run ended, what people say about that, and the wish that it stops."""

import contextlib
from typing import Annotated, Any, Literal

import msgspec

from holter.catalog.change.marking import mark, mark_cause, unmark
from holter.errors import NoRun, Refused
from holter.journal.stop_request import StopRequest, write_stop_request
from holter.model.records import Raised
from holter.model.run_row import Mark
from holter.model.state import RUNNING
from holter.model.verdicts import CauseMark, Fact, FatalCell, RuledOut
from holter.probes.facts import SCRIPT_FILE
from holter.server.api.files import find_content
from holter.server.api.runs import AskedRun
from holter.server.query.briefs import marks_of
from holter.server.query.sources import RaisedAt, is_of_script, last_raised, raised_at
from holter.server.transport.routing import Nothing, Route, Visit

DeadState = Literal["finished", "failed", "crashed", "preempted"]


class UnseenJson(msgspec.Struct, frozen=True):
    """What could not be looked at, why, and how to make it so that it can."""

    what: str
    because: str
    remedy: str


class VerdictJson(msgspec.Struct, frozen=True):
    """What `holter why --json` prints."""

    run: str
    state: str
    cause: str | None
    confidence: float
    candidates: list[str]
    title: str
    evidence: list[Fact]
    advice: list[str]
    contributing: list[str]
    ruled_out: list[RuledOut]
    not_observable: list[UnseenJson]
    stack: list[str]
    """Where Python was at a fatal signal, a line for each frame."""
    grade: str = ""
    """How well the cause is supported: `named`, `counted`, `consistent`, `likely`, `inferred` or `remote`."""
    curves: list[str] = []
    """What shows the cause, the best first: a panel of the machine, `disk`, `metric` or `loss`."""
    cell: FatalCell | None = None
    """Of a notebook: the cell in which it ended."""
    cause_mark: CauseMark | None = None
    """What a person says that it died of."""


class NewMark(msgspec.Struct, frozen=True, kw_only=True):
    """The state that the run is to have, or what it died of (a cause, `other` or `none`), or both; and why."""

    run: str
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    state: DeadState | None = None
    cause: Annotated[str, msgspec.Meta(max_length=100)] | None = None


class Unmark(msgspec.Struct, frozen=True, kw_only=True):
    """Which word is taken back; left out, all."""

    run: str
    what: Literal["state", "cause"] | None = None


class Cause(msgspec.Struct, frozen=True):
    """A cause that a death can have, and what it means in one sentence."""

    cause: str
    in_short: str


class Causes(msgspec.Struct, frozen=True):
    """All of them."""

    causes: list[Cause]


class Marks(msgspec.Struct, frozen=True):
    """All that people said, the oldest first."""

    marks: list[Mark]


class StopWish(msgspec.Struct, frozen=True, kw_only=True):
    """Why it should stop."""

    run: str
    reason: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class Stopping(msgspec.Struct, frozen=True):
    """The wish is written down; the program is interrupted where its `init()` allowed that, and warned elsewhere."""

    asked: bool


def verdict(visit: Visit, asked: AskedRun) -> Any:
    """Why a run ended, as `holter why --json` has it"""
    return visit.services.verdicts.verdict(asked.run)


def raised(visit: Visit, asked: AskedRun) -> RaisedAt:
    """Where in its own code the program raised what ended it, with the lines around it where they were kept"""
    loaded = visit.services.verdicts.load(asked.run)
    found = last_raised(loaded.said(Raised))
    if found is None:
        return RaisedAt()
    script = None
    if found.frames and is_of_script(found.frames[-1], loaded.facts):
        with contextlib.suppress(NoRun, OSError):
            content = find_content(visit, asked.run, path=SCRIPT_FILE)
            script = content.read(0, content.size).decode("utf-8", "replace")
    return raised_at(found, script)


def mark_run(visit: Visit, asked: NewMark) -> Marks:
    """Say how a run that has ended is to be seen, or what it died of; the machine's own verdict stays visible"""
    if asked.state is None and asked.cause is None:
        raise Refused(400, "a mark needs a state or a cause")
    loaded = visit.services.verdicts.load(asked.run)
    if asked.cause is not None:
        mark_cause(loaded, asked.cause, reason=asked.reason, by=visit.who.name)
    if asked.state is not None:
        mark(loaded, asked.state, reason=asked.reason, by=visit.who.name)
    return _marks(visit, asked.run)


def unmark_run(visit: Visit, asked: Unmark) -> Marks:
    """Take back what people said: the machine's own verdict stands alone again"""
    loaded = visit.services.verdicts.load(asked.run)
    unmark(loaded, by=visit.who.name, what=[asked.what] if asked.what else ("state", "cause"))
    return _marks(visit, asked.run)


def list_causes(visit: Visit, asked: Nothing) -> Causes:
    """The causes that a death can have, for whoever says that another one was named wrongly"""
    from holter.diagnosis.loading import load_rules  # some fifty files, which only a run that died needs

    return Causes([Cause(rule.cause, rule.in_short) for rule in load_rules() if not rule.contributes])


def stop_run(visit: Visit, asked: StopWish) -> Stopping:
    """Ask a running run to stop"""
    loaded = visit.services.verdicts.load(asked.run)
    if loaded.row.state != RUNNING:
        raise Refused(409, f"run {asked.run} has ended already", why=loaded.outcome.because)
    wish = StopRequest(
        by=visit.who.name, at_ns=visit.services.clock.now_ns(), reason=asked.reason, attempt=loaded.row.attempt
    )
    visit.services.share(write_stop_request(loaded.row.directory, wish))
    return Stopping(asked=True)


def _marks(visit: Visit, run: str) -> Marks:
    """With the ones that were just written taken in."""
    visit.services.follower.take_in(run)
    return Marks(marks_of(visit.services.storage, run))


ROUTES = [
    Route(method="GET", path="/causes", touches="server", answer=list_causes, result=Causes),
    Route(method="GET", path="/runs/{run}/verdict", touches="run", answer=verdict, asked=AskedRun, result=VerdictJson),
    Route(method="GET", path="/runs/{run}/raised", touches="run", answer=raised, asked=AskedRun, result=RaisedAt),
    Route(
        method="POST",
        path="/runs/{run}/marks",
        touches="run",
        act="run-marked",
        answer=mark_run,
        asked=NewMark,
        result=Marks,
        needs="write",
        body="json",
    ),
    Route(
        method="DELETE",
        path="/runs/{run}/marks",
        touches="run",
        act="mark-removed",
        answer=unmark_run,
        asked=Unmark,
        result=Marks,
        needs="write",
    ),
    Route(
        method="POST",
        path="/runs/{run}/stop",
        touches="run",
        act="run-stopped",
        answer=stop_run,
        asked=StopWish,
        result=Stopping,
        needs="write",
        body="json",
    ),
]
