"""Which parameters tell how a run came out: a forest's word, and the plain correlation beside it. Pure.

Runs are compared by their order, not by their values: one that diverged weighs no more than the next worse one.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from holter.server.query.forest import BINS, Codes, Floats, Table, ask_forest

LEAST_RUNS = 10
MOST_PARAMETERS = 200
# Shuffled copies of columns: what they seem to tell, chance tells.
SHADOWS = 8
SURE = 3.0
# Of the differences between runs: less than this is no matter, however sure.
LEAST_LOSS = 0.01
# A text that is another one in more runs than this is a name, not a setting.
MOST_VALUES = BINS - 1
_MISSING = BINS - 1

Value = str | float | None


class Trial(msgspec.Struct, frozen=True):
    """One run: its parameters, and what came out."""

    parameters: Mapping[str, Value]
    outcome: Value


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """How much one parameter tells."""

    name: str
    share: float
    """Of all that the parameters tell, from 0 to 1."""
    is_clear: bool
    """It tells more than chance does."""
    correlation: float | None
    """Spearman's, from -1 to 1, over the runs that have a number; None for a category."""
    values: int
    """How many different ones there are."""
    runs: int
    """How many runs have it."""
    same: list[str] = []
    """Parameters that change together with it: nothing tells them apart."""


class Importance(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a question. With a `problem` nothing could be computed, and it says why."""

    problem: str = ""
    total: int = 0
    """Runs that fit the question; only the newest ones are looked at where there are very many."""
    runs: int = 0
    """Those with a number under the target: the others are left out."""
    explained: float = 0.0
    """The share of the differences between runs that all parameters tell together, by runs that a tree had not seen."""
    parameters: list[Parameter] = []
    constant: int = 0
    """How many parameters are the same in all these runs."""
    names: list[str] = []
    """Texts that are different in nearly every run: left out."""
    is_cut: bool = False
    """There are more parameters than are looked at."""


class _Column(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    name: str
    codes: Codes
    is_category: bool
    values: int
    runs: int
    numbers: Floats
    """NaN where there is none."""
    same: list[str]


def importance_of(trials: Sequence[Trial], *, target: str, only: Sequence[str] = ()) -> Importance:
    """Of all parameters, or of those alone."""
    told = [trial for trial in trials if isinstance(trial.outcome, float) and math.isfinite(trial.outcome)]
    short = target.removeprefix("summary.")
    known = Importance(total=len(trials), runs=len(told))
    if len(told) < LEAST_RUNS:
        return _without(known, f"needs at least {LEAST_RUNS} runs with a number under {short}: there {_are(len(told))}")
    outcome = _ranks(np.array([trial.outcome for trial in told], np.float64))
    if not np.ptp(outcome):
        return _without(known, f"needs runs that differ in {short}: it is the same in all {len(told)}")
    names = sorted({name for trial in told for name in trial.parameters if not only or name in only})
    columns, constant, unusable = _columns(told, names[:MOST_PARAMETERS])
    known = msgspec.structs.replace(known, constant=constant, names=unusable, is_cut=len(names) > MOST_PARAMETERS)
    if not columns:
        return _without(known, f"needs runs that differ in a parameter: {_none_of(names, constant)}")
    return _measured(known, columns, outcome)


def _measured(known: Importance, columns: list[_Column], outcome: Floats) -> Importance:
    rng = np.random.default_rng(1)
    shadows = [columns[at] for at in rng.integers(0, len(columns), SHADOWS)]
    table = Table(
        np.column_stack([each.codes for each in columns] + [rng.permutation(each.codes) for each in shadows]),
        np.array([each.is_category for each in [*columns, *shadows]]),
    )
    found = ask_forest(table, outcome)
    losses, by_chance = found.losses[: len(columns)].clip(0), found.losses[len(columns) :]
    clear_from = max(LEAST_LOSS, SURE * float(np.sqrt(np.mean(by_chance**2))))
    shares = losses / (losses.sum() or 1.0)
    parameters = [
        Parameter(
            name=each.name,
            share=float(share),
            is_clear=bool(found.explained > 0 and loss > clear_from),
            correlation=None if each.is_category else _correlation(each.numbers, outcome),
            values=each.values,
            runs=each.runs,
            same=each.same,
        )
        for each, share, loss in zip(columns, shares, losses, strict=True)
    ]
    parameters.sort(key=lambda each: (-each.share, each.name))
    return msgspec.structs.replace(known, explained=found.explained, parameters=parameters)


def _without(known: Importance, problem: str) -> Importance:
    return msgspec.structs.replace(known, problem=problem)


def _are(count: int) -> str:
    return "is none" if count == 0 else "is 1" if count == 1 else f"are {count}"


def _none_of(names: Sequence[str], constant: int) -> str:
    if not names:
        return "none was configured"
    return "all have the same values" if constant else "each run has a name of its own and nothing else"


def _columns(trials: Sequence[Trial], names: Sequence[str]) -> tuple[list[_Column], int, list[str]]:
    """Those that differ; how many do not; those that are names."""
    found: dict[bytes, _Column] = {}
    constant, unusable = 0, []
    for name in names:
        column = _column(name, [trial.parameters.get(name) for trial in trials])
        if column is None:
            unusable.append(name)
        elif not np.ptp(column.codes):
            constant += 1
        elif (alike := found.setdefault(_pattern(column.codes), column)) is not column:
            alike.same.append(name)
    return list(found.values()), constant, unusable


def _column(name: str, values: Sequence[Value]) -> _Column | None:
    """None for one that can't be used: nearly every run has a text of its own."""
    there = [value for value in values if value is not None]
    different = len(set(there))
    is_category = any(isinstance(value, str) and value != "NaN" for value in there)
    if is_category and different > MOST_VALUES:
        return None
    numbers = np.array([value if isinstance(value, float) else math.nan for value in values], np.float64)
    codes = _category_codes(values) if is_category else _number_codes(numbers)
    return _Column(
        name=name,
        codes=codes,
        is_category=is_category,
        values=different,
        runs=len(there),
        numbers=numbers,
        same=[],
    )


def _category_codes(values: Sequence[Value]) -> Codes:
    codes = {value: code for code, value in enumerate(dict.fromkeys(value for value in values if value is not None))}
    return np.array([_MISSING if value is None else codes[value] for value in values], np.intp)


def _number_codes(numbers: Floats) -> Codes:
    """Bins that hold about as many runs each; what is missing or NaN has one of its own."""
    there = numbers[~np.isnan(numbers)]
    edges = np.unique(there)[1:]
    if len(edges) >= MOST_VALUES:
        edges = np.unique(np.quantile(there, np.linspace(0, 1, MOST_VALUES + 1)[1:-1], method="nearest"))
    codes = np.searchsorted(edges, numbers, side="right")
    return np.where(np.isnan(numbers), _MISSING, codes)


def _pattern(codes: Codes) -> bytes:
    """The same for columns that change together, whatever their values are."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return first.argsort().argsort()[inverse].astype(np.uint8).tobytes()


def _ranks(values: Floats) -> Floats:
    """From 0 to 1; equal values have the middle of their places."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = counts.cumsum()
    middles = ends - (counts + 1) / 2
    ranks: Floats = middles[inverse] / max(1, len(values) - 1)
    return ranks


def _correlation(numbers: Floats, outcome: Floats) -> float | None:
    is_there = np.isfinite(numbers)
    one, other = _ranks(numbers[is_there]), _ranks(outcome[is_there])
    if len(one) < LEAST_RUNS or not np.ptp(one) or not np.ptp(other):
        return None
    return float(np.corrcoef(one, other)[0, 1])
