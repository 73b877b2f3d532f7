"""How many trials it takes to the best value of plain TPE, on two published functions with a region that does not fit.

Plain TPE is Optuna's own, with such trials told as failed. `gp` needs torch and scipy.
Usage: python -m benchmarks.sweep_search [SEEDS [TRIALS [METHOD]]]
"""

import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np
import optuna

from holter.storage.opening import open_sweeps
from holter.sweeps.book import begin_book
from holter.sweeps.configuration import read_configuration
from holter.sweeps.desk import Desk
from holter.sweeps.events import Begun
from holter.sweeps.words import Asker, Outcome, Word

Point = Sequence[float]


def branin(x: Point) -> float:
    a, b, c, t = 1.0, 5.1 / (4 * math.pi**2), 5 / math.pi, 1 / (8 * math.pi)
    return a * (x[1] - b * x[0] ** 2 + c * x[0] - 6) ** 2 + 10 * (1 - t) * math.cos(x[0]) + 10


A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)
ALPHA = np.array([1.0, 1.2, 3.0, 3.2])


def hartmann(x: Point) -> float:
    return -float(ALPHA @ np.exp(-np.sum(A * (np.array(x) - P) ** 2, axis=1)))


class Case(msgspec.Struct, frozen=True):
    """A function, its bounds, and how much of the memory a point takes."""

    name: str
    function: Callable[[Point], float]
    bounds: list[tuple[float, float]]
    share: Callable[[Point], float]


CASES = [
    Case("branin", branin, [(-5, 10), (0, 15)], lambda x: (x[0] + 5) / 15 * 0.9 + x[1] / 15 * 0.9),
    Case("hartmann6", hartmann, [(0, 1)] * 6, lambda x: 0.55 + 0.9 * x[1] * x[3] + 0.35 * x[0]),
]


def plain(case: Case, seed: int, trials: int) -> list[float]:
    """The best so far after each trial."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    best, curve = math.inf, []
    for _ in range(trials):
        trial = study.ask()
        x = [trial.suggest_float(f"x{n}", *bounds) for n, bounds in enumerate(case.bounds)]
        if case.share(x) > 1:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, case.function(x))
            best = min(best, case.function(x))
        curve.append(best)
    return curve


def ours(case: Case, seed: int, trials: int, *, method: str = "bayes") -> list[float]:
    """The same with a desk."""
    parameters = {f"x{n}": {"min": float(low), "max": float(high)} for n, (low, high) in enumerate(case.bounds)}
    given: dict[str, Any] = {"method": method, "seed": seed, "metric": {"name": "y"}, "parameters": parameters}
    with tempfile.TemporaryDirectory() as folder:
        begun = Begun(configuration=msgspec.to_builtins(read_configuration(given)), project="p", name="n")
        begin_book(open_sweeps(folder), "s", begun=begun)
        desk, asker = Desk(open_sweeps(folder), "s"), Asker(id="a", device="gpu")
        best, curve = math.inf, []
        for _ in range(trials):
            lease = desk.ask(asker).lease
            assert lease is not None
            x = [lease.params[f"x{n}"] for n in range(len(case.bounds))]
            share = case.share(x)
            taken: dict[str, Any] = {"peak_bytes": int(1000 * min(share, 1)), "limit_bytes": 1000}
            if share > 1:
                ended = Outcome(state="crashed", cause="gpu-out-of-memory", **taken)
            else:
                ended = Outcome(state="finished", value=case.function(x), **taken)
                best = min(best, case.function(x))
            desk.say(Word(asker=asker, number=lease.number, fence=1, ended=ended))
            curve.append(best)
    return curve


def reached(curve: Sequence[float], value: float) -> int:
    """After how many trials a value was there; one more than all for never."""
    return next((n + 1 for n, each in enumerate(curve) if each <= value), len(curve) + 1)


def main(seeds: int, trials: int, method: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for case in CASES:
        shares, budget, best, own = [], [], [], []
        for seed in range(seeds):
            theirs = plain(case, seed, trials)
            mine = ours(case, seed, trials, method=method)
            best.append((mine[-1], theirs[-1]))
            shares.append(reached(mine, theirs[-1]) / reached(theirs, theirs[-1]))
            budget.append(reached(mine, theirs[-1]))
            own.append(reached(theirs, theirs[-1]))
        print(
            f"{case.name}: median {statistics.median(shares):.0%} of the trials that plain TPE takes to its best of"
            f" {trials}; that is {statistics.median(budget):.0f} of {trials}, plain TPE {statistics.median(own):.0f};"
            f" best in the end"
            f" {statistics.median(each for each, _ in best):.4g}, of plain TPE"
            f" {statistics.median(each for _, each in best):.4g}; {seeds} seeds",
            flush=True,
        )


if __name__ == "__main__":
    seeds, trials, method = (*sys.argv[1:4], *("20", "100", "bayes")[len(sys.argv) - 1 :])
    main(int(seeds), int(trials), method)
