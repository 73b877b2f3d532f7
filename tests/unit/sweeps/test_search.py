"""What Optuna's samplers see of trials that did not fit."""

import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from holter.sweeps.configuration import read_configuration
from holter.sweeps.regions import find_regions
from holter.sweeps.search import Search
from holter.sweeps.state import FINISHED, INFEASIBLE, Attempt, SweepState, Trial
from holter.sweeps.words import Outcome
from tests.unit.sweeps.desks import Bench, asker

PARAMETERS = {"batch": {"values": [32, 64, 128, 256, 512]}, "lr": {"min": 0.0, "max": 1.0}}


def teach(bench: Bench, given: list[tuple[int, float, bool]], **outcome: Any) -> None:
    """Trials with these values, each of which fitted or did not."""
    for batch, lr, fits in given:
        bench.desk.add({"batch": batch, "lr": lr})
        lease = bench.take()
        if fits:
            bench.say(lease, ended=Outcome(state="finished", value=lr, **outcome))
        else:
            bench.die(lease, "gpu-out-of-memory", **outcome)


LEARNT = [(32, 0.1, True), (64, 0.2, True), (128, 0.3, True), (256, 0.4, False), (512, 0.5, False), (256, 0.6, False)]


@pytest.mark.parametrize(("method", "state"), [("tpe", "PRUNED"), ("nsgaii", "COMPLETE")])
def test_samplers_that_know_constraints_get_them_in_the_state_that_they_look_at(
    tmp_path: Path, method: str, state: str
) -> None:
    bench = Bench(tmp_path, method=method, parameters=PARAMETERS)
    teach(bench, LEARNT, peak_bytes=90, limit_bytes=100)
    teach(bench, [(512, 0.9, False)], peak_bytes=150, limit_bytes=100)
    search = Search(bench.desk.state().configuration, "gpu")  # type: ignore[arg-type]  # it has one
    search._catch_up(bench.desk.state())
    trials = search._study.get_trials(deepcopy=False)
    assert [each.state.name for each in trials[3:]] == [state] * 4
    seen = [each.constraints["memory"] for each in trials]
    assert seen == pytest.approx([-0.1, -0.1, -0.1, 0.05, 0.05, 0.05, 0.5])


@pytest.mark.parametrize("method", ["tpe", "nsgaii"])
def test_what_did_not_fit_on_another_kind_of_device_says_nothing_here(tmp_path: Path, method: str) -> None:
    bench = Bench(tmp_path, method=method, parameters=PARAMETERS)
    teach(bench, LEARNT, peak_bytes=90, limit_bytes=100)
    search = Search(bench.desk.state().configuration, "larger gpu")  # type: ignore[arg-type]  # it has one
    search._catch_up(bench.desk.state())
    trials = search._study.get_trials(deepcopy=False)
    assert [each.state.name for each in trials] == ["COMPLETE"] * 3 + ["FAIL"] * 3
    assert [each.constraints for each in trials[3:]] == [{}] * 3


def test_what_did_not_fit_is_never_told_with_a_value_that_nobody_reached(tmp_path: Path) -> None:
    bench = Bench(tmp_path, method="nsgaii", parameters=PARAMETERS)
    teach(bench, [(512, 0.9, False)])
    search = Search(bench.desk.state().configuration, "gpu")  # type: ignore[arg-type]  # it has one
    search._catch_up(bench.desk.state())
    assert [each.state.name for each in search._study.get_trials()] == ["RUNNING"]  # 0 would be better than all
    teach(bench, [(64, 7.0 / 8, True), (32, 0.5, True)])
    search._catch_up(bench.desk.state())
    assert [each.value for each in search._study.get_trials()] == [7.0 / 8, 7.0 / 8, 0.5]


def test_a_sampler_that_remembers_is_asked_again_and_the_others_are_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    for remembers in ((), ("tpe",)):
        monkeypatch.setattr("holter.sweeps.search.REMEMBERS", remembers)
        bench = Bench(tmp_path / str(remembers), method="tpe", parameters=PARAMETERS)
        samplers = []
        for _ in range(3):
            bench.finish(bench.take(), 1.0)
            samplers.append(bench.desk._searches["gpu"]._study.sampler)
        seen.append(len({*map(id, samplers)}))
    assert seen == [3, 1]
    other = bench.open()  # another server, with the same seed
    lease = bench.ask("b", desk=other).lease
    assert lease is not None
    assert lease.params["lr"] not in [each.params["lr"] for each in bench.desk.state().trials[:3]]


