"""Where trials do not fit: bounds of one or two parameters beyond which every trial so far ran out of memory. Pure."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from holter.sweeps.parameters import Coordinate, Parameter, Point
from holter.sweeps.state import FINISHED, INFEASIBLE, PRUNED, SweepState, Trial

LEAST = 3
"""So many trials must have died there, and none may have fitted."""
CHANCE = 0.25
"""Regions that chance alone would make are not named: of so many looked at, so many were expected at most."""
CORNERS = 4
"""Of two parameters a corner may lie at each trial; many of them are nearly the same, and count as so many."""
MOST_ANCHORS = 64
MOST_REGIONS = 8
Numbers = npt.NDArray[np.float64]


class Bound(msgspec.Struct, frozen=True):
    """A parameter that is at least, at most or equal to a value."""

    name: str
    side: str
    """`>=`, `<=` or `=`."""
    value: Any
    at: float
    """The same on the line on which the parameter's values are ordered."""

    def has(self, place: float) -> bool:
        """Whether a place on that line is within."""
        return place >= self.at if self.side == ">=" else place <= self.at if self.side == "<=" else place == self.at


class Region(msgspec.Struct, frozen=True):
    """What does not fit on one kind of device: all its bounds together."""

    bounds: tuple[Bound, ...]
    died: int
    device: str = ""

    @property
    def words(self) -> str:
        """For people: `batch_size >= 256 and d_model >= 1024`."""
        return " and ".join(f"{each.name} {each.side} {each.value}" for each in self.bounds)


class Order:
    """Puts the values of one parameter on a line: numbers by size, other choices by their place in the list."""

    def __init__(self, parameter: Parameter) -> None:
        self.name = parameter.name
        self._parameter = parameter
        numbers = [each for each in parameter.choices if isinstance(each, int | float) and not isinstance(each, bool)]
        self.is_ordered = len(numbers) == len(parameter.choices)

    def place(self, at: Coordinate) -> float:
        """Where a coordinate lies."""
        if not self._parameter.is_choice:
            return float(at)
        value = self._parameter.value_of(at)
        return float(value) if self.is_ordered else float(self._parameter.choices.index(value))

    def value(self, place: float, at: Coordinate) -> Any:
        """What a trial gets there."""
        return self._parameter.value_of(at)


def orders_of(parameters: Sequence[Parameter]) -> list[Order]:
    """One for each that is searched."""
    return [Order(each) for each in parameters if not each.is_constant]


def find_regions(state: SweepState, device: str) -> list[Region]:
    """The regions that explain most of what did not fit on this kind of device, the largest first."""
    assert state.configuration is not None
    orders = orders_of(state.configuration.parameters)
    died = [each for each in state.trials if each.state == INFEASIBLE and each.attempts and not each.is_allowed]
    died = [each for each in died if _device(each) == device]
    if len(died) < LEAST:
        return []
    fitted = [each for each in state.trials if each.state in (FINISHED, PRUNED) and _device(each) == device]
    if not fitted:
        return []
    return _find(_Cloud(orders, died), _Cloud(orders, fitted), device)


def is_within(regions: Sequence[Region], parameters: Sequence[Parameter], *, point: Point) -> Region | None:
    """The region that a point lies in, None for none."""
    places = {order.name: order.place(point[order.name]) for order in orders_of(parameters)}
    return next((each for each in regions if all(bound.has(places[bound.name]) for bound in each.bounds)), None)


class _Cloud:
    """Points of trials as columns."""

    def __init__(self, orders: list[Order], trials: list[Trial]) -> None:
        self.orders = orders
        self.trials = trials
        places = [[order.place(each.point[order.name]) for order in orders] for each in trials]
        self.places: Numbers = np.array(places, float).reshape(len(trials), len(orders))

    def bound(self, column: int, side: str, *, row: int) -> Bound:
        order, trial = self.orders[column], self.trials[row]
        place = float(self.places[row, column])
        return Bound(order.name, side, order.value(place, trial.point[order.name]), place)


