"""Hydra opens a run for each job."""

import subprocess
import sys
from pathlib import Path

from holter.api.recorded_runs import Api

PROGRAM = """
import hydra, holter
@hydra.main(version_base=None, config_path=".", config_name="config")
def main(config):
    holter.log({"loss": config.lr})
    if config.lr > 1: raise ValueError("too fast")
main()
"""
CONFIG = """
lr: 0.1
model: {width: 4}
hydra: {callbacks: {holter: {_target_: holter.integrations.hydra.HolterCallback, project: cats}}}
"""


def test_each_job_is_a_run_with_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "config.yaml").write_text(CONFIG)
    subprocess.run([sys.executable, "train.py"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([sys.executable, "train.py", "lr=2"], cwd=tmp_path, check=False, capture_output=True)
    subprocess.run([sys.executable, "train.py", "-m", "lr=0.3,0.4"], cwd=tmp_path, check=True, capture_output=True)
    found = {run.config["lr"]: run for run in Api().runs()}
    assert {lr: run.state for lr, run in found.items()} == {
        0.1: "finished",
        2: "failed",
        0.3: "finished",
        0.4: "finished",
    }
    assert found[0.1].config == {"lr": 0.1, "model": {"width": 4}}
    assert found[0.3].name == "lr=0.3"
    assert "too fast" in str(found[2].verdict())
