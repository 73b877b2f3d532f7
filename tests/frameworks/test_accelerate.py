"""Accelerate records by `log_with="holter"`."""

from collections.abc import Callable
from typing import Any

from accelerate import Accelerator


def test_an_accelerator_records_config_and_rows(recorded: Callable[[], Any]) -> None:
    accelerator = Accelerator(log_with="holter", cpu=True)
    accelerator.init_trackers("cats", config={"lr": 0.1}, init_kwargs={"holter": {"name": "tiny"}})
    for step in range(3):
        accelerator.log({"loss": 1.0 / (step + 1)}, step=step)
    accelerator.end_training()
    run = recorded()
    assert (run.project, run.name, run.state) == ("cats", "tiny", "finished")
    assert run.config == {"lr": 0.1}
    assert [row["loss"] for row in run.scan_history()] == [1.0, 0.5, 1.0 / 3]
