"""Reads W&B's `parameters`: values, bounds, distributions, nesting."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holter.sweeps.parameters import Parameter
from holter.sweeps.yaml_lines import Path

if TYPE_CHECKING:
    from holter.sweeps.configuration import Reader

_KEYS = ["value", "values", "probabilities", "distribution", "min", "max", "mu", "sigma", "q", "parameters"]
_BOUNDED = (
    "uniform int_uniform q_uniform log_uniform log_uniform_values q_log_uniform q_log_uniform_values"
    " inv_log_uniform inv_log_uniform_values"
).split()
_NORMAL = ("normal", "q_normal", "log_normal", "q_log_normal")
_KINDS = ("constant", "categorical", "categorical_w_probabilities", *_BOUNDED, *_NORMAL)
MOST_IN_GRID = 100_000


def read_parameters(given: object, read: "Reader", *, is_grid: bool) -> tuple[Parameter, ...]:
    """All of them, nested ones by names with dots. Raises UsageError."""
    found = _read(given, ("parameters",), read, above=(), is_grid=is_grid)
    if not found:
        read.refuse(("parameters",), "there are none: name at least one parameter")
    names = [each.name for each in found]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        read.refuse(("parameters", twice), "it is there twice: once with dots, and once as nested parameters")
    points = math.prod(len(each.choices) for each in found) if is_grid else 0
    if points > MOST_IN_GRID:  # all of them are held in memory
        advice = f"{MOST_IN_GRID:,} at most; `method: random` with a `run_cap` has no such bound"
        read.refuse(("parameters",), f"a grid of {points:,} points is too fine: {advice}")
    return tuple(found)


def _read(given: object, at: Path, read: "Reader", *, above: tuple[str, ...], is_grid: bool) -> list[Parameter]:
    found: list[Parameter] = []
    for name, about in read.mapping(given, at).items():
        path, here = (*above, name), (*at, name)
        if isinstance(about, Mapping) and "parameters" in about:
            read.mapping(about, here, known=["parameters"])
            found += _read(about["parameters"], (*here, "parameters"), read, above=path, is_grid=is_grid)
            continue
        parameter = _read_one(".".join(path), read.mapping(about, here, known=_KEYS), here, read)
        parameter = _for_grid(parameter, here, read) if is_grid else parameter
        is_dotted = any("." in word for word in path)
        found.append(msgspec.structs.replace(parameter, path=path) if is_dotted else parameter)
    return found


def _read_one(name: str, about: dict[str, Any], path: Path, read: "Reader") -> Parameter:
    kind = about.get("distribution") or _kind_of(about, path, read)
    if kind in ("beta", "q_beta"):
        read.refuse((*path, "distribution"), f"{kind} is not supported: use normal, or uniform within bounds")
    if kind not in _KINDS:
        read.refuse((*path, "distribution"), f"must be one of {', '.join(_KINDS)}; got {kind!r}")
    if kind == "constant":
        if "value" not in about:
            read.refuse(path, "a constant needs a `value`")
        return Parameter(name=name, choices=(about["value"],))
    if kind in ("categorical", "categorical_w_probabilities"):
        return _choice(name, about, path, read)
    return _normal(name, kind, about, path, read) if kind in _NORMAL else _bounded(name, kind, about, path, read)


def _kind_of(about: dict[str, Any], path: Path, read: "Reader") -> str:
    if "value" in about:
        return "constant"
    if "values" in about:
        return "categorical"
    if "min" in about and "max" in about:
        return "int_uniform" if _is_whole(about["min"]) and _is_whole(about["max"]) else "uniform"
    if "mu" not in about and "sigma" not in about:
        read.refuse(path, "what it may be is missing: `value`, `values`, or `min` and `max`")
    return "normal"


def _choice(name: str, about: dict[str, Any], path: Path, read: "Reader") -> Parameter:
    values, weights = about.get("values"), about.get("probabilities")
    if not isinstance(values, list | tuple) or not values:
        read.refuse((*path, "values"), f"a list of at least one value is needed, got {values!r}")
    if weights is None or len(values) == 1:
        return Parameter(name=name, choices=tuple(values))
    if not isinstance(weights, list | tuple) or len(weights) != len(values):
        read.refuse((*path, "probabilities"), f"there must be one for each of the {len(values)} values")
    numbers = [read.number(each, (*path, "probabilities", place)) for place, each in enumerate(weights)]
    if min(numbers) < 0 or not math.isclose(sum(numbers), 1, abs_tol=1e-3):
        read.refuse((*path, "probabilities"), f"they must be 0 or more and add up to 1; got {sum(numbers):g}")
    return Parameter(name=name, choices=tuple(values), weights=tuple(each / sum(numbers) for each in numbers))


def _bounded(name: str, kind: str, about: dict[str, Any], path: Path, /, read: "Reader") -> Parameter:
    for bound in ("min", "max"):
        if bound not in about:
            read.refuse(path, f"{kind} needs `{bound}`")
    low, high = (read.number(about[bound], (*path, bound)) for bound in ("min", "max"))
    if low > high or (low == high and "log" in kind):
        read.refuse((*path, "max"), f"{high!r} must be above the minimum, {low!r}")
    if kind == "int_uniform":
        low, high = (read.whole(about[bound], (*path, bound), least=-(1 << 53)) for bound in ("min", "max"))
        return Parameter(name=name, low=low, high=high, is_whole=True)
    quantum = _quantum(kind, about, path, read)
    if "log_uniform" not in kind:
        return Parameter(name=name, low=float(low), high=float(high), quantum=quantum)
    if not kind.endswith("_values"):
        if max(abs(low), abs(high)) > 300:
            read.refuse((*path, "min"), f"{kind} takes exponents of e, and e^{high:g} is too large: {kind}_values?")
        # Of the inverse the logarithm of 1/x lies between them.
        low, high = (-high, -low) if kind.startswith("inv") else (low, high)
        low, high = math.exp(low), math.exp(high)
    if low <= 0:
        read.refuse((*path, "min"), f"{kind} needs a minimum above 0, got {low!r}")
    return Parameter(name=name, low=float(low), high=float(high), is_log=True, quantum=quantum)


def _normal(name: str, kind: str, about: dict[str, Any], path: Path, /, read: "Reader") -> Parameter:
    mu, sigma = (read.number(about.get(key, usual), (*path, key)) for key, usual in (("mu", 0.0), ("sigma", 1.0)))
    if sigma <= 0:
        read.refuse((*path, "sigma"), f"must be above 0, got {sigma!r}")
    if "log" in kind and abs(mu) + 4 * sigma > 300:
        read.refuse((*path, "mu"), f"e^({mu:g} ± 4 x {sigma:g}) is too large")
    quantum = _quantum(kind, about, path, read)
    return Parameter(name=name, normal=(float(mu), float(sigma)), is_exponent="log" in kind, quantum=quantum)


def _quantum(kind: str, about: dict[str, Any], path: Path, read: "Reader") -> float | None:
    if not kind.startswith("q_"):
        if "q" in about:
            read.refuse((*path, "q"), f"{kind} has no `q`: write q_{kind}")
        return None
    quantum = read.number(about.get("q", 1), (*path, "q"))
    if quantum <= 0:
        read.refuse((*path, "q"), f"must be above 0, got {quantum!r}")
    return quantum


def _for_grid(parameter: Parameter, path: Path, read: "Reader") -> Parameter:
    """The same as a list of values."""
    if parameter.is_choice:
        return Parameter(name=parameter.name, choices=parameter.choices)
    quantum = 1 if parameter.is_whole else parameter.quantum
    if parameter.normal is not None or quantum is None:
        read.refuse(path, "a grid needs `values`, whole bounds or a `q`: this one has infinitely many")
    first, last = round(parameter.low / quantum), round(parameter.high / quantum)
    if last - first >= MOST_IN_GRID:
        read.refuse(path, f"a grid of {last - first + 1:,} values is too fine: {MOST_IN_GRID:,} at most")
    whole = Parameter(name=parameter.name, quantum=quantum, is_whole=parameter.is_whole)
    return Parameter(name=parameter.name, choices=tuple(whole.value_of(n * quantum) for n in range(first, last + 1)))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
