"""The Trainer of transformers records itself by `report_to="holter"`."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer, TrainingArguments

import holter
from holter.api.recorded_runs import Api
from holter.artifacts.wholeness import Judged, judge
from holter.catalog.read.going_on import way_on
from holter.cli.choice import open_catalog


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        y = self.layer(x).squeeze(-1)
        return {"loss": ((y - labels) ** 2).mean(), "logits": y}


DATA = [{"x": torch.ones(4) * i / 8, "labels": torch.tensor(float(i))} for i in range(8)]


def train(place: Path, **more: Any) -> None:
    args = TrainingArguments(
        output_dir=str(place),
        max_steps=6,
        per_device_train_batch_size=4,
        logging_steps=2,
        save_steps=3,
        eval_strategy="steps",
        eval_steps=3,
        learning_rate=0.1,
        use_cpu=True,
        disable_tqdm=True,
        **more,
    )
    Trainer(model=Net(), args=args, train_dataset=DATA, eval_dataset=DATA).train()


def test_a_trainer_records_rows_config_and_checkpoints(tmp_path: Path, recorded: Callable[[], Any]) -> None:
    train(tmp_path, report_to="holter", run_name="tiny")
    run = recorded()
    assert (run.name, run.state) == ("tiny", "finished")
    assert run.config["learning_rate"] == 0.1
    rows = {row["_step"]: row for row in run.scan_history()}
    assert [step for step, row in rows.items() if "train/loss" in row] == [2, 4, 6]
    assert [step for step, row in rows.items() if "eval/loss" in row] == [3, 6]
    assert run.summary["checkpoint"] == str(tmp_path / "checkpoint-6")
    assert run.summary["checkpoint_step"] == 6
    assert run.summary["train_runtime"] > 0
    written = tmp_path / "checkpoint-6"
    assert judge(str(written)) == Judged("huggingface", "", 6)
    way = way_on(open_catalog().load(run.id))
    assert way is not None
    assert (way.checkpoint.step, way.checkpoint.path) == (6, str(written))
    (written / "trainer_state.json").unlink()
    assert "trainer_state.json is missing" in judge(str(written)).trouble
    (written / "model.safetensors").write_bytes((written / "model.safetensors").read_bytes()[:-1])
    assert judge(str(written)).trouble


def test_a_second_training_goes_on_in_the_active_run(tmp_path: Path, recorded: Callable[[], Any]) -> None:
    run = holter.init(project="mine", config={"learning_rate": "mine"})
    train(tmp_path, report_to="holter")
    train(tmp_path, report_to=["holter"])
    found = recorded()
    assert found.id == run.id
    assert found.config["learning_rate"] == "mine"


DIES = """
import holter, torch
from transformers import Trainer, TrainingArguments
from tests.frameworks.test_transformers import Net, DATA
class Dies(Net):
    def forward(self, **kwargs):
        Dies.calls = getattr(Dies, "calls", 0) + 1
        if Dies.calls > 3: raise RuntimeError("the data is torn")
        return super().forward(**kwargs)
args = TrainingArguments(output_dir="o", max_steps=6, logging_steps=1, use_cpu=True, report_to="holter")
Trainer(model=Dies(), args=args, train_dataset=DATA).train()
"""


def test_a_training_that_raises_is_a_failed_run(recorded: Callable[[], Any], pytestconfig: pytest.Config) -> None:
    died = subprocess.run([sys.executable, "-c", DIES], cwd=pytestconfig.rootpath, check=False, capture_output=True)
    assert died.returncode == 1, died.stderr
    run = recorded()
    assert run.state == "failed"
    assert run.verdict()["cause"] == "uncaught-exception"


def test_autolog_needs_no_argument(tmp_path: Path, pytestconfig: pytest.Config, recorded: Callable[[], Any]) -> None:
    program = f"""
import holter, pathlib
holter.autolog()
from tests.frameworks.test_transformers import train
train(pathlib.Path({str(tmp_path)!r}), report_to="none")
"""
    subprocess.run([sys.executable, "-c", program], cwd=pytestconfig.rootpath, check=True, capture_output=True)
    assert recorded().summary["checkpoint_step"] == 6


RANKS = """
from tests.frameworks.test_transformers import train
import pathlib, sys
train(pathlib.Path(sys.argv[1]), report_to="holter")
"""


def test_all_ranks_of_torchrun_are_one_run(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(pytestconfig.rootpath))
    (tmp_path / "ranks.py").write_text("import holter\n" + RANKS)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run([*command, str(tmp_path / "ranks.py"), str(tmp_path)], check=True, capture_output=True)
    (run,) = Api().runs()
    assert [row["_step"] for row in run.scan_history(["train/loss"])] == [2, 4, 6]
    assert len(list((tmp_path / "holter" / "runs" / run.id).glob("*-000001.seg"))) >= 2
