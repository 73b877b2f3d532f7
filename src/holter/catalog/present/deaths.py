"""The death of a notebook's kernel as its owner wants to know it: the verdict, the cell, the memory, the output."""

import time
from collections.abc import Sequence

import msgspec

from holter.catalog.catalog import Catalog
from holter.catalog.judge.inquiry import inquire
from holter.catalog.judge.verdict import explain
from holter.catalog.read.fatal_cell import fatal_cell, told_by_cells
from holter.catalog.read.loaded_run import LoadedRun, last_seen_ns
from holter.catalog.read.samples import OWN, read_samples
from holter.journal.rundir import list_segments
from holter.model.records import CellStarted, HeldVariable
from holter.model.state import FINISHED, RUNNING
from holter.model.verdicts import CauseMark, MemoryLimit

MOST_POINTS = 120


class Curve(msgspec.Struct, frozen=True):
    """The memory of the kernel and its children until its death, against the least that anything allowed them."""

    points: tuple[tuple[float, float], ...]
    """Seconds before the end (0 and below), and bytes."""
    limit: MemoryLimit | None


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """All that a card shows. Times are seconds since 1970."""

    run: str
    name: str
    state: str
    cause: str
    confidence: float
    title: str
    advice: tuple[str, ...]
    candidates: tuple[str, ...]
    ended_at: float
    now: float
    cell: CellStarted | None
    """The one that was running; None where none was, or nobody saw."""
    has_seen_cells: bool = True
    """Somebody was inside the kernel who saw its cells."""
    cell_s: float
    curve: Curve | None
    variables: tuple[HeldVariable, ...]
    """The largest when the last cell had ended."""
    output: tuple[str, ...]
    """The end of what the cell printed."""
    stack: tuple[str, ...]
    """Where it was, as far as anybody could write that down."""
    mark: CauseMark | None = None
    """What a person says that it died of."""


def find_death(catalog: Catalog, runs: Sequence[str]) -> Death | None:
    """How the last of these runs died; None where it ended well or still runs. Takes a second or two.

    Raises NoRun, JournalError, OSError.
    """
    loaded = inquire(catalog.load(runs[-1]))
    if loaded.row.state in (RUNNING, FINISHED):
        return None
    return death_of(loaded, now=time.time())


def death_of(loaded: LoadedRun, *, now: float) -> Death:
    """The same of a run that is loaded already."""
    explanation = explain(loaded)
    diagnosis = explanation.diagnosis
    told, cell = told_by_cells(loaded.digests), fatal_cell(loaded)
    ended_ns = loaded.by_itself.ended_at_ns or max(last_seen_ns(each, loaded.digests) for each in loaded.digests)
    return Death(
        run=loaded.row.id,
        name=loaded.row.name,
        state=loaded.row.state,
        cause=diagnosis.cause or "unknown",
        confidence=diagnosis.confidence,
        title=diagnosis.title,
        advice=diagnosis.advice,
        candidates=diagnosis.candidates if diagnosis.cause == "unknown" else (),
        ended_at=ended_ns / 1e9,
        now=now,
        cell=cell,
        has_seen_cells=told is not None,
        cell_s=max(0, ended_ns - cell.at_ns) / 1e9 if cell is not None else 0.0,
        curve=_curve(loaded, explanation.memory_limit, ended_ns=ended_ns),
        variables=told.cell_ended.variables if told is not None and told.cell_ended is not None else (),
        output=explanation.printed,
        stack=explanation.stack.lines,
        mark=loaded.row.cause_mark,
    )


def _curve(loaded: LoadedRun, limit: MemoryLimit | None, *, ended_ns: int) -> Curve | None:
    try:
        segments = list_segments(loaded.row.directory)
        samples = read_samples(loaded.digests, segments, host=loaded.row.host)
    except OSError:
        return None
    points = [
        ((row.at_ns - ended_ns) / 1e9, float(value))
        for row in samples.last
        # A process that is about to be gone has no memory any more.
        if row.at_ns <= ended_ns and isinstance(value := row.values.get(OWN), int | float) and value > 0
    ]
    return Curve(tuple(_thinned(points)), limit) if len(points) >= 2 else None


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Of each stretch the highest point, and the last one as it is."""
    stride = -(-len(points) // MOST_POINTS)
    kept = [max(points[at : at + stride], key=lambda point: point[1]) for at in range(0, len(points) - 1, stride)]
    return [*kept, points[-1]]
