"""Runs the measures of `make bench-server` that need a real server in their quick mode, so that all of them work."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.report import Result
from benchmarks.server_run import ROOT


@pytest.mark.parametrize(
    "measure", ["ingest", "reads", "tables", "kills", "network", "live", "many", "strangers", "fleet"]
)
def test_a_quick_pass_yields_every_figure_of(measure: str, tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/server_run.py", measure, "--quick", "--results", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    found = msgspec.json.decode((tmp_path / f"server-{measure}.json").read_bytes(), type=Result).found
    assert found.figures
    assert [figure.name for figure in found.figures if figure.measured is None] == []
    assert [figure.name for figure in found.figures if figure.name not in done.stdout] == []
