"""Whether a series grows into places where it never was, how fast, and when it will arrive somewhere."""

import math
from collections.abc import Sequence

import msgspec

from holter.guards.limits import Limits
from holter.guards.window import Window

LENGTHS_S = (24.0, 60.0, 180.0, 600.0, 2400.0, 7200.0)
"""A short window sees fast growth soon, a long one tells slow growth from noise."""
BINS = 12
_LEAST_BINS = 8
_LEAST_GROWING = 6
_MARGIN = 1.15


class Trend(msgspec.Struct, frozen=True):
    """Growth over one window, with the slopes between which the true one lies. Per second."""

    length_s: float
    slope: float
    least: float
    most: float
    rise: float
    """Over the window."""
    since_s: float

    def eta_s(self, room: float) -> float:
        """In how many seconds it will have grown by so much."""
        return room / self.slope if self.slope > 0 else math.inf


def forecast(window: Window, capacity: float, limits: Limits, /) -> Trend | None:
    """The trend that will pass the capacity first, of those that may be believed; None where none will in time.

    Only growth into places where the series never was counts, that does not slow down, and it is believed for a few
    times as long as it was seen.
    """
    found: list[tuple[float, Trend]] = []
    for length_s in LENGTHS_S:
        if not window.covers(length_s * 0.9):
            break
        share = next((least for most_s, least in limits.short_shares if length_s <= most_s), 0.0)
        if window.last < capacity * share:
            continue
        points = window.over(length_s, BINS)
        visited = window.highest_before(points[0][0]) if points else 0.0
        if not points or points[-1][1] < visited + limits.least_rise * capacity:
            continue
        trend = grows(points, length_s, limits, capacity=capacity)
        if trend is None:
            continue
        eta_s = trend.eta_s(capacity - window.last)
        if eta_s <= min(limits.horizon_s, limits.trust_times * length_s):
            found.append((eta_s, trend))
    if not found:
        return None
    # The longest window that says so knows best: it has seen the most of it, but for when it began.
    trend = found[-1][1]
    since_s = window.growing_since(trend.since_s, trend.slope * limits.lately)
    return msgspec.structs.replace(trend, since_s=since_s)


def grows(
    points: Sequence[tuple[float, float]], length_s: float, limits: Limits, /, *, capacity: float
) -> Trend | None:
    """Growth over the whole of a window, None where there is none, or where it slows down or has ended."""
    if len(points) < _LEAST_BINS:
        return None
    values = [value for _, value in points]
    rise = values[-1] - values[0]
    if rise < limits.least_rise * capacity:
        return None
    middle = len(values) // 2
    # Each half is as long as the other, whatever the number of values.
    first = (values[middle] - values[0]) / (points[middle][0] - points[0][0])
    second = (values[-1] - values[middle]) / (points[-1][0] - points[middle][0])
    half_s = (points[-1][0] - points[0][0]) / 2
    if second > limits.beginning * first or _will_stop(first, second, room=(capacity - values[-1]) / half_s):
        return None
    third = len(values) * 2 // 3
    tail = (values[-1] - values[third]) / max(1, len(values) - 1 - third)
    if second < limits.slowing * first or tail < limits.slowing * rise / (len(values) - 1):
        return None
    if not _still_grows(points, length_s / 4, least=limits.lately * rise / (points[-1][0] - points[0][0])):
        return None
    since_s = _begin(points, rise / (points[-1][0] - points[0][0]))
    growing = [point for point in points if point[0] >= since_s]
    slopes = _slopes(growing if len(growing) >= _LEAST_GROWING else points)
    slope = slopes[len(slopes) // 2]
    if slope <= 0:
        return None
    if not _is_steady(growing, slope, spread=limits.spread * rise):
        return None
    least, most = slopes[len(slopes) // 5], slopes[len(slopes) * 4 // 5]
    return Trend(length_s, slope, max(least, slope / 3), min(most, slope * 3), rise, since_s)


def _still_grows(points: Sequence[tuple[float, float]], lately_s: float, *, least: float) -> bool:
    """Whether the last part of it grew so much per second; values that lie close together hide that it has ended."""
    end_s, end = points[-1]
    at, value = next((point for point in reversed(points) if point[0] <= end_s - lately_s), points[0])
    return end - value >= least * (end_s - at)


def _is_steady(points: Sequence[tuple[float, float]], slope: float, *, spread: float) -> bool:
    """Whether the points lie near a line of this slope: bursts and first-time peaks don't."""
    heights = sorted(value - slope * at for at, value in points)
    middle = heights[len(heights) // 2]
    off = sorted(abs(height - middle) for height in heights)
    return off[len(off) // 2] <= spread and off[-1] <= 3 * spread


def _slopes(points: Sequence[tuple[float, float]]) -> list[float]:
    """Between all pairs of points, sorted: their middle is moved by no outlier."""
    return sorted(
        (late - early) / (then - before)
        for number, (before, early) in enumerate(points)
        for then, late in points[number + 1 :]
        if then > before
    )


def _will_stop(first: float, second: float, *, room: float) -> bool:
    """Whether growth that slows down as it did from the first half to the second ends before there is no room left."""
    ratio = second / first if first > 0 else 1.0
    return ratio < 1 and second * ratio / (1 - ratio) * _MARGIN < room


def _begin(points: Sequence[tuple[float, float]], slope: float) -> float:
    """When it began to grow: the last point before which it grew by less than a fifth of the slope."""
    for (before, early), (then, late) in zip(reversed(points[:-1]), reversed(points), strict=False):
        if late - early < slope * (then - before) / 5:
            return then
    return points[0][0]
