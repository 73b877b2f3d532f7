"""Tells which runs tell of one and the same death: a notebook's kernel, and the training that ran in it. Pure."""

from collections.abc import Sequence

from holter.model.records import KERNEL
from holter.model.run_row import RunRow
from holter.model.state import CRASHED

# Witnesses of one death hardly differ; one that could only be told by its last words does.
SAME_MOMENT_S, NEAR_S = 1.0, 15.0


def each_once(found: Sequence[RunRow]) -> list[RunRow]:
    """Dead runs in their order, one for each death: rather a training than its kernel, rather the newest."""
    kept: list[RunRow] = []
    for row in sorted(found, key=lambda row: (row.kind == KERNEL, -row.started_ns)):
        if not any(_is_same(row, other) for other in kept):
            kept.append(row)
    ids = {row.id for row in kept}
    return [row for row in found if row.id in ids]


def _is_same(one: RunRow, other: RunRow, /) -> bool:
    if not set(one.processes) & set(other.processes):
        return False
    apart_s = abs((one.ended_at or 0.0) - (other.ended_at or 0.0))
    if KERNEL in (one.kind, other.kind):
        return apart_s <= (NEAR_S if one.cause == other.cause else SAME_MOMENT_S)
    # Runs that fail by themselves in one process fail one after another, however fast.
    return one.state == other.state == CRASHED and apart_s <= SAME_MOMENT_S
