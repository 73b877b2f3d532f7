"""Lightning records by a logger, and without a line where it is asked to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from holter.integrations.lightning import HolterLogger


class Net(LightningModule):
    def __init__(self, rate: float = 0.1) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch: Any, _: int) -> Any:
        loss = self.layer(batch).mean()
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: Any, _: int) -> None:
        self.log("val_loss", self.layer(batch).mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=self.hparams["rate"])


def fit(place: Path, logger: Any) -> None:
    data = torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=2)
    trainer = Trainer(
        logger=logger,
        max_epochs=2,
        log_every_n_steps=2,
        accelerator="cpu",
        default_root_dir=place,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[ModelCheckpoint(monitor="val_loss")],
    )
    trainer.fit(Net(), data, data)


def test_a_trainer_records_rows_config_and_checkpoints(tmp_path: Path, recorded: Callable[[], Any]) -> None:
    fit(tmp_path, HolterLogger(project="cats", name="tiny"))
    run = recorded()
    assert (run.project, run.name, run.state) == ("cats", "tiny", "finished")
    assert run.config == {"rate": 0.1}
    rows = {row["_step"]: row for row in run.scan_history()}
    assert [step for step, row in rows.items() if "loss" in row] == [1, 3, 5, 7]
    assert [step for step, row in rows.items() if "val_loss" in row] == [3, 7]
    assert Path(run.summary["checkpoint"]).is_file()
    assert Path(run.summary["best_checkpoint"]).is_file()


def test_no_line_is_needed_where_the_environment_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: Callable[[], Any]
) -> None:
    monkeypatch.setenv("HOLTER_AUTOLOG", "1")
    fit(tmp_path, logger=False)
    run = recorded()
    assert run.config == {"rate": 0.1}
    assert "loss" in set(run.keys())
