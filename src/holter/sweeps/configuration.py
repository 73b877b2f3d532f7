"""What a sweep is to do: W&B's configuration as it is, and what we add to it; the rest is refused by its line."""

import os
from collections.abc import Mapping
from typing import Any, NoReturn

import msgspec

from holter.errors import UsageError
from holter.sweeps.fates import FATES, check_cause
from holter.sweeps.parameters import Parameter
from holter.sweeps.reading_parameters import read_parameters
from holter.sweeps.yaml_lines import Path, read_yaml

METHODS = {
    "bayes": "tpe",
    "tpe": "tpe",
    "random": "random",
    "grid": "grid",
    "gp": "gp",
    "cmaes": "cmaes",
    "nsgaii": "nsgaii",
    "qmc": "qmc",
}
PRUNERS = ("hyperband", "asha", "median", "percentile")
DEFAULT_COMMAND = ("${env}", "${interpreter}", "${program}", "${args}")
_REFUSED = {
    "job": "W&B Launch",
    "image_uri": "W&B Launch",
    "queue": "W&B Launch",
    "scheduler": "W&B Launch",
    "prior_runs": "take over trials with `holter sweep add SWEEP --from RUN` instead; it",
}
_KNOWN = (
    "program entity project description name method metric parameters early_terminate command run_cap controller"
    " on_death attempts smaller_batch seed"
).split()


class Metric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to become small or large."""

    name: str
    goal: str = "minimize"
    target: float | None = None
    """The sweep is over when a trial is as good as this."""

    def is_better(self, value: float, other: float) -> bool:
        """Whether one value is better than another."""
        return value > other if self.goal == "maximize" else value < other


class EarlyEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When a trial that does worse than others is ended; an iteration is a value of the metric."""

    type: str
    min_iter: int = 1
    eta: int = 3
    max_iter: int | None = None
    percentile: float = 50.0
    startup: int = 5
    """So many trials must have ended before any is ended early; of median and percentile."""

    def asks_at(self, iteration: int) -> bool:
        """Whether others are compared with at this iteration, counted from 1."""
        if self.type in ("median", "percentile"):
            return iteration >= self.min_iter
        band = self.min_iter
        while band < iteration:
            band *= self.eta
        return band == iteration and (self.max_iter is None or iteration <= self.max_iter)


class SmallerBatch(msgspec.Struct, frozen=True, kw_only=True):
    """What ran out of memory is tried once more: one parameter is halved and another doubled."""

    halve: str
    double: str

    def of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What changes of these values; empty where the batch has no half."""
        batch, steps = params.get(self.halve), params.get(self.double)
        if batch is None or steps is None or batch < 2 or batch % 2:
            return {}
        return {self.halve: int(batch) // 2, self.double: int(steps) * 2}


class Configuration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sweep as it was asked for. Raises UsageError when it is made of what cannot work."""

    method: str
    parameters: tuple[Parameter, ...]
    metric: Metric | None = None
    program: str = ""
    command: tuple[str, ...] = DEFAULT_COMMAND
    project: str = ""
    entity: str = ""
    name: str = ""
    description: str = ""
    run_cap: int | None = None
    early_end: EarlyEnd | None = None
    on_death: dict[str, str] = {}
    attempts: int = 3
    """How often a trial is tried where what ended it was not its own doing."""
    smaller_batch: SmallerBatch | None = None
    seed: int | None = None

    def within(self, name: str, bounds: tuple[float, float]) -> "Configuration":
        """The same with other bounds of one parameter. Raises UsageError for what cannot be."""
        known = {each.name: each for each in self.parameters}
        if name not in known:
            raise UsageError(f"this sweep has no parameter {name!r}: it has {', '.join(known)}")
        if self.method == "cmaes":
            raise UsageError("the bounds of a CMA-ES search can't be changed: begin another sweep")
        known[name] = known[name].between(*bounds)
        return msgspec.structs.replace(self, parameters=tuple(known.values()))

    @property
    def size(self) -> int | None:
        """How many points a grid has; None for what never ends."""
        if self.method != "grid":
            return None
        size = 1
        for each in self.parameters:
            size *= len(each.choices) if each.is_choice else int(each.high) - int(each.low) + 1
        return size


