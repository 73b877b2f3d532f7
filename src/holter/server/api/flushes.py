"""The moments at which programs made their rows safe against the loss of the machine: each call of `flush()`."""

from typing import Annotated

import msgspec

from holter.server.transport.routing import Route, Visit

MOST_RUNS = 100
MOST_MARKS = 1000


class AskedFlushes(msgspec.Struct, frozen=True, kw_only=True):
    """Of some runs, separated by commas."""

    runs: Annotated[str, msgspec.Meta(max_length=10_000)]


class FlushesOfRun(msgspec.Struct, frozen=True):
    """One run's flushes in order, by time and by the last step before each; where there are many, some of them."""

    run: str
    total: int
    times: list[float]
    steps: list[int | None]


class Flushes(msgspec.Struct, frozen=True):
    """Runs that never flushed are left out."""

    runs: list[FlushesOfRun]


def flushes(visit: Visit, asked: AskedFlushes) -> Flushes:
    """When `flush()` was called: at most 1,000 moments of each run, evenly chosen, the last one always there"""
    wanted = dict.fromkeys(run for run in asked.runs.split(",") if run)
    found = (_of_run(visit, run) for run in list(wanted)[:MOST_RUNS])
    return Flushes([each for each in found if each is not None])


def _of_run(visit: Visit, run: str) -> FlushesOfRun | None:
    events = visit.services.storage.console.events(run, ["Flushed"])
    if not events:
        return None
    every = -(-len(events) // MOST_MARKS)
    shown = events[::-every][::-1]
    # The record has the step that came next.
    steps = [None if (step := event.fields.get("step")) is None else step - 1 for event in shown]
    return FlushesOfRun(run, len(events), [event.at_ns / 1e9 for event in shown], steps)


ROUTES = [Route(method="GET", path="/flushes", touches="runs", answer=flushes, asked=AskedFlushes, result=Flushes)]
