"""Stable-Baselines3 records without TensorBoard in between."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stable_baselines3 import PPO

from holter.integrations.stable_baselines3 import HolterCallback, HolterCheckpoint


def test_learn_records_rows_config_and_checkpoints(tmp_path: Path, recorded: Callable[[], Any]) -> None:
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.learn(total_timesteps=96, callback=[HolterCallback(), HolterCheckpoint(32, str(tmp_path))])
    run = recorded()
    assert run.config["algorithm"] == "PPO"
    assert run.config["n_steps"] == 32
    assert [row["_step"] for row in run.scan_history(["time/iterations"])] == [32, 64, 96]
    assert run.summary["checkpoint"] == str(tmp_path / "rl_model_96_steps.zip")
