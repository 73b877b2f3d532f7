"""`holter.Histogram`: how many values lie where, as numbers."""

import bisect
import itertools
import math
from collections.abc import Sequence
from typing import Any

from holter.client.media.bundle import as_array, is_array, numpy
from holter.client.media.medium import Media, patient
from holter.errors import UsageError

BINS, MOST_BINS = 64, 512
Numbers = tuple[tuple[float, ...], float, float, tuple[float, ...]]


class Histogram(Media):
    """The distribution of values, or counts that somebody else made.

    Args:
        sequence: the values; what is not finite is left out.
        np_histogram: the counts and edges that `numpy.histogram` returned, instead.
        num_bins: equal parts between the smallest and the largest value.
    """

    kind = "histogram"

    @patient
    def __init__(self, sequence: Any = None, np_histogram: Any = None, num_bins: int = BINS) -> None:
        if not 1 <= num_bins <= MOST_BINS:
            raise UsageError(f"num_bins must be between 1 and {MOST_BINS}; got {num_bins}")
        if np_histogram is not None:
            self._numbers = _given(np_histogram)
        elif sequence is None:
            raise UsageError("a histogram needs values, or np_histogram=(counts, edges)")
        elif is_array(sequence):
            self._numbers = _of_array(as_array(sequence), num_bins)
        else:
            self._numbers = _of_list([float(each) for each in sequence], num_bins)

    def numbers(self) -> Numbers:
        """Counts, the lowest and the highest edge, and all edges where the parts are not equal."""
        return self._numbers

    @property
    def histogram(self) -> list[float]:
        """The counts."""
        return list(self._numbers[0])

    @property
    def bins(self) -> list[float]:
        """The edges, one more than counts."""
        counts, low, high, edges = self._numbers
        return list(edges) or [low + (high - low) * place / len(counts) for place in range(len(counts) + 1)]


def _given(told: Any) -> Numbers:
    counts, edges = ([float(each) for each in part] for part in told)
    if len(edges) != len(counts) + 1 or not counts:
        raise UsageError(f"np_histogram has one edge more than counts; got {len(counts)} counts and {len(edges)} edges")
    if len(counts) > MOST_BINS:
        raise UsageError(f"np_histogram has {len(counts):,} parts: {MOST_BINS} are the most")
    is_growing = all(one < other for one, other in itertools.pairwise(edges))
    if not all(map(math.isfinite, [*counts, *edges])) or not is_growing or min(counts) < 0:
        raise UsageError("np_histogram has counts and edges that are finite, no count below 0, and edges that grow")
    low, high = edges[0], edges[-1]
    even = (high - low) / len(counts)
    is_even = all(abs(low + even * place - edge) <= 1e-6 * even for place, edge in enumerate(edges))
    return tuple(counts), low, high, () if is_even else tuple(edges)


def _of_array(array: Any, bins: int) -> Numbers:
    np = numpy()
    values = array.reshape(-1)
    values = values if values.dtype.kind == "f" and values.dtype.itemsize >= 4 else values.astype(np.float64)
    low, high = (float(values.min()), float(values.max())) if values.size else (math.nan, math.nan)
    if not (math.isfinite(low) and math.isfinite(high)):
        values = values[np.isfinite(values)]
        if not values.size:
            raise UsageError("a histogram of no finite values")
        low, high = float(values.min()), float(values.max())
    low, high = _widened(low, high)
    if not 1e-30 < high - low < 1e38:  # beyond what floats of 32 bits can tell apart
        values = values.astype(np.float64)
    with np.errstate(all="ignore"):
        # Three times as fast as `numpy.histogram`, which also looks for values beside the range.
        places = ((values - values.dtype.type(low)) * values.dtype.type(bins / (high - low))).astype(np.int32)
    counts = np.bincount(np.clip(places, 0, bins - 1, out=places), minlength=bins)
    return tuple(counts.tolist()), low, high, ()


def _of_list(values: Sequence[float], bins: int) -> Numbers:
    finite = [each for each in values if math.isfinite(each)]
    if not finite:
        raise UsageError("a histogram of no finite values")
    low, high = _widened(min(finite), max(finite))
    edges = [low + (high - low) * place / bins for place in range(1, bins)]
    counts = [0] * bins
    for each in finite:
        counts[bisect.bisect_right(edges, each)] += 1
    return tuple(counts), low, high, ()


def _widened(low: float, high: float) -> tuple[float, float]:
    """As numpy has it: what is all the same lies in the middle."""
    if low == high:
        return low - 0.5, high + 0.5
    if not math.isfinite(high - low):
        raise UsageError(f"values from {low:g} to {high:g}: their range is no number")
    return low, high
