"""Habits of programs with TensorFlow and Keras, seen from inside of them. On the CPU."""

import gc
import sys
from typing import Any

import pytest

tensorflow = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

from holter.client.habits.clearing import Clearing  # noqa: E402
from holter.client.habits.eager import ENOUGH, Eager  # noqa: E402
from holter.client.habits.forking import noticed_at_fork  # noqa: E402

WEIGHTS = tensorflow.Variable([1.0, 2.0])


def step() -> None:
    with tensorflow.GradientTape() as tape:
        loss = tensorflow.reduce_sum(WEIGHTS * WEIGHTS)
    WEIGHTS.assign_sub(0.01 * tape.gradient(loss, WEIGHTS))


def noticed(train: Any) -> list[Any]:
    habit, plain = Eager(), tensorflow.GradientTape.__enter__
    assert list(habit.look(0.0, 1)) == []
    for _ in range(2 * ENOUGH):
        train()
    found = list(habit.look(10.0, 1 + 2 * ENOUGH))
    habit.close()
    assert tensorflow.GradientTape.__enter__ is plain
    return found


def test_a_step_that_runs_eagerly_is_noticed_with_its_line() -> None:
    [found] = noticed(step)
    assert found.habit == "eager-loop"
    assert found.where.endswith("in step()")
    assert found.times == 2 * ENOUGH


def test_a_step_in_a_graph_is_none() -> None:
    assert noticed(tensorflow.function(step)) == []


def test_a_session_that_is_cleared_while_one_model_trains_is_noticed_at_the_third_time() -> None:
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    habit = Clearing()
    found = [list(habit.look(0.0, 1))]
    for _ in range(3):
        keras.backend.clear_session()
        found.append(list(habit.look(1.0, 2)))
    assert [[each.times for each in seen] for seen in found] == [[], [], [], [3]]
    del model


def test_a_session_that_is_cleared_between_models_is_none() -> None:
    habit, kept = Clearing(), []
    for _ in range(5):
        kept.append(keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)]))
        keras.backend.clear_session()
        assert list(habit.look(1.0, 2)) == []
    kept.clear()
    gc.collect()


def test_a_fork_without_a_gpu_is_none() -> None:
    step()
    assert sys.modules["tensorflow.python.eager.context"]._context._context_handle is not None
    assert noticed_at_fork() is None
