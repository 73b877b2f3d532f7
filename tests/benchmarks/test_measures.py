"""Runs every measure of `make bench` in its quick mode, so that all of them work when somebody wants the figures."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.report import Result
from benchmarks.run import ROOT, measure_names

# The comparisons that --no-peers leaves out.
OF_PEERS = ("wandb offline", "trackio")


@pytest.mark.parametrize("measure", measure_names())
def test_a_quick_pass_yields_every_figure_of(measure: str, tmp_path: Path) -> None:
    if measure == "machine-death" and os.geteuid() != 0:
        pytest.skip("mounting a disk image needs root")
    command = [sys.executable, "benchmarks/run.py", measure, "--quick", "--no-peers", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = read(tmp_path / f"{measure}.json").found.figures
    assert figures
    missing = [figure.name for figure in figures if figure.measured is None]
    assert [name for name in missing if not name.endswith(OF_PEERS)] == []
    assert [figure.name for figure in figures if figure.name not in done.stdout] == []


def read(path: Path) -> Result:
    return msgspec.json.decode(path.read_bytes(), type=Result)
