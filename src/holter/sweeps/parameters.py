"""What a sweep searches: each parameter, the coordinate that a sampler sees of it, and the value that a trial gets."""

import bisect
import math
from statistics import NormalDist
from typing import Any

import msgspec

from holter.errors import UsageError

NEARLY_ALL = 0.999
"""Of a normal distribution so much is searched: no sampler can go to infinity."""
Coordinate = int | float
Point = dict[str, Coordinate]
"""By a parameter's name, what a sampler sees of it; constants have none."""


class Parameter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One parameter: a choice, or a number between bounds. `name` has a dot for each level of nesting."""

    name: str
    path: tuple[str, ...] = ()
    """The name of each level, where the dots of `name` do not tell them: `model.lr` of one level is another."""
    choices: tuple[Any, ...] = ()
    """One for a constant; none for a number."""
    weights: tuple[float, ...] = ()
    low: Coordinate = 0
    high: Coordinate = 1
    is_log: bool = False
    is_whole: bool = False
    quantum: Coordinate | None = None
    """Values are whole multiples of it: the outermost may lie up to half of it beyond the bounds."""
    normal: tuple[float, float] | None = None
    """Mean and standard deviation; the coordinate is then the share of values that lie below."""
    is_exponent: bool = False
    """What is normally distributed is the logarithm of the value."""

    @property
    def is_constant(self) -> bool:
        """Whether there is nothing to search."""
        return len(self.choices) == 1

    @property
    def is_choice(self) -> bool:
        """Whether it is one of several values."""
        return bool(self.choices)

    @property
    def has_whole_values(self) -> bool:
        """Whether each value is a whole number."""
        is_stepped = self.quantum is not None and self.normal is None and self.quantum == int(self.quantum)
        return all(map(is_whole, self.choices)) if self.choices else self.is_whole or is_stepped

    def between(self, low: float, high: float) -> "Parameter":
        """The same between other bounds. Raises UsageError for what cannot be."""
        if self.is_choice or self.normal is not None:
            raise UsageError(f"{self.name} has no bounds that could be changed: it is no number between two others")
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise UsageError(
                f"the bounds of {self.name} must be two numbers, the lower one first: got {low!r}, {high!r}"
            )
        if self.is_log and low <= 0:
            raise UsageError(f"{self.name} is searched by its logarithm: its bounds must be above 0, got {low!r}")
        if self.is_whole and not (is_whole(low) and is_whole(high)):
            raise UsageError(f"the bounds of {self.name} must be whole numbers, got {low!r}, {high!r}")
        kind = int if self.is_whole else float
        return msgspec.structs.replace(self, low=kind(low), high=kind(high))

    @property
    def bounds(self) -> tuple[Coordinate, Coordinate]:
        """The least and the highest coordinate."""
        if self.normal is not None:
            return (1 - NEARLY_ALL) / 2, (1 + NEARLY_ALL) / 2
        return (0.0, 1.0) if self.weights else (self.low, self.high)

    def is_within(self, at: Coordinate) -> bool:
        """Whether a coordinate is one that is searched."""
        low, high = self.bounds
        return self.is_choice or low <= at <= high

    def value_of(self, at: Coordinate) -> Any:
        """The value that a trial gets."""
        if self.weights:
            steps = [sum(self.weights[: n + 1]) for n in range(len(self.weights) - 1)]
            return self.choices[bisect.bisect_right(steps, at)]
        if self.choices:
            return self.choices[int(at)]
        value: Coordinate = at
        if self.normal is not None:
            value = NormalDist(*self.normal).inv_cdf(at)
            value = math.exp(value) if self.is_exponent else value
        if self.quantum is not None:
            value = _tidy(round(value / self.quantum) * self.quantum)
        return int(value) if self.is_whole else value

    def coordinate_of(self, value: object) -> Coordinate:
        """The other way round. Raises UsageError for what is not searched."""
        if self.choices:
            return self._coordinate_of_choice(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UsageError(f"{self.name} must be a number, got {value!r}")
        if self.is_whole and value != int(value):
            raise UsageError(f"{self.name} must be a whole number, got {value!r}")
        # What a conversion changes in a value's last digits is no other value.
        blur = 1e-9 * max(abs(value), abs(self.low), abs(self.high))
        if self.quantum is not None:
            nearest = round(value / self.quantum) * self.quantum
            if abs(value - nearest) > 1e-6 * self.quantum + blur:
                raise UsageError(f"{self.name} must be a multiple of {self.quantum}, got {value!r}")
        low, high = self.bounds
        at = self._share_below(value) if self.normal is not None else value
        kept = min(max(at, low), high)
        # The outermost multiples lie beyond the bounds.
        if abs(kept - at) > (self.quantum or 0) / 2 + blur and self.normal is None:
            raise UsageError(f"{self.name} = {value!r} is outside of what is searched: {self.low:g} to {self.high:g}")
        return int(kept) if self.is_whole and self.normal is None else kept

    def _coordinate_of_choice(self, value: object) -> Coordinate:
        place = next((n for n, each in enumerate(self.choices) if _is_same(each, value)), None)
        if place is None:
            known = ", ".join(map(repr, self.choices[:10]))
            raise UsageError(f"{self.name} must be one of {known}; got {value!r}")
        if not self.weights:
            return place
        return sum(self.weights[:place]) + self.weights[place] / 2

    def _share_below(self, value: Coordinate) -> float:
        assert self.normal is not None
        if self.is_exponent and value <= 0:
            return 0.0
        return NormalDist(*self.normal).cdf(math.log(value) if self.is_exponent else value)


def params_of(parameters: tuple[Parameter, ...], point: Point) -> dict[str, Any]:
    """The values of a trial by name, constants too."""
    return {each.name: each.choices[0] if each.is_constant else each.value_of(point[each.name]) for each in parameters}


def point_of(parameters: tuple[Parameter, ...], params: dict[str, Any]) -> Point:
    """Where given values lie. Raises UsageError for a value that is missing or not searched."""
    known = {each.name: each for each in parameters}
    unknown = sorted(params.keys() - known.keys())
    if unknown:
        raise UsageError(f"this sweep has no parameter {unknown[0]!r}: it has {', '.join(known)}")
    missing = [name for name, each in known.items() if name not in params and not each.is_constant]
    if missing:
        raise UsageError(f"the parameter {missing[0]!r} is missing: give all of {', '.join(known)}")
    for name, value in params.items():
        known[name].coordinate_of(value)
    return {name: each.coordinate_of(params[name]) for name, each in known.items() if not each.is_constant}


def nested(params: dict[str, Any], parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """The values as a trial's configuration has them: a name for each level."""
    found: dict[str, Any] = {}
    for each in parameters:
        inner = found
        *outer, last = each.path or each.name.split(".")
        for word in outer:
            inner = inner.setdefault(word, {})
        inner[last] = params[each.name]
    return found


def is_whole(value: object) -> bool:
    """Whether it is a whole number, also one that is written with a point."""
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _is_same(one: object, other: object) -> bool:
    """True and 1 are two values; 1 and 1.0 are one."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _tidy(value: Coordinate) -> Coordinate:
    """0.3 and not 0.30000000000000004."""
    return value if isinstance(value, int) else float(f"{value:.12g}")
