"""Holter in the kernel and holter in its server: what both see is one story."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holter
from holter.journal.digest import read_opened
from holter.journal.rundir import list_segments
from holter.model.records import CellStarted, Exited, KernelAsked, Opened
from holter.version import __version__
from tests.e2e.programs import said, wait_until
from tests.jupyter.servers import Jupyter, Kernel, jupyter, why
from tests.jupyter.test_ends import DEAF, SAMPLED_S, run_of, wait_for_end

PACKAGE = Path(holter.__file__).parent
INIT = "import holter; run = holter.init(project='mnist'); holter.log({'loss': 1.0}); print(run.id)"


def runs(home: Path, *options: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "holter", "ls", "--json", *options]
    environment = {**os.environ, "HOLTER_DIR": str(home / "holter")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout)["runs"])


def of(kernel: Kernel, run: str) -> str:
    return str(kernel.jupyter.home / "holter" / "runs" / run)


def last_word(text: str) -> str:
    return text.rsplit(maxsplit=1)[-1]


def test_a_kernel_that_loads_the_extension_is_one_run_with_that_of_its_server(served: Jupyter, kernel: Kernel) -> None:
    run, pid = run_of(kernel), kernel.pid
    kernel.run("%load_ext holter")
    kernels = [each for each in runs(served.home, "--kernels") if each["name"] == "training.ipynb"]
    assert [each["id"] for each in kernels] == [run]
    assert [each for each in runs(served.home) if each["id"] == run] == []

    kernel.begin("import time\ntime.sleep(60)")
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)

    told = why(served.home, run)
    assert (told["state"], told["cause"]) == ("crashed", "killed")
    death = served.death(kernel)
    assert death["run"] == run
    assert "time.sleep(60)" in death["text"]
    assert "| begun" in death["text"]


def test_a_run_inside_the_kernel_learns_from_the_server_how_it_ended(served: Jupyter, kernel: Kernel) -> None:
    own, pid = run_of(kernel), kernel.pid
    run = last_word(kernel.run(INIT))
    assert run != own
    kernel.begin(DEAF)
    time.sleep(SAMPLED_S)
    kernel.restart()
    wait_for_end(pid)

    for each in (run, own):
        told = why(served.home, each)
        assert (told["state"], told["cause"]) == ("failed", "kernel-restarted")
    asked = said(of(kernel, run), KernelAsked, writer="witness")
    assert [(each.kind, each.is_busy) for each in asked if isinstance(each, KernelAsked)] == [
        ("interrupt", True),
        ("restart", True),
    ]
    (exited,) = said(of(kernel, run), Exited, writer="witness")
    assert isinstance(exited, Exited)
    assert (exited.pid, exited.source) == (pid, "wait")


def test_a_run_that_was_finished_before_is_not_touched_by_the_kernels_death(served: Jupyter, kernel: Kernel) -> None:
    own, pid = run_of(kernel), kernel.pid
    run = last_word(kernel.run(INIT))
    kernel.run("run.finish()")
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)

    assert why(served.home, run)["state"] == "finished"
    assert why(served.home, own)["cause"] == "killed"
    assert served.death(kernel)["run"] == own


def test_a_death_that_only_the_server_saw_is_shown_in_the_next_kernel_once(served: Jupyter, kernel: Kernel) -> None:
    run, pid = run_of(kernel), kernel.pid
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)
    kernel.forget_channels()

    card = kernel.run("%load_ext holter")
    assert "Somebody killed process" in card
    assert f"holter why {run}" in card
    assert "Somebody killed process" not in kernel.run(INIT)
    kernel.restart()
    assert "Somebody killed process" not in kernel.run("%load_ext holter")


@pytest.fixture
def without(served: Jupyter, tmp_path: Path) -> Iterator[Kernel]:
    """A kernel whose environment has no holter."""
    gone = tmp_path / "holter" / "__init__.py"
    gone.parent.mkdir()
    gone.write_text("raise ModuleNotFoundError(\"No module named 'holter'\", name='holter')")
    served.add_kernelspec("without", PYTHONPATH=str(tmp_path))
    made = served.open_notebook("without.ipynb", spec="without")
    yield made
    served.close_notebook(made)


def test_a_kernel_that_has_no_holter_is_recorded_and_explained(served: Jupyter, without: Kernel) -> None:
    assert "ModuleNotFoundError" in without.run("try:\n    import holter\nexcept ImportError as e:\n    print(repr(e))")
    assert served.memory(without)["kernel_bytes"] > 0
    run, pid = run_of(without), without.pid
    without.begin("import time\ntime.sleep(60)")
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)

    told = why(served.home, run)
    assert (told["state"], told["cause"]) == ("crashed", "killed")
    assert served.death(without)["run"] == run


@pytest.fixture
def older(served: Jupyter, tmp_path: Path) -> Iterator[Kernel]:
    """A kernel whose environment has another holter than its server."""
    copied = tmp_path / "holter"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("page", "__pycache__"))
    (copied / "version.py").write_text('"""Of another holter."""\n\n__version__ = "0.0.7"\n')
    served.add_kernelspec("older", PYTHONPATH=str(tmp_path))
    made = served.open_notebook("older.ipynb", spec="older")
    yield made
    served.close_notebook(made)


def test_a_kernel_with_another_version_of_holter_and_its_server_tell_one_story(served: Jupyter, older: Kernel) -> None:
    run, pid = run_of(older), older.pid
    assert older.run("%load_ext holter\nimport holter; print(holter.__version__)").endswith("0.0.7\n")
    inside = last_word(older.run(INIT))
    older.begin("import time\ntime.sleep(60)")
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)

    for each in (run, inside):
        told = why(served.home, each)
        assert (told["state"], told["cause"]) == ("crashed", "killed")
    assert {each.writer: each.holter for each in opened(of(older, run))}["client"] == "0.0.7"
    assert {each.writer: each.holter for each in opened(of(older, run))}["provisioner"] == __version__
    assert "time.sleep(60)" in served.death(older)["text"]
    older.forget_channels()
    assert "Somebody killed process" in older.run("%load_ext holter")


def opened(directory: str) -> list[Opened]:
    found = (read_opened(paths[0]) for paths in list_segments(directory).values())
    return [each for each in found if each is not None]


def test_a_killed_server_is_the_end_of_the_run_inside_its_kernel(tmp_path: Path) -> None:
    with jupyter(tmp_path / "home", HOLTER_DIR=str(tmp_path / "home" / "holter")) as served:
        kernel = served.open_notebook("left.ipynb")
        pid = kernel.pid
        run = last_word(kernel.run(INIT))
        wait_until(lambda: said(of(kernel, run), CellStarted))
        time.sleep(1.2)  # for its sidecar to be there
        kernel.forget_channels()
        served.process.kill()
        served.process.wait()
        wait_for_end(pid)

        told = why(served.home, run)
        assert (told["state"], told["cause"]) == ("crashed", "kernel-shut-down")
        assert told["title"].startswith("The Jupyter server died, and the notebook's kernel with it")
