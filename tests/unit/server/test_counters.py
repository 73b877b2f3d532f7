"""Which metrics only count."""

import numpy as np
import pytest

from holter.server.query.counters import counters_of
from holter.storage.opening import open_storage
from holter.storage.series import Rows, SeriesBatch

STEPS = np.arange(3000, dtype=np.int64)
SHAPES = {
    "epoch": STEPS // 250,
    "train/epoch": STEPS / 777.0,
    "global_step": STEPS * 10,
    "seen": STEPS * 4096,
    "tokens": STEPS * 1000 + np.random.default_rng(3).integers(0, 40, 3000).cumsum(),
    "loss": 5 - STEPS / 1000,
    "lr": np.minimum(STEPS, 500) * 1e-6,
    "warmup": STEPS * 1e-6,
    "memory": np.minimum(STEPS, 1500) * 1024,
    "errors": STEPS // 2900,
}


def test_what_goes_up_with_one_slope_counts_and_nothing_else() -> None:
    storage = open_storage("memory:")
    values = np.stack([np.asarray(column, np.float64) for column in SHAPES.values()])
    storage.series.append(SeriesBatch("old", "a" * 32, 0, 9000, (Rows(tuple(SHAPES), STEPS, STEPS, STEPS, values),)))
    short = Rows(("epoch", "loss"), STEPS[:2], STEPS[:2], STEPS[:2], np.array([[0.0, 0.0], [1.0, 2.0]]))
    storage.series.append(SeriesBatch("new", "b" * 32, 0, 9000, (short,)))
    found = counters_of(storage.series, ["new", "old"], keys=list(SHAPES))
    assert found == {"epoch", "train/epoch", "global_step", "seen", "tokens"}
    assert counters_of(storage.series, ["new"], keys=["epoch"]) == set()


def test_of_many_metrics_only_those_are_looked_at_whose_names_count() -> None:
    storage = open_storage("memory:")
    keys = [f"layer/{at}" for at in range(400)] + ["epoch"]
    values = np.tile(STEPS[:100].astype(np.float64), (401, 1))
    storage.series.append(
        SeriesBatch("r", "a" * 32, 0, 9000, (Rows(tuple(keys), STEPS[:100], STEPS[:100], STEPS[:100], values),))
    )
    assert counters_of(storage.series, ["r"], keys=keys) == {"epoch"}
    assert counters_of(storage.series, ["r"], keys=keys[:100]) == set(keys[:100])


def test_a_few_whole_numbers_that_go_up_are_no_counter_unless_their_name_says_so() -> None:
    storage = open_storage("memory:")
    rows = Rows(("loss", "epoch"), STEPS[:5], STEPS[:5], STEPS[:5], np.tile(STEPS[:5].astype(np.float64), (2, 1)))
    storage.series.append(SeriesBatch("r", "a" * 32, 0, 9000, (rows,)))
    assert counters_of(storage.series, ["r"], keys=["loss", "epoch"]) == {"epoch"}


@pytest.mark.parametrize("runs", [[], ["gone"]])
def test_without_points_nothing_counts(runs: list[str]) -> None:
    assert counters_of(open_storage("memory:").series, runs, keys=["epoch"]) == set()
