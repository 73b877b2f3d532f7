"""Asks Optuna which trial comes next, and whether one that runs should end: a study in memory that follows the book."""

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from holter.errors import UsageError
from holter.sweeps.configuration import Configuration, EarlyEnd
from holter.sweeps.parameters import Parameter, Point
from holter.sweeps.regions import Region, find_regions, is_within
from holter.sweeps.state import FAILED, FINISHED, INFEASIBLE, PRUNED, RUNNING, WAITING, SweepState, Trial

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

CONSTRAINT = "memory"
SEES_PRUNED = ("tpe",)
"""Samplers that look at pruned trials, and so learn from what did not fit."""
SEES_COMPLETE = ("gp", "nsgaii")
"""Those that look at complete ones alone: there what did not fit has the worst value so far, in this study only."""
REMEMBERS = ("gp",)
"""Those that go on from what they fitted before: begun anew for each trial they choose worse ones."""
CANDIDATES, FEW = 128, 1000
"""TPE draws so many points and takes the best, as long as there are few trials to compare each with: Optuna's 24 are
few where all parameters are drawn together. On Hartmann-6 it took 82 % of the trials of plain TPE instead of 103 %."""
MOST_REJECTED = 100
_NEEDS = {"gp": "torch scipy", "cmaes": "cmaes", "qmc": "scipy"}


class Suggested(msgspec.Struct, frozen=True, kw_only=True):
    """A point that a sampler chose, and what it noted for the next time."""

    point: Point
    attrs: dict[str, Any]
    study_attrs: dict[str, Any]
    region: Region | None = None
    """It lies where trials did not fit: only of a grid, where each point has its turn."""