def test_importance_is_that_of_values_which_were_reached(tmp_path: Path) -> None:
    shares = []
    for method in ("nsgaii", "random"):
        bench = Bench(tmp_path / method, method=method, parameters=PARAMETERS)
        teach(bench, [(batch, lr / 20, True) for batch in (32, 64) for lr in range(20)])
        teach(bench, [(512, lr / 20, False) for lr in range(20)])
        shares.append(bench.desk.importance())
    assert shares[0] == shares[1]


def test_tpe_looks_at_pruned_trials_that_violate_a_constraint_and_not_at_failed_ones() -> None:
    import optuna
    from optuna.samplers._tpe.sampler import _split_trials
    from optuna.trial import TrialState, create_trial

    study = optuna.create_study()
    given = {"params": {"x": 1.0}, "distributions": {"x": optuna.distributions.FloatDistribution(0, 2)}}
    for state in (TrialState.PRUNED, TrialState.FAIL):
        study.add_trial(create_trial(state=state, system_attrs={"constraints:memory": 0.5}, **given))
    study.add_trial(create_trial(state=TrialState.COMPLETE, value=3.0, **given))
    used = study._get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED), use_cache=False)
    below, above = _split_trials(study, used, 1)
    assert [each.number for each in below] == [2]
    assert [each.number for each in above] == [0]


def test_nsga_takes_complete_trials_and_prefers_those_that_fit() -> None:
    import optuna
    from optuna.trial import TrialState, create_trial

    study = optuna.create_study(sampler=optuna.samplers.NSGAIISampler(population_size=2, seed=1))
    space = {"x": optuna.distributions.FloatDistribution(0, 2)}
    for x, constraint in ((0.1, 0.5), (1.0, -0.1), (1.1, -0.1)):
        attrs = {"constraints:memory": constraint, "NSGAIISampler:generation": 0}
        given = {"params": {"x": x}, "distributions": space, "system_attrs": attrs}
        study.add_trial(create_trial(state=TrialState.COMPLETE, value=x, **given))
    sampler = study.sampler
    assert isinstance(sampler, optuna.samplers.NSGAIISampler)
    chosen = sampler._elite_population_selection_strategy(study, study.get_trials())
    assert sorted(each.params["x"] for each in chosen) == [1.0, 1.1]


@pytest.mark.parametrize("method", ["random", "nsgaii"])
def test_a_point_where_all_died_is_drawn_again(tmp_path: Path, method: str) -> None:
    bench = Bench(tmp_path, method=method, parameters=PARAMETERS)
    teach(bench, LEARNT)
    assert [each.words for each in find_regions(bench.desk.state(), "gpu")] == ["batch >= 256"]
    for _ in range(30):
        lease = bench.take()
        assert lease.params["batch"] < 256
        bench.finish(lease, 1.0)
    # On another kind of device nothing is known yet.
    assert find_regions(bench.desk.state(), "other") == []
    bench.desk.change("allow", by="ada")
    assert find_regions(bench.desk.state(), "gpu") == []


def test_a_grid_passes_over_what_does_not_fit_and_says_so(tmp_path: Path) -> None:
    parameters = {"batch": {"values": [32, 64, 256]}, "n": {"values": list(range(10))}}
    bench = Bench(tmp_path, method="grid", parameters=parameters)
    while (answer := bench.ask()).lease is not None:
        if answer.lease.params["batch"] == 256:
            bench.die(answer.lease, "gpu-out-of-memory")
        else:
            bench.finish(answer.lease, 1.0)
    trials = bench.desk.state().trials
    assert len(trials) == 30
    passed_over = [each for each in trials if not each.attempts]
    assert 0 < len(passed_over) <= 7
    assert {each.params["batch"] for each in passed_over} == {256}
    assert "with batch >= 256 died" in passed_over[0].because