def _find(died: _Cloud, fitted: _Cloud, device: str) -> list[Region]:
    found: list[Region] = []
    covered = np.zeros(len(died.trials), bool)
    sides = [len(_sides(order)) for order in died.orders]
    tried = {1: sum(sides), 2: CORNERS * sum(one * other for one, other in combinations(sides, 2))}
    fits = len(fitted.trials)
    _choose(list(_singles(died, fitted)), covered, found, device, least=_least(tried[1], covered, fits))
    _choose(list(_pairs(died, fitted, ~covered)), covered, found, device, least=_least(tried[2], covered, fits))
    return sorted(found, key=lambda each: -each.died)


def _least(tried: int, covered: npt.NDArray[np.bool_], fits: int) -> int:
    """So many must have died within, where none fitted, that chance hardly made it; `tried` were looked at."""
    left = int((~covered).sum())
    for many in range(LEAST, left + 1):
        # The share of orders in which these, of all that are left and all that fitted, come first.
        if tried * math.comb(left + fits - many, fits) / math.comb(left + fits, fits) <= CHANCE:
            return many
    return left + 1


def _choose(
    candidates: "list[_Candidate]", covered: npt.NDArray[np.bool_], found: list[Region], device: str, *, least: int
) -> None:
    """Take those that explain most of what is left, one after the other."""
    candidates = [each for each in candidates if (each[1] & ~covered).sum() >= least]
    while candidates and len(found) < MOST_REGIONS:
        bounds, mask = max(candidates, key=lambda each: int((each[1] & ~covered).sum()))
        if (mask & ~covered).sum() < LEAST:
            return
        covered |= mask
        found.append(Region(bounds, int(mask.sum()), device))


_Candidate = tuple[tuple[Bound, ...], npt.NDArray[np.bool_]]
_SIDES: dict[str, Callable[[Numbers, float], npt.NDArray[np.bool_]]] = {
    ">=": lambda column, at: column >= at,
    "<=": lambda column, at: column <= at,
    "=": lambda column, at: column == at,
}


def _sides(order: Order) -> tuple[str, ...]:
    return (">=", "<=") if order.is_ordered else ("=",)


def _singles(died: _Cloud, fitted: _Cloud) -> Iterator[_Candidate]:
    for column, order in enumerate(died.orders):
        theirs, ours = fitted.places[:, column], died.places[:, column]
        for side in _sides(order):
            if side == "=":
                rows = [int(np.flatnonzero(ours == place)[0]) for place in np.unique(ours)]
            else:
                beyond = np.flatnonzero(ours > theirs.max() if side == ">=" else ours < theirs.min())
                if not len(beyond):
                    continue
                rows = [int(beyond[np.argmin(ours[beyond]) if side == ">=" else np.argmax(ours[beyond])])]
            for row in rows:
                holds = _SIDES[side]
                if not holds(theirs, ours[row]).any():
                    yield (died.bound(column, side, row=row),), holds(ours, ours[row])


def _pairs(died: _Cloud, fitted: _Cloud, wanted: npt.NDArray[np.bool_]) -> Iterator[_Candidate]:
    anchors = np.flatnonzero(wanted)
    if len(anchors) < LEAST:
        return
    for one, other in combinations(range(len(died.orders)), 2):
        for side in _sides(died.orders[one]):
            for another in _sides(died.orders[other]):
                for row in anchors[-MOST_ANCHORS:]:
                    first, second = died.places[row, one], died.places[row, other]
                    holds, holds_too = _SIDES[side], _SIDES[another]
                    if (holds(fitted.places[:, one], first) & holds_too(fitted.places[:, other], second)).any():
                        continue
                    mask = holds(died.places[:, one], first) & holds_too(died.places[:, other], second)
                    yield (died.bound(one, side, row=row), died.bound(other, another, row=row)), mask


def _device(trial: Trial) -> str:
    return trial.last.device if trial.last is not None else ""
