"""Cuts points into buckets. Pure; every engine may use it, so that charts look the same whatever keeps the points."""

import msgspec
import numpy as np
import numpy.typing as npt

from holter.storage.series import NAN, NEGATIVE_INFINITY, POSITIVE_INFINITY, Buckets, Floats, Ints, Marks

Places = Ints | Floats

GROUP = 64
"""How many points one group of the pyramid has; the last one of a chunk may have fewer."""


class Spans(msgspec.Struct, frozen=True, eq=False):
    """Points or groups of neighbouring points, ordered along an axis: from `first` to `last` each.

    `low`, `high` and `total` are those of the finite values. Without counts each span is one finite point.
    """

    first: Places
    last: Places
    low: Floats
    high: Floats
    total: Floats
    final: Floats
    counts: Ints | None = None
    finite: Ints | None = None
    marks: Marks | None = None


def spans_of_points(places: Places, values: Floats) -> Spans:
    """Each point as a span of its own."""
    is_finite = np.isfinite(values)
    if is_finite.all():
        return Spans(places, places, values, values, values, values)
    return Spans(
        places,
        places,
        np.where(is_finite, values, np.inf),
        np.where(is_finite, values, -np.inf),
        np.where(is_finite, values, 0.0),
        values,
        np.ones(len(values), np.int64),
        is_finite.astype(np.int64),
        marks_of(values),
    )


def marks_of(values: Floats) -> Marks:
    """The mark of each value."""
    marks = np.isnan(values) * np.uint8(NAN)
    marks |= (values == np.inf) * np.uint8(POSITIVE_INFINITY)
    marks |= (values == -np.inf) * np.uint8(NEGATIVE_INFINITY)
    return marks


def join_spans(parts: list[Spans]) -> Spans:
    """Several stretches of an axis in order."""
    if len(parts) == 1:
        return parts[0]
    full = [_with_counts(part) for part in parts]
    return Spans(*(np.concatenate([getattr(part, name) for part in full]) for name in Spans.__struct_fields__))


def _with_counts(spans: Spans) -> Spans:
    if spans.counts is not None:
        return spans
    ones = np.ones(len(spans.first), np.int64)
    return msgspec.structs.replace(spans, counts=ones, finite=ones, marks=np.zeros(len(ones), np.uint8))


def cut_into_buckets(spans: Spans, count: int, *, first: float | None = None, last: float | None = None) -> Buckets:
    """At most `count` buckets with edges at equal distances between `first` and `last`, or of the spans themselves.

    A span goes whole into the bucket in which it begins.
    """
    size = len(spans.first)
    if not size:
        return empty_buckets(spans.first.dtype)
    starts = np.arange(size) if size <= count else _starts(spans.first, count, first=first, last=last)
    ends = np.append(starts[1:], size) - 1
    return _reduce(spans, starts, ends)


def empty_buckets(dtype: npt.DTypeLike = np.int64) -> Buckets:
    """No points, no buckets."""
    none, floats = np.empty(0, dtype), np.empty(0, np.float64)
    return Buckets(none, none, floats, floats, floats, floats, np.empty(0, np.int64), np.empty(0, np.uint8))


def _starts(places: Places, count: int, *, first: float | None, last: float | None) -> Ints:
    # In floating point: the distance of two 64-bit integers need not be one. It stays monotonous, which is enough.
    # A quarter of each: the distance of two huge numbers is infinite.
    low = float(places[0] if first is None else first) / 4
    high = float(places[-1] if last is None else last) / 4
    width = high - low
    if not width > 0:
        return np.zeros(1, np.int64)
    scaled = (places.astype(np.float64) / 4 - low) / width * count
    numbers = np.clip(scaled, 0, count - 1).astype(np.int64)
    starts: Ints = np.concatenate([[0], np.flatnonzero(numbers[1:] != numbers[:-1]) + 1])
    return starts


def _reduce(spans: Spans, starts: Ints, ends: Ints) -> Buckets:
    low = np.minimum.reduceat(spans.low, starts)
    high = np.maximum.reduceat(spans.high, starts)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        total = np.add.reduceat(spans.total, starts)
        if spans.counts is None or spans.finite is None or spans.marks is None:
            counts = finite = ends - starts + 1
            marks = np.zeros(len(starts), np.uint8)
        else:
            counts, finite = np.add.reduceat(spans.counts, starts), np.add.reduceat(spans.finite, starts)
            marks = np.bitwise_or.reduceat(spans.marks, starts)
        # Sums of huge values overflow, and rounding may leave the range of the values by a hair.
        mean = np.clip(total / finite, low, high)
        if np.isnan(mean).any():
            mean = np.where(np.isnan(mean), low / 2 + high / 2, mean)
    if (finite == 0).any():
        low, high, mean = (np.where(finite == 0, np.nan, column) for column in (low, high, mean))
    return Buckets(spans.first[starts], spans.last[ends], low, high, mean, spans.final[ends], counts, marks)