class Reader:
    """Walks over a configuration and says where in it something is wrong."""

    def __init__(self, lines: Mapping[Path, int], name: str) -> None:
        self._lines = lines
        self._name = name

    def refuse(self, path: Path, text: str) -> NoReturn:
        """Raise UsageError with the line, or the names that lead there."""
        where = self._lines.get(path) or next(
            (self._lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._lines), None
        )
        place = f"{self._name} line {where}: " if where else ""
        raise UsageError(f"{place}{'.'.join(map(str, path)) or 'the configuration'}: {text}")

    def mapping(self, value: object, path: Path, *, known: tuple[str, ...] | list[str] | None = None) -> dict[str, Any]:
        """A mapping with only these names."""
        if not isinstance(value, Mapping):
            self.refuse(path, f"a mapping of names to values is needed, got {type(value).__name__}")
        for name in value:
            if known is not None and name not in known:
                self.refuse((*path, name), f"holter does not know this; it knows {', '.join(known)}")
        return {str(name): each for name, each in value.items()}

    def text(self, value: object, path: Path) -> str:
        """Text, or a number taken for text."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.refuse(path, f"text is needed, got {value!r}")
        return str(value)

    def whole(self, value: object, path: Path, *, least: int) -> int:
        """A whole number."""
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or value < least:
            self.refuse(path, f"a whole number of at least {least} is needed, got {value!r}")
        return int(value)

    def number(self, value: object, path: Path) -> float:
        """A finite number; YAML takes `1e-4` for text, and people mean a number."""
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                self.refuse(path, f"a number is needed, got {value!r}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
            self.refuse(path, f"a finite number is needed, got {value!r}")
        return value


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration as it was written, and how it was understood."""

    written: dict[str, Any]
    understood: Configuration


def read_given(given: object) -> Given:
    """The configuration in a mapping, or in the file of that path. Raises UsageError, OSError."""
    lines: Mapping[Path, int] = {}
    name = ""
    if isinstance(given, str | os.PathLike):
        name = os.fspath(given)
        with open(name, encoding="utf-8", errors="surrogateescape") as file:
            given, lines = read_yaml(file.read(), name=name)
    understood = read_configuration(given, lines=lines, name=name)
    return Given(written=dict(given), understood=understood)  # type: ignore[call-overload]  # it was read as a mapping


def read_configuration(given: object, *, lines: Mapping[Path, int] | None = None, name: str = "") -> Configuration:
    """The configuration in a mapping. Raises UsageError with what, where and what to do."""
    read = Reader(lines or {}, name)
    known = [*_KNOWN, *_REFUSED, "$schema"]
    values = read.mapping(given, (), known=known)
    for refused, why in _REFUSED.items():
        if refused in values:
            read.refuse((refused,), f"{why} is not supported; remove this line")
    if "method" not in values:
        read.refuse((), f"`method` is missing: one of {', '.join(METHODS)}")
    if values["method"] not in METHODS:
        read.refuse(("method",), f"must be one of {', '.join(METHODS)}; got {values['method']!r}")
    _look_at_controller(values, read)
    method = METHODS[values["method"]]
    parameters = read_parameters(values.get("parameters"), read, is_grid=method == "grid")
    metric = _metric(values["metric"], read) if "metric" in values else None
    if metric is None and method in ("tpe", "gp", "cmaes", "nsgaii"):
        read.refuse(("method",), f"{values['method']} needs a `metric` with its name and goal")
    texts: dict[str, Any] = {
        each: read.text(values[each], (each,))
        for each in ("program", "project", "entity", "name", "description")
        if values.get(each) is not None
    }
    whole: dict[str, Any] = {
        each: read.whole(values[each], (each,), least=1) for each in ("run_cap", "attempts") if each in values
    }
    found = Configuration(
        method=method,
        parameters=parameters,
        metric=metric,
        command=_command(values, read),
        early_end=_early_end(values["early_terminate"], read) if "early_terminate" in values else None,
        on_death=_on_death(values.get("on_death") or {}, read),
        smaller_batch=_smaller_batch(values["smaller_batch"], parameters, read) if "smaller_batch" in values else None,
        seed=read.whole(values["seed"], ("seed",), least=0) if "seed" in values else None,
        **texts,
        **whole,
    )
    if found.early_end is not None and metric is None:
        read.refuse(("early_terminate",), "it needs a `metric` to compare trials by")
    return found


