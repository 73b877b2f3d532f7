"""Which parameters matter: known answers, found again; and nothing is claimed where nothing can be known."""

import math
import random
import threading
import time

import pytest

from holter.errors import Refused
from holter.server.api import importance as route
from holter.server.api.importance import MOST_WAITING, Answers
from holter.server.query.importance import Importance, Parameter, Trial, importance_of

NOISE = {f"config.noise{number}": number for number in range(6)}


def sweep(many: int, seed: int = 0) -> list[Trial]:
    """The loss depends on the learning rate most, on the optimizer less, on nothing else."""
    chance = random.Random(seed)
    found = []
    for _ in range(many):
        lr, optimizer = 10 ** chance.uniform(-5, -1), chance.choice(["adam", "sgd", "lion"])
        loss = abs(math.log10(lr) + 3) + (0.8 if optimizer == "sgd" else 0.0) + chance.gauss(0, 0.05)
        noise = {name: chance.random() for name in NOISE}
        found.append(Trial({"config.lr": lr, "config.optimizer": optimizer, **noise}, loss))
    return found


def by_name(found: Importance) -> dict[str, Parameter]:
    return {each.name: each for each in found.parameters}


def test_what_matters_comes_first_and_noise_is_not_clear() -> None:
    found = importance_of(sweep(200), target="summary.loss")
    assert [each.name for each in found.parameters][:2] == ["config.lr", "config.optimizer"]
    assert found.explained > 0.7
    assert [each.name for each in found.parameters if each.is_clear] == ["config.lr", "config.optimizer"]
    assert math.isclose(sum(each.share for each in found.parameters), 1.0)
    assert by_name(found)["config.lr"].share > 0.6


def test_a_parameter_with_a_best_value_in_the_middle_matters_without_a_correlation() -> None:
    lr = by_name(importance_of(sweep(200), target="summary.loss"))["config.lr"]
    assert lr.correlation is not None
    assert abs(lr.correlation) < 0.2
    assert lr.share > 0.6


def test_a_correlation_is_that_of_the_order() -> None:
    trials = [
        Trial({"config.depth": float(depth), "config.kind": "ab"[depth % 2]}, math.exp(-depth)) for depth in range(20)
    ]
    found = by_name(importance_of(trials, target="summary.loss"))
    assert found["config.depth"].correlation == pytest.approx(-1.0)
    assert found["config.kind"].correlation is None


def test_the_same_runs_have_the_same_answer() -> None:
    assert importance_of(sweep(50), target="summary.loss") == importance_of(sweep(50), target="summary.loss")


def test_one_run_that_diverged_changes_little() -> None:
    usual = importance_of(sweep(100), target="summary.loss")
    diverged = importance_of([*sweep(100)[:-1], Trial(sweep(100)[-1].parameters, 1e30)], target="summary.loss")
    assert by_name(diverged)["config.lr"].share == pytest.approx(by_name(usual)["config.lr"].share, abs=0.15)


def test_where_nothing_matters_nothing_is_clear() -> None:
    chance = random.Random(3)
    trials = [Trial({name: chance.random() for name in NOISE}, chance.random()) for _ in range(60)]
    found = importance_of(trials, target="summary.loss")
    assert found.explained < 0.1
    assert not any(each.is_clear for each in found.parameters)


def test_missing_values_nan_categories_and_names_are_told_apart() -> None:
    trials = []
    for number, trial in enumerate(sweep(120)):
        parameters = dict(trial.parameters)
        parameters |= {"config.run_name": f"run {number}", "config.same": 1.0, "config.rate": parameters["config.lr"]}
        parameters["config.decay"] = "NaN" if number % 3 == 0 else 0.1
        if number % 2:
            parameters["config.warmup"] = float(number)
        trials.append(Trial(parameters, [trial.outcome, math.nan, None][0 if number < 100 else 1 + number % 2]))
    found = importance_of(trials, target="summary.loss")
    assert (found.total, found.runs) == (120, 100)
    assert found.names == ["config.run_name"]
    assert found.constant == 1
    named = by_name(found)
    assert named["config.lr"].same == ["config.rate"]
    assert (named["config.warmup"].runs, named["config.warmup"].values) == (50, 50)
    assert named["config.decay"].correlation is None


@pytest.mark.parametrize(
    ("trials", "problem"),
    [
        (sweep(4), "needs at least 10 runs with a number under loss: there are 4"),
        ([Trial({"config.lr": 1.0}, None)] * 20, "needs at least 10 runs with a number under loss: there is none"),
        (
            [Trial(each.parameters, 0.5) for each in sweep(12)],
            "needs runs that differ in loss: it is the same in all 12",
        ),
        (
            [Trial({"config.lr": 1.0}, float(n)) for n in range(12)],
            "needs runs that differ in a parameter: all have the same values",
        ),
        ([Trial({}, float(n)) for n in range(12)], "needs runs that differ in a parameter: none was configured"),
    ],
)
def test_what_is_needed_is_said(trials: list[Trial], problem: str) -> None:
    found = importance_of(trials, target="summary.loss")
    assert (found.problem, found.parameters) == (problem, [])


def test_only_what_is_asked_for_is_looked_at() -> None:
    found = importance_of(sweep(40), target="summary.loss", only=["config.optimizer"])
    assert [each.name for each in found.parameters] == ["config.optimizer"]


def test_an_answer_is_computed_once_while_its_runs_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []

    def count(trials: list[Trial], *, target: str, only: list[str]) -> Importance:
        computed.append(len(trials))
        return importance_of(trials, target=target, only=only)

    monkeypatch.setattr(route, "importance_of", count)
    answers = Answers()
    for trials in (sweep(20), sweep(20), sweep(21)):
        answers.answer(trials, target="summary.loss", only=[])
    assert computed == [20, 21]


def test_few_wait_while_one_is_computed_and_the_next_are_told_when_to_ask_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()

    def wait(trials: list[Trial], **more: object) -> Importance:
        assert go_on.wait(60)
        return Importance(runs=len(trials))

    monkeypatch.setattr(route, "importance_of", wait)
    answers, done = Answers(), []

    def ask(many: int) -> None:
        done.append(answers.answer(sweep(many), target="summary.loss", only=[]).runs)

    waiting = [threading.Thread(target=ask, args=(many,)) for many in range(1, MOST_WAITING + 2)]
    for each in waiting:
        each.start()
    until = time.monotonic() + 60
    while answers.free_places and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(Refused, match="others wait"):
        answers.answer(sweep(9), target="summary.loss", only=[])
    go_on.set()
    for each in waiting:
        each.join(60)
    assert sorted(done) == [1, 2, 3, 4, 5]
