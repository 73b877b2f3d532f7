"""A notebook whose training cell failed, and that is put away later; beside those that only tried something out."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kernels import Kernel, kernel_in
from tests.zoo.cgroups import make_cgroup

HOLTER = [sys.executable, "-m", "holter"]
OPEN = "import holter; run = holter.init(project='notebook')"
TRAIN = "def train():\n    for step in range(3):\n        run.log({'loss': step})\n"
FAIL = TRAIN + "    raise ValueError('no data')\ntrain()"


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with kernel_in(tmp_path) as kernel:
        yield kernel


def why(kernel: Kernel, run: str = "") -> dict[str, Any]:
    """The verdict once the notebook is put away."""
    kernel.shut_down()
    done = subprocess.run([*HOLTER, "why", "--json", *([run] if run else [])], capture_output=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_training_cell_that_failed_is_how_its_run_ended(kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.run(FAIL)
    kernel.run("1 + 1")
    kernel.run("len(None)")  # what people try out afterwards is not the cause
    told = why(kernel)
    assert (told["state"], told["cause"]) == ("failed", "uncaught-exception")
    assert told["title"].startswith("ValueError: no data, raised at In[2], line 4 in train")
    assert (told["cell"]["number"], told["cell"]["source"]) == (2, FAIL)
    text = subprocess.run([*HOLTER, "why"], capture_output=True, text=True, check=True).stdout
    assert "Cell In[2], after " in text


@pytest.mark.parametrize(
    "cells",
    [
        [TRAIN + "train()", "len(None)"],
        [FAIL, "run.log({'loss': 0.1})"],
        [FAIL, "run.finish()"],
        [TRAIN + "train()\nraise SystemExit(0)"],
        ["try:\n    1 / 0\nexcept ZeroDivisionError:\n    get_ipython().showtraceback()\n" + TRAIN + "train()"],
    ],
    ids=["an exploratory cell", "it went on", "said to be well", "left with 0", "shown and overcome"],
)
def test_a_cell_that_fails_on_the_way_is_not(kernel: Kernel, cells: list[str]) -> None:
    for cell in [OPEN, *cells]:
        kernel.run(cell)
    told = why(kernel)
    assert (told["state"], told["cause"]) == ("finished", None)


def test_a_script_that_failed_in_a_cell_counts_as_its_cell(kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import holter\nholter.log({'loss': 1.0})\nraise KeyError('lr')")
    kernel.run(OPEN)
    kernel.run("%run train.py")
    told = why(kernel)
    assert (told["state"], told["cause"]) == ("failed", "uncaught-exception")


def test_a_run_that_another_replaced_after_its_cell_failed_has_failed(kernel: Kernel) -> None:
    run = kernel.run(f"{OPEN}; print(run.id)").stdout.split()[-1]
    kernel.run(FAIL)
    kernel.run(OPEN)
    told = why(kernel, run)
    assert (told["state"], told["cause"]) == ("failed", "uncaught-exception")


def test_a_training_that_was_interrupted_is_as_with_ctrl_c(kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.begin(TRAIN + "train(); print('ready', flush=True)\nimport time; time.sleep(60)")
    kernel.interrupt()
    kernel.run("1 + 1")
    told = why(kernel)
    assert (told["state"], told["cause"]) == ("failed", "interrupted")


def test_a_worker_that_was_killed_for_memory_is_the_cause(kernel: Kernel) -> None:
    try:
        small = make_cgroup("memory")
    except OSError as error:
        pytest.skip(f"not on this platform: no cgroup can be made: {error}")
    try:
        small.limit_memory(100 << 20)
        work = (
            "import os, multiprocessing, concurrent.futures as futures\n"
            "def work(_):\n"
            f"    open({str(small.procs)!r}, 'w').write(str(os.getpid()))\n"
            "    return len([bytearray(4 << 20) for _ in range(100)])\n"
            "run.log({'loss': 1.0})\n"
            "context = multiprocessing.get_context('fork')\n"
            "with futures.ProcessPoolExecutor(1, mp_context=context) as pool:\n"
            "    list(pool.map(work, [1]))"
        )
        kernel.run(OPEN)
        assert "BrokenProcessPool" in kernel.run(work).error
        kernel.run("1 + 1")
        told = why(kernel)
    finally:
        small.remove()
    assert (told["state"], told["cause"]) == ("failed", "cgroup-out-of-memory")
