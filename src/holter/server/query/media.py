"""Media of many runs: what there is, what belongs to a step, and histograms over steps as one picture."""

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from holter.model.media_records import MediaItem
from holter.server.ingest.media import HISTOGRAM, Histogram, histogram_of, items_of
from holter.storage.media import MediaEntry, MediaQuery, MediaStore

MOST_ENTRIES = 20_000
MOST_SHARED = 4
"""So many times as wide as the usual one may a range be that heat maps of several runs share."""
Numbers = npt.NDArray[np.float64]
Told = Sequence[tuple[int, Histogram]]
"""Histograms by their steps."""


class ShownItem(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a run: `path` is what `/runs/{run}/files/{path}` takes."""

    path: str
    ext: str
    size: int
    small: str = ""
    """The path of its small picture; empty where there is none."""
    meta: dict[str, Any] = {}
    """What else is known: `caption`, `width`, `height`, `boxes`, `masks` (each with a `path`), `columns`, …"""


class ShownEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has under a key at a step; `histogram` instead of items where the type is that."""

    run: str
    key: str
    step: int
    at: float
    type: str
    items: list[ShownItem] = []
    histogram: Histogram | None = None


class HeatMap(msgspec.Struct, frozen=True, kw_only=True):
    """Histograms over steps: a column for each part of the steps, a row of `counts` for each of equal parts of values.

    `counts[column][row]` is the share of the values of that column; columns without a histogram are left out.
    """

    run: str
    key: str
    low: float
    high: float
    rows: int
    steps: list[int]
    """The last step of each column."""
    counts: list[list[float]]


def shown(run: str, entry: MediaEntry) -> ShownEntry:
    """An entry as the page has it."""
    if entry.type == HISTOGRAM:
        histogram = histogram_of(entry)
        return ShownEntry(
            run=run, key=entry.key, step=entry.step, at=entry.logged_ns / 1e9, type=entry.type, histogram=histogram
        )
    items = [_item(each) for each in items_of(entry)]
    return ShownEntry(run=run, key=entry.key, step=entry.step, at=entry.logged_ns / 1e9, type=entry.type, items=items)


def _item(item: MediaItem) -> ShownItem:
    meta = item.about()
    small = f"media/{item.digest}.small.webp" if meta.pop("small", False) else ""
    return ShownItem(path=item.path, ext=item.ext, size=item.size, small=small, meta=meta)


def heat_maps(store: MediaStore, runs: Sequence[str], *, query: MediaQuery, columns: int, rows: int) -> list[HeatMap]:
    """At most so many columns of the histograms of a key for each run that has some; all of one range."""
    told = {run: found for run in runs if (found := _sound_ones(store, run, query))}
    ranges = [_range_of(each) for each in told.values()]
    if not ranges:
        return []
    shared = min(low for low, _ in ranges), max(high for _, high in ranges)
    # One that diverged would flatten the others: then each has its own.
    usual = statistics.median_low(high - low for low, high in ranges)
    is_shared = shared[1] - shared[0] <= MOST_SHARED * usual
    return [
        _heat_map(run, query.key, each, ends=shared if is_shared else own, size=(columns, rows))
        for (run, each), own in zip(told.items(), ranges, strict=True)
    ]


def _sound_ones(store: MediaStore, run: str, query: MediaQuery) -> Told:
    found = [(entry.step, histogram_of(entry)) for entry in store.select(run, query) if entry.type == HISTOGRAM]
    return [(step, each) for step, each in found if _is_sound(each)]


def _range_of(told: Told) -> tuple[float, float]:
    ends = [_ends(each) for _, each in told]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _heat_map(run: str, key: str, told: Told, /, *, ends: tuple[float, float], size: tuple[int, int]) -> HeatMap:
    (low, high), (columns, rows) = ends, size
    columns = min(columns, len(told))
    places = np.arange(len(told)) * columns // len(told)
    counts = np.zeros((columns, rows))
    np.add.at(counts, places, _spread([each for _, each in told], np.linspace(low, high, rows + 1)))
    steps = np.zeros(columns, np.int64)
    steps[places] = [step for step, _ in told]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    return HeatMap(
        run=run, key=key, low=low, high=high, rows=rows, steps=steps.tolist(), counts=np.round(shares, 6).tolist()
    )


def _spread(histograms: Sequence[Histogram], edges: Numbers) -> Numbers:
    """The counts of each between other edges, as if its values lay evenly in each part."""
    spread = np.zeros((len(histograms), len(edges) - 1))
    widths: dict[int, list[int]] = {}
    for place, each in enumerate(histograms):
        if each.edges:
            total = np.concatenate([[0.0], np.cumsum(each.counts)])
            spread[place] = np.diff(np.interp(edges, each.edges, total, left=0.0, right=total[-1]))
        else:
            widths.setdefault(len(each.counts), []).append(place)
    # Those of equal parts all at once: a run has one for each of ten thousand steps.
    for width, places in widths.items():
        total = np.zeros((len(places), width + 1))
        np.cumsum([histograms[place].counts for place in places], axis=1, out=total[:, 1:])
        low, high = np.array([_ends(histograms[place]) for place in places]).T[..., None]
        at = np.clip((edges - low) * (width / (high - low)), 0.0, width)
        before = np.minimum(at.astype(np.int64), width - 1)
        lower, upper = np.take_along_axis(total, before, 1), np.take_along_axis(total, before + 1, 1)
        spread[places] = np.diff(lower + (at - before) * (upper - lower), axis=1)
    return spread


def _ends(histogram: Histogram) -> tuple[float, float]:
    return (histogram.edges[0], histogram.edges[-1]) if histogram.edges else (histogram.low, histogram.high)


def _is_sound(histogram: Histogram) -> bool:
    low, high = _ends(histogram)
    is_finite = all(map(math.isfinite, (low, high, *histogram.edges))) and low < high
    is_growing = all(one < other for one, other in itertools.pairwise(histogram.edges))
    return is_finite and is_growing and min(histogram.counts) >= 0 and sum(histogram.counts) < math.inf
