"""The page stays light, and every measure of `make bench-page` works when somebody wants the figures."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.figures import Figure
from benchmarks.page_run import MEASURES, ROOT
from benchmarks.report import Result


def take(measure: str, folder: Path) -> list[Figure]:
    command = [sys.executable, "benchmarks/page_run.py", measure, "--quick", "--no-peers", "--results", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr
    figures = msgspec.json.decode((folder / f"page-{measure}.json").read_bytes(), type=Result).found.figures
    assert [figure.name for figure in figures if figure.name not in done.stdout] == []
    return figures


def test_the_scripts_that_a_browser_loads_stay_light(tmp_path: Path) -> None:
    figures = take("weight", tmp_path)
    assert [figure.at_most for figure in figures] == [120, 200]
    assert [figure.verdict for figure in figures] == ["met", "met"]


@pytest.mark.parametrize("measure", [name for name in MEASURES if name != "weight"])
def test_a_quick_pass_yields_every_figure_of(measure: str, tmp_path: Path) -> None:
    figures = take(measure, tmp_path)
    assert figures
    assert [figure.name for figure in figures if figure.measured is None] == []