def test_a_region_of_two_parameters_is_found(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters={"batch": {"values": [64, 128, 256]}, "width": {"values": [256, 512, 1024]}})
    for batch in (64, 128, 256):
        for width in (256, 512, 1024):
            for _ in range(3):
                bench.desk.add({"batch": batch, "width": width})
                lease = bench.take()
                if batch * width > 130_000:
                    bench.die(lease, "gpu-out-of-memory")
                else:
                    bench.finish(lease, 1.0)
    regions = find_regions(bench.desk.state(), "gpu")
    assert {(each.words, each.died) for each in regions} == {
        ("batch >= 128 and width >= 1024", 6),
        ("batch >= 256 and width >= 512", 6),
    }


def test_deaths_without_a_reason_hardly_make_a_region() -> None:
    named = []
    for seed in range(12):
        generator = random.Random(seed)
        state = SweepState()
        parameters = {f"x{n}": {"min": 0.0, "max": 1.0} for n in range(4)}
        state.configuration = read_configuration({"method": "random", "parameters": parameters})
        for number in range(60):
            point = {name: generator.random() for name in parameters}
            ended = INFEASIBLE if generator.random() < 0.25 else FINISHED
            attempts = [Attempt(fence=1, run="r", agent="a", device="gpu")]
            state.trials.append(Trial(number=number, point=point, params=point, state=ended, attempts=attempts))
        named += find_regions(state, "gpu")
    assert len(named) <= 2


def test_hopeless_trials_end_early_and_the_others_see_it(tmp_path: Path) -> None:
    early = {"type": "hyperband", "min_iter": 2, "eta": 2}
    bench = Bench(tmp_path, parameters=PARAMETERS, early_terminate=early)
    for value in (0.1, 0.2, 0.3):
        lease = bench.take()
        assert not bench.say(lease, reports=((2, value),)).is_pruned or value > 0.1
        bench.finish(lease, value)
    # Another process compares with what all of them reported.
    bench.desk = bench.open()
    assert bench.say(bench.take("a"), "a", reports=((2, 5.0),)).is_pruned
    assert not bench.say(bench.take("b"), "b", reports=((2, 0.01),)).is_pruned


def test_median_waits_for_its_startup_trials(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=PARAMETERS, early_terminate={"type": "median", "startup": 2})
    for value in (1.0, 2.0):
        lease = bench.take()
        assert not bench.say(lease, reports=((1, value),)).is_pruned
        bench.finish(lease, value)
    assert bench.say(bench.take(), reports=((1, 9.0),)).is_pruned


def test_importance_names_what_matters(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=PARAMETERS)
    assert bench.desk.importance() == {}
    for _ in range(40):
        lease = bench.take()
        bench.finish(lease, lease.params["lr"])
    shares = bench.desk.importance()
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["lr"] > shares["batch"]


@pytest.mark.parametrize("method", ["random", "tpe", "nsgaii"])
def test_asking_warns_of_nothing(tmp_path: Path, method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bench = Bench(tmp_path, method=method, parameters=PARAMETERS)
        for _ in range(15):
            lease = bench.take()
            bench.finish(lease, lease.params["lr"])
    assert len(bench.states()) == 15


def test_a_sequence_does_not_begin_with_the_same_point_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from optuna import samplers

    def sequence(*, seed: int, independent_sampler: object = None, **_: bool) -> object:
        """What Optuna's draws until a trial has finished, without scipy."""
        return independent_sampler or samplers.RandomSampler(seed=seed)

    monkeypatch.setattr("holter.sweeps.search._NEEDS", {})
    monkeypatch.setattr(samplers, "QMCSampler", sequence)
    bench = Bench(tmp_path, method="qmc", parameters=PARAMETERS)
    drawn = []
    for agent in "abcd":
        lease = bench.take(agent)
        drawn.append(lease.params["lr"])
        if agent in "ab":
            bench.die(lease, "gpu-out-of-memory", agent)
    assert len(set(drawn)) == 4


def test_two_agents_draw_other_points_with_one_seed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=PARAMETERS)
    one, other = bench.desk.ask(asker("a")), bench.open().ask(asker("b"))
    assert one.lease is not None
    assert other.lease is not None
    assert one.lease.params["lr"] != other.lease.params["lr"]
