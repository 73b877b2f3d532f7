"""Tells which runs tell of one and the same death: a notebook's kernel, and the training that ran in it. Pure."""

from collections.abc import Mapping, Sequence

from holter.model.records import KERNEL
from holter.model.state import CRASHED
from holter.server.query.briefs import RunBrief
from holter.storage.runs import RunRow

# Witnesses of one death hardly differ; one that could only be told by its last words does.
SAME_MOMENT_S, NEAR_S = 1.0, 15.0


def each_once(found: Sequence[RunBrief], rows: Mapping[str, RunRow]) -> list[RunBrief]:
    """Dead runs in their order, one for each death: rather a training than its kernel, rather the newest."""
    kept: list[RunBrief] = []
    for run in sorted(found, key=lambda run: (_is_kernel(rows.get(run.id)), -run.started_at)):
        if not any(_is_same(run, other, rows) for other in kept):
            kept.append(run)
    ids = {run.id for run in kept}
    return [run for run in found if run.id in ids]


def _is_same(one: RunBrief, other: RunBrief, rows: Mapping[str, RunRow], /) -> bool:
    mine, theirs = rows.get(one.id), rows.get(other.id)
    if mine is None or theirs is None or not set(mine.processes) & set(theirs.processes):
        return False
    apart_s = abs((one.ended_at or 0.0) - (other.ended_at or 0.0))
    if _is_kernel(mine) or _is_kernel(theirs):
        return apart_s <= (NEAR_S if one.cause == other.cause else SAME_MOMENT_S)
    # Runs that fail by themselves in one process fail one after another, however fast.
    return one.state == other.state == CRASHED and apart_s <= SAME_MOMENT_S


def _is_kernel(row: RunRow | None) -> bool:
    return row is not None and row.kind == KERNEL
