"""Puts runs into groups. Pure; the same for every engine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holter.storage.run_fields import Plain
from holter.storage.tallies import Group, GroupPage, GroupQuery, Moments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Members(NamedTuple):
    """Of each run that is grouped, once for each group that it is in."""

    values: Sequence[Plain]
    """What it is grouped by."""
    states: Sequence[str]
    columns: Sequence[Floats]
    """What it has in each column; NaN for nothing."""


class _Spread(NamedTuple):
    """Of each group: how many finite numbers it has, their mean, and how far they are from it."""

    counts: Ints
    means: Floats
    stds: Floats


def gather(members: Members, query: GroupQuery) -> GroupPage:
    """The groups of a question."""
    values, of_value = _numbered(members.values)
    states, of_state = _numbered(members.states)
    tally = np.bincount(of_value * len(states) + of_state, minlength=len(values) * len(states))
    tally = tally.reshape(len(values), len(states))
    spreads = {
        name: _spread(column, of_value, len(values))
        for name, column in zip(query.columns, members.columns, strict=True)
    }
    groups = [
        Group(
            values[at],
            int(tally[at].sum()),
            {state: int(count) for state, count in zip(states, tally[at], strict=True) if count},
            {name: moments for name, each in spreads.items() if (moments := _moments(each, at)) is not None},
        )
        for at in _order(values, spreads.get(query.sort), query)[: query.most]
    ]
    return GroupPage(groups, len(values))


def members_of(all_fields: Iterable[Mapping[str, Any]], query: GroupQuery) -> Members:
    """Runs by their fields, those of `plain_fields` and `flat_fields`."""
    found = [(value, fields) for fields in all_fields for value in _values_of(fields.get(query.by))]
    columns = [np.array([_number(fields.get(name)) for _, fields in found], np.float64) for name in query.columns]
    return Members([value for value, _ in found], [fields["state"] for _, fields in found], columns)


def _values_of(value: Any) -> Sequence[Plain]:
    return (value or (None,)) if isinstance(value, tuple) else (value,)


def _number(value: Any) -> float:
    return np.nan if value is None or isinstance(value, str) else float(value)


def _numbered(values: Sequence[Any]) -> tuple[list[Any], Ints]:
    """Those that differ, and which of them each is."""
    numbers: dict[Any, int] = {}
    places = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.int64, len(values))
    return list(numbers), places


def _spread(column: Floats, groups: Ints, many: int) -> _Spread:
    is_finite = np.isfinite(column)
    numbers, places = column[is_finite], groups[is_finite]
    counts = np.bincount(places, minlength=many)
    with np.errstate(over="ignore", invalid="ignore"):
        divisors = np.maximum(counts, 1)
        means = np.bincount(places, weights=numbers, minlength=many) / divisors
        away = np.bincount(places, weights=(numbers - means[places]) ** 2, minlength=many)
        return _Spread(counts, means, np.sqrt(away / divisors))


def _moments(spread: _Spread, at: int) -> Moments | None:
    count = int(spread.counts[at])
    return Moments(count, float(spread.means[at]), float(spread.stds[at])) if count else None


def _order(values: list[Plain], spread: _Spread | None, query: GroupQuery) -> list[int]:
    by_value = sorted(range(len(values)), key=lambda at: _rank(values[at]))
    if spread is None:
        return by_value[::-1] if query.is_descending and query.sort == query.by else by_value
    has = [at for at in by_value if spread.counts[at]]
    without = [at for at in by_value if not spread.counts[at]]
    return sorted(has, key=lambda at: float(spread.means[at]), reverse=query.is_descending) + without


def _rank(value: Plain) -> tuple[int, float, str]:
    """Numbers, texts, nothing."""
    if value is None:
        return (2, 0, "")
    return (1, 0, value) if isinstance(value, str) else (0, value, "")
