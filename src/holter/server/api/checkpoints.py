"""From which checkpoints a run can go on."""

import msgspec

from holter.catalog.read.going_on import checkpoints_in, way_on
from holter.server.api.runs import AskedRun
from holter.server.transport.routing import Route, Visit

MOST = 200


class CheckpointJson(msgspec.Struct, frozen=True):
    """A checkpoint; with `trouble` it is torn or gone, and never chosen."""

    step: int | None
    at: float
    bytes: int
    path: str
    artifact: str
    saver: str
    metrics: str
    trouble: str


class RunCheckpoints(msgspec.Struct, frozen=True):
    """The newest 200, oldest first; `last` is the place of the one to go on from, below zero for none."""

    checkpoints: list[CheckpointJson]
    last: int
    command: str


def list_checkpoints(visit: Visit, asked: AskedRun) -> RunCheckpoints:
    """The checkpoints of a run, and how to go on from the last whole one"""
    loaded = visit.services.verdicts.load(asked.run)
    is_here = visit.services.settings.kind == "ui"  # else the paths are whatever others have sent
    found, way = checkpoints_in(loaded, is_here=is_here)[-MOST:], way_on(loaded, is_here=is_here)
    told = [
        CheckpointJson(c.step, c.at_ns / 1e9, c.bytes, c.path, c.artifact, c.saver, c.metrics, c.trouble) for c in found
    ]
    last = found.index(way.checkpoint) if way is not None and way.checkpoint in found else -1
    return RunCheckpoints(told, last, way.command if way is not None else "")


ROUTES = [
    Route(
        method="GET",
        path="/runs/{run}/checkpoints",
        touches="run",
        answer=list_checkpoints,
        asked=AskedRun,
        result=RunCheckpoints,
    )
]
