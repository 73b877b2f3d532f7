"""Keras records by a callback."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

keras = pytest.importorskip("keras")

from holter.integrations.keras import HolterCallback, HolterCheckpoint  # noqa: E402


def model() -> Any:
    made = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    made.compile(optimizer="sgd", loss="mse")
    return made


def test_fit_records_batches_epochs_config_and_checkpoints(tmp_path: Path, recorded: Callable[[], Any]) -> None:
    x = numpy.ones((8, 4))
    saving = HolterCheckpoint(str(tmp_path / "m-{epoch}.keras"))
    net = model()
    net.fit(
        x,
        x[:, 0],
        batch_size=2,
        epochs=2,
        validation_data=(x, x[:, 0]),
        verbose=0,
        callbacks=[HolterCallback(), saving],
    )
    run = recorded()
    rows = {row["_step"]: row for row in run.scan_history()}
    assert [step for step, row in rows.items() if "batch/loss" in row] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [step for step, row in rows.items() if "epoch/val_loss" in row] == [4, 8]
    assert run.config["optimizer"]["name"].lower() == "sgd"
    assert run.summary["checkpoint"] == str(tmp_path / "m-2.keras")
    assert run.summary["checkpoint_step"] == 8


def test_autolog_records_every_fit(recorded: Callable[[], Any]) -> None:
    import holter.integrations.keras

    plain = keras.Model.fit
    holter.integrations.keras.autolog()
    try:
        model().fit(numpy.ones((4, 4)), numpy.ones(4), verbose=0)
    finally:
        keras.Model.fit = plain
    assert "epoch/loss" in set(recorded().keys())


def test_norms_of_gradients_are_recorded_where_keras_does_not_compile_the_step(recorded: Callable[[], Any]) -> None:
    net = model()
    net.fit(numpy.ones((8, 4)), numpy.ones(8), batch_size=2, verbose=0, callbacks=[HolterCallback(gradients=2)])
    assert "apply" not in vars(net.optimizer)
    run = recorded()
    norms = [key for key in run.keys() if key.startswith("gradients/")]  # noqa: SIM118  no dict
    if keras.backend.backend() == "torch":
        assert len(norms) == 2
        assert [row["_step"] for row in run.scan_history(norms[:1])] == [2, 4]
    else:
        assert norms == []


def test_the_older_callback_of_wandb_records_epochs_batches_and_gradients(recorded: Callable[[], Any]) -> None:
    from holter.wandb_door.lookup import door_module

    callback = door_module("wandb.keras").WandbCallback(log_batch_frequency=2, log_gradients=True)
    model().fit(numpy.ones((8, 4)), numpy.ones(8), batch_size=2, verbose=0, callbacks=[callback])
    run = recorded()
    assert [row["_step"] for row in run.scan_history(["batch/loss"])] == [2, 4]
    assert "loss" in run.keys()  # noqa: SIM118  no dict
