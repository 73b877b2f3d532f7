"""Metrics that only count, such as `epoch` and `global_step`: strictly up with one slope. Their charts say nothing."""

import re
from collections.abc import Sequence

import numpy as np

from holter.storage.series import Buckets, Floats, Line, SeriesReader, Window

_NAMED = re.compile(r"(^|[/_.])(epoch|steps?|iter|iterations?|samples|tokens|batches|batch_idx)$", re.IGNORECASE)
_PARTS = 8
_LEAST_PARTS = 3
_LEAST_POINTS = 50
_TOLERANCE = 0.02
"""How far the slope of a part may be from that of all, as a share."""
MOST_KEYS = 300
"""More are looked at only where their names say that they count."""


def counters_of(series: SeriesReader, runs: Sequence[str], *, keys: Sequence[str]) -> set[str]:
    """Those of the keys that only count, as the first of these runs that has enough of each shows."""
    wanted = [key for key in keys if len(keys) <= MOST_KEYS or _NAMED.search(key)]
    found: set[str] = set()
    for run in runs:
        if not wanted:
            break
        drawn = series.buckets([Line(run, key) for key in wanted], Window(_PARTS))
        told = {
            key: _counts(line, key) for key, line in zip(wanted, drawn, strict=True) if len(line.first) >= _LEAST_PARTS
        }
        found |= {key for key, counts in told.items() if counts}
        wanted = [key for key in wanted if key not in told]
    return found


def _counts(line: Buckets, key: str) -> bool:
    values = np.concatenate([line.low, line.high, line.final])
    is_named = _NAMED.search(key) is not None
    if not np.isfinite(values).all() or not (is_named or _seems_counted(line, values)):
        return False
    steps = (line.first.astype(np.float64) + line.last.astype(np.float64)) / 2
    rises, ways = np.diff(line.mean), np.diff(steps)
    if not (rises > 0).all() or not (ways > 0).all():
        return False
    whole = (line.mean[-1] - line.mean[0]) / (steps[-1] - steps[0])
    # Of a staircase, each part is off by less than a stair.
    stair = 1.0 if is_named else 0.0
    return bool((np.abs(rises - whole * ways) <= np.maximum(_TOLERANCE * whole * ways, stair)).all())


def _seems_counted(line: Buckets, values: Floats, /) -> bool:
    """Whole numbers, and so many that nothing but counting goes up as evenly."""
    return int(line.counts.sum()) >= _LEAST_POINTS and bool((values == np.round(values)).all())
