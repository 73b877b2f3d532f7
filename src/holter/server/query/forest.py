"""A small random forest: how much worse it tells an outcome when a parameter is shuffled. Pure, and the same each time.

All trees grow side by side, a level at a time, so that a few large calls of numpy do the work.
"""

from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

BINS = 16
TREES = 64
DEPTH = 8
LEAST_IN_LEAF = 3
SHARE_SEEN = 0.632
SHARE_TRIED = 1 / 3
NOTHING = 1e-9


class Table(msgspec.Struct, frozen=True, eq=False):
    """A row for each run, a column for each parameter: codes from 0 to before `BINS`."""

    codes: Codes
    is_category: Flags
    """Of each column: its codes have no order."""


class Told(msgspec.Struct, frozen=True, eq=False):
    """What a forest makes of it, by runs that a tree has not seen."""

    explained: float
    """The share of the outcome's variance that it tells; below 0 it is worse than always saying the mean."""
    losses: Floats
    """For each column the share of the variance that is no longer told when its values are shuffled."""


class _Level(NamedTuple):
    """The nodes of all trees at one depth."""

    mean: Floats
    column: Codes
    """By which a node is split; -1 for a leaf."""
    is_left: Flags
    """Which codes of that column go left."""
    left: Codes
    """Where its left child is in the next level; the right one follows."""


def ask_forest(table: Table, outcome: Floats) -> Told:
    """Grow it and shuffle one column after the other."""
    rng = np.random.default_rng(0)
    runs, columns = table.codes.shape
    is_seen = rng.random((TREES, runs)).argsort(axis=1) < round(runs * SHARE_SEEN)
    levels = _grow(table, outcome, is_seen=is_seen, rng=rng)
    tree, run = np.nonzero(~is_seen)
    told = _tell(levels, table.codes[run], tree)
    variance = max(float(outcome.var()), NOTHING)
    answers = np.bincount(run, minlength=runs)
    together = np.bincount(run, told, minlength=runs) / np.maximum(1, answers)
    unexplained = np.mean((together - outcome)[answers > 0] ** 2) / variance
    error = np.mean((told - outcome[run]) ** 2)
    losses = np.empty(columns)
    for column in range(columns):
        shuffled = table.codes[run]
        shuffled[:, column] = rng.permutation(shuffled[:, column])
        losses[column] = (np.mean((_tell(levels, shuffled, tree) - outcome[run]) ** 2) - error) / variance
    return Told(1 - float(unexplained), losses)


def _tell(levels: list[_Level], codes: Codes, tree: Codes) -> Floats:
    """What each tree says of the run beside it."""
    told = np.empty(len(tree))
    rows, node = np.arange(len(tree)), tree
    for level in levels:
        column = level.column[node]
        is_end = column < 0
        told[rows[is_end]] = level.mean[node[is_end]]
        rows, node, column = rows[~is_end], node[~is_end], column[~is_end]
        node = level.left[node] + ~level.is_left[node, codes[rows, column]]
    return told


def _grow(table: Table, outcome: Floats, *, is_seen: Flags, rng: np.random.Generator) -> list[_Level]:
    node, run = np.nonzero(is_seen)
    levels: list[_Level] = []
    nodes = len(is_seen)
    for depth in range(DEPTH + 1):
        level = _split(table, outcome, members=(node, run), nodes=nodes, rng=rng, is_last=depth == DEPTH)
        levels.append(level)
        goes_on = level.column[node] >= 0
        node, run = node[goes_on], run[goes_on]
        if not len(node):
            break
        node = level.left[node] + ~level.is_left[node, table.codes[run, level.column[node]]]
        nodes = 2 * int((level.column >= 0).sum())
    return levels


def _split(
    table: Table,
    outcome: Floats,
    *,
    members: tuple[Codes, Codes],
    nodes: int,
    rng: np.random.Generator,
    is_last: bool,
) -> _Level:
    """Split each node by the best of some columns; members are the nodes and runs that belong together."""
    node, run = members
    sizes = np.bincount(node, minlength=nodes).astype(np.float64)
    sums = np.bincount(node, outcome[run], minlength=nodes)
    tried = _choose(nodes, table.codes.shape[1], rng)
    many = tried.shape[1]
    shape = (nodes, many, BINS)
    place = (np.arange(nodes * many).reshape(shape[:2])[node] * BINS) + table.codes[run[:, None], tried[node]]
    counts = np.bincount(place.ravel(), minlength=nodes * many * BINS).reshape(shape).astype(np.float64)
    each = np.repeat(outcome[run], many)
    totals = np.bincount(place.ravel(), each, minlength=counts.size).reshape(shape).astype(np.float64)
    order = _order(counts, totals, table.is_category[tried])
    below = np.take_along_axis(counts, order, axis=2).cumsum(axis=2)
    sum_below = np.take_along_axis(totals, order, axis=2).cumsum(axis=2)
    above, sum_above = sizes[:, None, None] - below, sums[:, None, None] - sum_below
    gain = sum_below**2 / np.maximum(below, 1) + sum_above**2 / np.maximum(above, 1)
    gain[(below < LEAST_IN_LEAF) | (above < LEAST_IN_LEAF)] = -np.inf
    best = gain.reshape(nodes, -1).argmax(axis=1)
    every = np.arange(nodes)
    which, cut = np.divmod(best, BINS)
    is_split = gain.reshape(nodes, -1)[every, best] > sums**2 / np.maximum(sizes, 1) + NOTHING
    if is_last:
        is_split[:] = False
    is_left = np.zeros((nodes, BINS), bool)
    np.put_along_axis(is_left, order[every, which], np.arange(BINS) <= cut[:, None], axis=1)
    return _Level(
        mean=sums / np.maximum(sizes, 1),
        column=np.where(is_split, tried[every, which], -1),
        is_left=is_left,
        left=2 * (np.cumsum(is_split) - 1),
    )


def _choose(nodes: int, columns: int, rng: np.random.Generator) -> Codes:
    """Some columns for each node, others for each."""
    many = max(1, round(columns * SHARE_TRIED))
    return rng.random((nodes, columns)).argpartition(many - 1, axis=1)[:, :many]


def _order(counts: Floats, totals: Floats, is_category: Flags) -> Codes:
    """Numbers by their size; categories by their mean outcome, in which order the best split of them is found."""
    by_mean = np.where(counts > 0, totals / np.maximum(counts, 1), np.inf).argsort(axis=2)
    return np.where(is_category[:, :, None], by_mean, np.arange(BINS))
