"""Programs that use a framework's own way to W&B, unchanged, under `holter run --as-wandb`."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holter.api.recorded_runs import Api

TRANSFORMERS = """
import pathlib
from tests.frameworks.test_transformers import train
train(pathlib.Path("out"), report_to="wandb", run_name="tiny")
"""
ACCELERATE = """
from accelerate import Accelerator
accelerator = Accelerator(log_with="wandb", cpu=True)
accelerator.init_trackers("cats", config={"lr": 0.1}, init_kwargs={"wandb": {"name": "tiny"}})
for step in range(3):
    accelerator.log({"loss": 1.0 / (step + 1)}, step=step)
accelerator.end_training()
"""
LIGHTNING = """
import pathlib, numpy
from lightning.pytorch.loggers import WandbLogger
from tests.frameworks.test_lightning import Net, fit
logger = WandbLogger(project="cats", name="tiny", log_model=True, save_dir="logs")
logger.watch(Net())
fit(pathlib.Path("."), logger)
logger.log_image(key="samples", images=[numpy.zeros((4, 4, 3), "uint8")])
logger.log_table(key="table", columns=["a"], data=[[1]])
"""
KERAS = """
import numpy, wandb
from wandb.integration.keras import WandbEvalCallback, WandbMetricsLogger, WandbModelCheckpoint
from tests.frameworks.test_keras import model
wandb.init(project="cats", name="tiny", config={"bs": 2})
x = numpy.ones((8, 4))
class Eval(WandbEvalCallback):
    def add_ground_truth(self, logs=None):
        for place, row in enumerate(x):
            self.data_table.add_data(place, row.tolist())
    def add_model_predictions(self, epoch, logs=None):
        for place, guess in enumerate(self.model.predict(x, verbose=0)):
            self.pred_table.add_data(epoch, self.data_table_ref.data[place][0], float(guess[0]))
model().fit(x, x[:, 0], batch_size=2, epochs=2, validation_data=(x, x[:, 0]), verbose=0,
            callbacks=[WandbMetricsLogger(log_freq=2), WandbModelCheckpoint("m-{epoch}.keras"),
                       Eval(["place", "x"], ["epoch", "place", "guess"])])
wandb.finish()
"""
SB3 = """
import wandb
from stable_baselines3 import PPO
from wandb.integration.sb3 import WandbCallback
run = wandb.init(project="cats", name="tiny", sync_tensorboard=True, save_code=True)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu",
            tensorboard_log=f"runs/{run.id}")
model.learn(total_timesteps=96, callback=WandbCallback(gradient_save_freq=1, model_save_path=f"models/{run.id}",
                                                       model_save_freq=32, verbose=2))
run.finish()
"""
BOOSTING = """
import numpy, wandb, xgboost, lightgbm
from wandb.integration.lightgbm import wandb_callback
from wandb.integration.xgboost import WandbCallback
rng = numpy.random.default_rng(0)
x = rng.normal(size=(80, 3)); y = (x[:, 0] > 0).astype(int)
with wandb.init(project="cats", name="tiny"):
    data = xgboost.DMatrix(x, y)
    xgboost.train({"objective": "binary:logistic"}, data, 3, evals=[(data, "train")], verbose_eval=False,
                  callbacks=[WandbCallback(log_model=False)])
with wandb.init(project="cats", name="light"):
    lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(x, y), 3,
                   valid_sets=[lightgbm.Dataset(x, y)], callbacks=[wandb_callback()])
"""

Recorded = Callable[[str], tuple[Any, str]]


@pytest.fixture
def train(tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """Lets a program train; returns its only run, or the first, and what it was told."""
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))
    monkeypatch.setenv("HOLTER_QUIET", "1")
    monkeypatch.delenv("HOLTER_SILENT")

    def trained(source: str) -> tuple[Any, str]:
        script = tmp_path / "train.py"
        script.write_text(source)
        command = [sys.executable, "-m", "holter", "run", "--as-wandb", "--", sys.executable, str(script)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
        assert done.returncode == 0, done.stderr
        run = next(each for each in Api().runs() if each.name == "tiny")
        assert run.state == "finished"
        return run, "\n".join(line for line in done.stderr.splitlines() if line.startswith("holter: "))

    return trained


def keys_of(run: Any) -> set[str]:
    return set(run.keys())


def steps_of(run: Any, key: str) -> list[int]:
    return [row["_step"] for row in run.scan_history([key])]


def test_transformers(train: Recorded) -> None:
    run, said = train(TRANSFORMERS)
    rows = [row for row in run.scan_history() if "train/loss" in row]
    assert [row["train/global_step"] for row in rows] == [2, 4, 6]
    assert run.config["learning_rate"] == 0.1
    assert "eval/loss" in keys_of(run)
    assert said == ""


def test_accelerate(train: Recorded) -> None:
    run, said = train(ACCELERATE)
    assert [(row["_step"], row["loss"]) for row in run.scan_history()] == [(0, 1.0), (1, 0.5), (2, 1 / 3)]
    assert (run.project, run.config, said) == ("cats", {"lr": 0.1}, "")


def test_lightning(train: Recorded) -> None:
    run, said = train(LIGHTNING)
    rows = list(run.scan_history())
    assert [row["trainer/global_step"] for row in rows if "loss" in row] == [1, 3, 5, 7]
    assert [row["trainer/global_step"] for row in rows if "val_loss" in row] == [3, 7]
    assert run.config["rate"] == 0.1
    assert {medium.key for medium in run.media()} == {"samples", "table"}
    assert [artifact.type for artifact in Api().artifacts(type="model")]
    assert said == "holter: watch(): log_graph is not supported, and changes nothing", "Lightning asks for it"


def test_keras(train: Recorded) -> None:
    run, said = train(KERAS)
    assert {"epoch/val_loss", "epoch/epoch", "epoch/learning_rate", "batch/loss"} <= keys_of(run)
    assert sorted(medium.key for medium in run.media()) == ["eval_data", "eval_data", "val_data"]
    assert run.summary["checkpoint"].endswith("m-2.keras")
    assert (run.config["bs"], said) == (2, "")


def test_stable_baselines3(train: Recorded, tmp_path: Path) -> None:
    run, said = train(SB3)
    assert steps_of(run, "time/fps")
    assert steps_of(run, "rollout/ep_rew_mean")
    assert any(key.startswith(("gradients/", "watch/")) for key in keys_of(run)), keys_of(run)
    assert (tmp_path / "models" / run.id / "model.zip").is_file()
    assert "files/model.zip" in {file.path for file in run.files()}
    assert run.summary["checkpoint_step"] == 96
    assert said == ""


def test_boosting(train: Recorded) -> None:
    run, said = train(BOOSTING)
    assert len(steps_of(run, next(key for key in keys_of(run) if "logloss" in key))) == 3
    light = next(each for each in Api().runs() if each.name == "light")
    assert len(steps_of(light, next(key for key in keys_of(light) if "logloss" in key))) == 3
    assert said == ""