class Search:
    """A study in memory for one kind of device. Used by one thread at a time."""

    def __init__(self, configuration: Configuration, device: str = "") -> None:
        _look_for(configuration.method)
        self.configuration = configuration
        self._device = device
        self._searched = [each for each in configuration.parameters if not each.is_constant]
        self._distributions = {each.name: _distribution(each) for each in self._searched}
        self._pruner = _pruner(configuration.early_end)
        self._is_new = True
        self._forget()

    def suggest(self, state: SweepState) -> Suggested:
        """The point of the next trial. Whoever asks has the turn, and hands it out before another one asks."""
        self._catch_up(state)
        method = self.configuration.method
        # A Gaussian process would give the same point again.
        regions = [] if method == "gp" else find_regions(state, self._device)
        if self._is_new or method not in REMEMBERS:
            self._study.sampler = self._sampler(len(state.trials))
            self._is_new = False
        before = dict(self._attrs())
        for turn in range(MOST_REJECTED):
            trial = self._study.ask(self._distributions)
            point = dict(trial.params)
            region = is_within(regions, self.configuration.parameters, point=point) if regions else None
            if region is None or method == "grid" or turn + 1 == MOST_REJECTED:
                break
            self._storage.set_trial_state_values(trial._trial_id, _states()[FAILED])
        self._ids.append(trial._trial_id)
        attrs = self._storage.get_trial(trial._trial_id).system_attrs
        after = dict(self._attrs())
        changed = {name: value for name, value in after.items() if before.get(name) != value}
        gone = dict.fromkeys(before.keys() - after.keys())
        is_skipped = region if method == "grid" else None
        return Suggested(point=point, attrs=_plain(attrs), study_attrs=_plain(changed) | gone, region=is_skipped)

    def judge(self, state: SweepState, number: int, *, iteration: int, value: float) -> tuple[bool, dict[str, Any]]:
        """Whether this trial should end here, and what the pruner noted."""
        self._catch_up(state)
        identity = self._ids[number]
        before = dict(self._storage.get_trial(identity).system_attrs)
        self._storage.set_trial_intermediate_value(identity, iteration, value)
        should_end = self._pruner.prune(self._study, self._storage.get_trial(identity))
        after = self._storage.get_trial(identity).system_attrs
        return should_end, _plain({name: each for name, each in after.items() if before.get(name) != each})

    def importance(self, state: SweepState) -> dict[str, float]:
        """How much each parameter matters for the metric, as shares of 1; empty where too few trials have ended."""
        import optuna

        self._catch_up(state)
        known = [each for each in state.trials if each.state == FINISHED and each.value is not None]
        if len(known) < 8 or not self._searched or len({each.value for each in known}) < 2:
            return {}
        # What a sampler was told of those that did not fit is no value of theirs.
        shown = optuna.create_study(direction=self._study.direction)
        trials = [self._storage.get_trial(self._ids[each.number]) for each in known]
        shown.add_trials([each for each in trials if each.state == _states()[FINISHED]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = optuna.importance.get_param_importances(
                shown, evaluator=optuna.importance.PedAnovaImportanceEvaluator()
            )
        return {name: float(share) for name, share in found.items() if math.isfinite(share)}

    def _forget(self) -> None:
        import optuna

        was = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            metric = self.configuration.metric
            goal = metric.goal if metric is not None else "minimize"
            self._study = optuna.create_study(direction=goal, sampler=self._sampler(0))
        finally:
            optuna.logging.set_verbosity(was)
        self._storage = self._study._storage
        self._is_new = True
        self._ids: list[int] = []
        self._seen = 0
        self._postponed: list[int] = []
        self._allowances = 0
        self._kept_attrs: dict[str, Any] = {}

    def _attrs(self) -> Mapping[str, Any]:
        return dict(self._storage.get_study_system_attrs(self._study._study_id))

    def _catch_up(self, state: SweepState) -> None:
        if state.allowances != self._allowances or len(self._ids) > len(state.trials):
            self._forget()  # what counted does not any more, or what was suggested here was never handed out
            self._allowances = state.allowances
        for name, value in state.study_attrs.items():
            if self._kept_attrs.get(name) != value:
                self._storage.set_study_system_attr(self._study._study_id, name, value)
        self._kept_attrs = dict(state.study_attrs)
        touched = dict.fromkeys([*self._postponed, *state.touched[self._seen :]])
        self._postponed = []
        self._seen = len(state.touched)
        for number in sorted(touched):
            trial = state.trials[number]
            if number == len(self._ids):
                self._ids.append(self._create(trial))
            self._bring_up(trial, self._ids[number], state)

    def _create(self, trial: Trial) -> int:
        import optuna

        # Of an older trial beyond bounds that were changed since, no sampler hears how it ended.
        at, whole = trial.point, [each for each in self._searched if each.is_within(trial.point[each.name])]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frozen = optuna.trial.create_trial(
                state=optuna.trial.TrialState.RUNNING,
                params={each.name: at[each.name] for each in whole},
                distributions={each.name: self._distributions[each.name] for each in whole},
                system_attrs=dict(trial.attrs),
            )
        return int(self._storage.create_new_trial(self._study._study_id, template_trial=frozen))

    def _bring_up(self, trial: Trial, identity: int, state: SweepState) -> None:
        known = self._storage.get_trial(identity)
        if known.state.is_finished():
            return
        for name, value in trial.attrs.items():
            if known.system_attrs.get(name) != value:
                self._storage.set_trial_system_attr(identity, name, value)
        for iteration, value in trial.reports.items():
            if known.intermediate_values.get(iteration) != value:
                self._storage.set_trial_intermediate_value(identity, iteration, value)
        if not trial.is_over:
            return
        shown, value = self._told(trial, state)
        if shown == WAITING:
            self._postponed.append(trial.number)
            return
        if (constraint := self._constraint(trial)) is not None:
            self._storage.set_trial_system_attr(identity, f"constraints:{CONSTRAINT}", constraint)
        if len(known.params) < len(self._searched):  # it lies beyond bounds that were changed since
            shown = FAILED
        # Without a metric there is nothing to compare; a trial without its metric is told as failed by the desk.
        values = [value if value is not None else 0.0] if shown == FINISHED else None
        self._storage.set_trial_state_values(identity, _states()[shown], values)

    def _told(self, trial: Trial, state: SweepState) -> tuple[str, float | None]:
        """As what the sampler hears of a trial that is over: its state and value; `waiting` while there is no value."""
        configuration = self.configuration
        if trial.state != INFEASIBLE:
            return trial.state, trial.value
        if trial.is_allowed or trial.last is None or trial.last.device != self._device:
            return FAILED, None  # nobody knows whether it would fit here
        if configuration.method not in SEES_COMPLETE:
            return (INFEASIBLE if configuration.method in SEES_PRUNED else FAILED), None
        worst = self._worst(state)
        return (WAITING if worst is None and configuration.metric is not None else FINISHED), worst

    def _constraint(self, trial: Trial) -> float | None:
        """Above 0 for what does not fit: the share of the limit that it was beyond."""
        if self.configuration.method not in (*SEES_PRUNED, *SEES_COMPLETE):
            return None
        if trial.state not in (FINISHED, PRUNED, INFEASIBLE) or trial.is_allowed:
            return None
        last = trial.last
        is_here = last is not None and last.device == self._device
        if trial.state == INFEASIBLE and not is_here:
            return None
        is_known = is_here and last is not None and last.peak_bytes and last.limit_bytes
        share = last.peak_bytes / last.limit_bytes - 1 if is_known and last is not None else 0.0  # type: ignore[operator]  # both are known
        # What died did not fit, however much of its last gasp was measured; what ended well did.
        return max(share, 0.05) if trial.state == INFEASIBLE else min(share, 0.0)

    def _worst(self, state: SweepState) -> float | None:
        known = [each.value for each in state.trials if each.state == FINISHED and each.value is not None]
        metric = self.configuration.metric
        return (min if metric is not None and metric.goal == "maximize" else max)(known, default=None)

    def _sampler(self, number: int) -> "BaseSampler":
        import optuna
        from optuna import samplers

        configuration = self.configuration
        # Agents would all draw the same with the same seed; a grid and a sequence must be the same for all.
        seed = None if configuration.seed is None else configuration.seed * 1_000_003 + number
        fixed = configuration.seed or 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            match configuration.method:
                case "random":
                    return samplers.RandomSampler(seed=seed)
                case "grid":
                    space = {each.name: _grid(each) for each in self._searched}
                    return samplers.GridSampler(space, seed=fixed)
                case "gp":
                    return samplers.GPSampler(seed=seed)
                case "cmaes":
                    return samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
                case "nsgaii":
                    return samplers.NSGAIISampler(seed=seed)
                case "qmc":
                    # Until a trial has finished each point is drawn by this one, and no two agents may get the same.
                    drawn = samplers.RandomSampler(seed=seed)
                    return samplers.QMCSampler(
                        seed=fixed, scramble=True, warn_independent_sampling=False, independent_sampler=drawn
                    )
        candidates = CANDIDATES if number < FEW else 24
        return samplers.TPESampler(seed=seed, constant_liar=True, multivariate=True, n_ei_candidates=candidates)


def _look_for(method: str) -> None:
    import importlib.util

    if importlib.util.find_spec("optuna") is None:
        raise UsageError("sweeps need Optuna: `pip install 'holter[sweeps]'`")
    missing = [name for name in _NEEDS.get(method, "").split() if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"the method {method} needs {' and '.join(missing)}: `pip install {' '.join(missing)}`")


def _states() -> dict[str, Any]:
    from optuna.trial import TrialState

    return {
        RUNNING: TrialState.RUNNING,
        WAITING: TrialState.RUNNING,
        FINISHED: TrialState.COMPLETE,
        PRUNED: TrialState.PRUNED,
        INFEASIBLE: TrialState.PRUNED,
        FAILED: TrialState.FAIL,
    }


def _distribution(parameter: Parameter) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if parameter.is_choice and not parameter.weights:
        return CategoricalDistribution(tuple(range(len(parameter.choices))))
    low, high = parameter.bounds
    if parameter.is_whole and parameter.normal is None:
        return IntDistribution(int(low), int(high))
    return FloatDistribution(float(low), float(high), log=parameter.is_log)


def _grid(parameter: Parameter) -> list[int]:
    return list(range(len(parameter.choices)))


def _pruner(early_end: EarlyEnd | None) -> "BasePruner":
    from optuna import pruners

    if early_end is None:
        return pruners.NopPruner()
    if early_end.type == "median":
        return pruners.MedianPruner(early_end.startup, early_end.min_iter - 1)
    if early_end.type == "percentile":
        return pruners.PercentilePruner(early_end.percentile, early_end.startup, early_end.min_iter - 1)
    return pruners.SuccessiveHalvingPruner(early_end.min_iter, early_end.eta)


def _plain(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """As it comes back from the book."""
    return dict(msgspec.json.decode(msgspec.json.encode(dict(attrs))))
