"""fastai records by a callback."""

from collections.abc import Callable
from typing import Any

import torch
from fastai.data.core import DataLoaders
from fastai.learner import Learner

from holter.integrations.fastai import HolterCallback


def test_fit_records_batches_and_epochs(recorded: Callable[[], Any]) -> None:
    data = torch.utils.data.TensorDataset(torch.ones(8, 4), torch.ones(8, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    learner = Learner(DataLoaders(loader, loader), torch.nn.Linear(4, 1), loss_func=torch.nn.functional.mse_loss)
    learner.fit(2, cbs=HolterCallback())
    run = recorded()
    rows = {row["_step"]: row for row in run.scan_history()}
    assert [step for step, row in rows.items() if "train_loss" in row] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [step for step, row in rows.items() if "epoch/valid_loss" in row] == [4, 8]
    assert run.config["model"] == "Linear"