def _look_at_controller(values: dict[str, Any], read: Reader) -> None:
    if "controller" not in values:
        return
    found = read.mapping(values["controller"], ("controller",), known=["type"])
    if found.get("type", "cloud") != "cloud":
        read.refuse(("controller", "type"), "a local controller is not supported: remove it, agents ask by themselves")


def _metric(given: object, read: Reader) -> Metric:
    values = read.mapping(given, ("metric",), known=["name", "goal", "target"])
    if "name" not in values:
        read.refuse(("metric",), "`name` is missing: what the program logs, such as val/loss")
    goal = values.get("goal", "minimize")
    if goal not in ("minimize", "maximize"):
        read.refuse(("metric", "goal"), f"must be minimize or maximize, got {goal!r}")
    target = read.number(values["target"], ("metric", "target")) if values.get("target") is not None else None
    return Metric(name=read.text(values["name"], ("metric", "name")), goal=goal, target=target)


def _command(values: dict[str, Any], read: Reader) -> tuple[str, ...]:
    given = values.get("command")
    if given is None:
        return DEFAULT_COMMAND
    if isinstance(given, str):
        given = given.split()
    if not isinstance(given, list | tuple) or not given:
        read.refuse(("command",), "a list of words is needed, such as ['${env}', 'python', '${program}', '${args}']")
    return tuple(read.text(word, ("command", place)) for place, word in enumerate(given))


def _early_end(given: object, read: Reader) -> EarlyEnd:
    path: Path = ("early_terminate",)
    known = ["type", "min_iter", "max_iter", "s", "eta", "strict", "percentile", "startup"]
    values = read.mapping(given, path, known=known)
    kind = values.get("type")
    if kind not in PRUNERS:
        read.refuse((*path, "type"), f"must be one of {', '.join(PRUNERS)}; got {kind!r}")
    if values.get("strict"):
        read.refuse((*path, "strict"), "not supported: trials are compared as asynchronous successive halving does")
    whole: dict[str, Any] = {
        name: read.whole(values[name], (*path, name), least=least)
        for name, least in (("min_iter", 1), ("max_iter", 1), ("s", 1), ("eta", 2), ("startup", 0))
        if values.get(name) is not None
    }
    eta, brackets = whole.get("eta", 3), whole.pop("s", None)
    if "min_iter" not in whole:
        if kind in ("hyperband", "asha") and "max_iter" not in whole:
            read.refuse(path, "`min_iter` or `max_iter` is missing: the iteration at which trials are first compared")
        whole["min_iter"] = (
            max(1, whole.get("max_iter", 1) // eta ** min(brackets or 2, 64)) if "max_iter" in whole else 1
        )
    percentile = 50.0
    if kind == "percentile":
        percentile = read.number(values.get("percentile", 50.0), (*path, "percentile"))
        if not 0 < percentile < 100:
            read.refuse((*path, "percentile"), f"must lie between 0 and 100, got {percentile!r}")
    elif "percentile" in values:
        read.refuse((*path, "percentile"), "only `type: percentile` has one")
    return EarlyEnd(type=str(kind), percentile=percentile, **whole)


def _smaller_batch(given: object, parameters: tuple[Parameter, ...], read: Reader) -> SmallerBatch:
    path: Path = ("smaller_batch",)
    values = read.mapping(given, path, known=["halve", "double"])
    known = {each.name: each for each in parameters}
    for key in ("halve", "double"):
        if key not in values:
            read.refuse(
                path, f"`{key}` is missing: a parameter, such as `halve: batch_size`, `double: accumulation_steps`"
            )
        parameter = known.get(str(values[key]))
        if parameter is None:
            advice = (
                "give it as a parameter, a constant one too" if key == "double" else f"there are {', '.join(known)}"
            )
            read.refuse((*path, key), f"there is no parameter {values[key]!r}: {advice}")
        if not parameter.has_whole_values:
            read.refuse((*path, key), f"{values[key]} has to have whole numbers as values")
    return SmallerBatch(**values)


def _on_death(given: object, read: Reader) -> dict[str, str]:
    found = read.mapping(given, ("on_death",))
    for cause, fate in found.items():
        try:
            check_cause(cause)
        except UsageError as error:
            read.refuse(("on_death", cause), str(error))
        if fate not in FATES:
            read.refuse(("on_death", cause), f"must be one of {', '.join(FATES)}; got {fate!r}")
    return found
