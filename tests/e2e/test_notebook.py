"""Kernels that die in all the ways there are, and what the next kernel of the notebook says about it."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kernel_deaths import BUSY, DEATHS, ENDS_WELL, OPEN, STUBBORN, kill_busy
from tests.e2e.kernels import Kernel, kernel_in
from tests.e2e.programs import only_run, rows, wait_until
from tests.zoo.cgroups import Cgroup, make_cgroup

LIMIT_BYTES = 400 << 20


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with kernel_in(tmp_path) as kernel:
        yield kernel


def state_of_only_run() -> tuple[str, str | None]:
    view = only_run().row
    return view.state, view.cause


@pytest.mark.parametrize("name", DEATHS)
def test_the_next_kernel_shows_how_the_one_before_died(name: str, kernel: Kernel, tmp_path: Path) -> None:
    death = DEATHS[name]
    kernel.run(OPEN)
    kernel.run("import numpy; data = numpy.ones(8_000_000)")

    death.die(kernel)

    assert state_of_only_run() == (death.state, death.cause)
    with kernel_in(tmp_path) as successor:
        shown = successor.run(OPEN)
        card = shown.card
        assert death.cause in card
        assert death.said in card
        assert "in cell In[3]" in card
        assert "data  numpy.ndarray" in card
        assert successor.run(OPEN).cards == []


def test_each_death_is_shown_once(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(OPEN)
    kill_busy(kernel)
    with kernel_in(tmp_path) as first:
        assert len(first.run(OPEN).cards) == 1
    with kernel_in(tmp_path) as second:
        assert second.run(OPEN).cards == []


def test_a_kernel_that_ran_out_of_its_memory_shows_the_curve_against_the_limit(small: Cgroup, tmp_path: Path) -> None:
    with kernel_in(tmp_path) as kernel:
        small.procs.write_text(str(kernel.pid))
        kernel.run(OPEN)
        kernel.run("held = []")
        wait_until(lambda: len(rows(only_run().row.directory, "sidecar")) >= 3)
        kernel.client.execute("while True:\n    held.append(bytearray(4 << 20)); time.sleep(0.02)")
        kernel.dies()
    assert state_of_only_run() == ("crashed", "cgroup-out-of-memory")
    with kernel_in(tmp_path) as successor:
        [shown] = successor.run(OPEN).cards
    assert "cgroup-out-of-memory" in shown["text/plain"]
    assert "of 400 MiB (its memory limit)" in shown["text/plain"]
    assert "held.append(bytearray(4 << 20))" in shown["text/plain"]
    assert "<svg" in shown["text/html"]
    assert "its memory limit: 400 MiB</text>" in shown["text/html"]


@pytest.fixture
def small() -> Iterator[Cgroup]:
    if os.geteuid():
        pytest.skip("not on this platform: only root can make cgroups")
    cgroup = make_cgroup("memory")
    cgroup.limit_memory(LIMIT_BYTES)
    yield cgroup
    cgroup.remove()


@pytest.mark.parametrize("code", [BUSY, STUBBORN], ids=["listens", "does not listen"])
def test_a_restart_in_the_middle_of_a_cell_is_shown(code: str, kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.begin(code)

    kernel.restart()

    assert state_of_only_run() == ("failed", "kernel-restarted")
    card = kernel.run(OPEN).card
    assert "kernel-restarted" in card
    assert "in cell In[2]" in card


def test_a_restart_interrupts_the_block_of_a_run_and_is_told_from_an_interrupt(kernel: Kernel) -> None:
    kernel.run("import holter, time")
    kernel.begin("with holter.init():\n    print('ready', flush=True)\n    time.sleep(100)")

    kernel.restart()

    assert state_of_only_run() == ("failed", "kernel-restarted")


@pytest.mark.parametrize("name", ENDS_WELL)
def test_a_kernel_that_ends_while_no_cell_runs_is_no_news(name: str, kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(OPEN)

    ENDS_WELL[name](kernel)

    assert state_of_only_run() == ("finished", None)
    with kernel_in(tmp_path) as successor:
        assert successor.run(OPEN).cards == []


def test_an_interrupt_ends_the_cell_and_nothing_else(kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.begin(BUSY)
    kernel.interrupt()
    assert "recording" in kernel.run("run").results[0]["text/html"]
    assert state_of_only_run() == ("running", None)
    time.sleep(2.2)  # a restart soon after would be taken for one that came with the interrupt
    kernel.restart()
    assert state_of_only_run() == ("finished", None)


def test_a_kernel_whose_run_had_finished_is_no_news(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(OPEN)
    kernel.run("run.finish()")
    kernel.begin(BUSY)
    kernel.kill()
    with kernel_in(tmp_path) as successor:
        assert successor.run(OPEN).cards == []


def test_init_in_a_cell_that_runs_again_ends_the_old_run_well(kernel: Kernel) -> None:
    kernel.run(OPEN)
    first = kernel.run("print(run.id)").stdout.strip()
    kernel.run(OPEN)
    assert kernel.run(f"print([each.state for each in holter.Api().runs() if each.id == {first!r}])").stdout == (
        "['finished']\n"
    )


def test_an_exception_that_leaves_the_block_of_the_run_is_its_failure(kernel: Kernel) -> None:
    kernel.run("import holter")
    kernel.run("with holter.init() as run:\n    raise ValueError('the batch is empty')")
    assert state_of_only_run() == ("failed", "uncaught-exception")


def test_a_death_whose_run_was_removed_is_no_news(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(OPEN)
    kill_busy(kernel)
    shutil.rmtree(only_run().row.directory)
    with kernel_in(tmp_path) as successor:
        assert successor.run(OPEN).cards == []


def test_a_living_kernel_beside_it_is_no_predecessor(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(OPEN)
    with kernel_in(tmp_path) as other:
        assert other.run(OPEN).cards == []


def test_a_notebook_is_known_by_its_path_wherever_its_kernel_starts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    book = {"JPY_SESSION_NAME": str(tmp_path / "book.ipynb")}
    with kernel_in(tmp_path / "a", **book) as kernel:
        kernel.run(OPEN)
        kill_busy(kernel)
    with kernel_in(tmp_path / "a", JPY_SESSION_NAME=str(tmp_path / "other.ipynb")) as other:
        assert other.run(OPEN).cards == []
    with kernel_in(tmp_path / "b", **book) as successor:
        assert "killed" in successor.run(OPEN).card


def test_a_notebook_of_vs_code_is_known_by_what_it_puts_into_the_namespace(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    begin = f"__vsc_ipynb_file__ = {str(tmp_path / 'book.ipynb')!r}"
    with kernel_in(tmp_path / "a") as kernel:
        kernel.run(begin)
        kernel.run(OPEN)
        kill_busy(kernel)
    with kernel_in(tmp_path / "b") as successor:
        successor.run(begin)
        assert "killed" in successor.run(OPEN).card


def test_what_the_cell_holds_and_printed_is_escaped(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(OPEN)
    kernel.client.execute("print('<script>alert(1)</script>')\nos._exit(4)  # <b>bold</b>")
    kernel.dies()
    with kernel_in(tmp_path) as successor:
        [shown] = successor.run(OPEN).cards
    assert "<script>alert(1)</script>" in shown["text/plain"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown["text/html"]
    assert "<script" not in shown["text/html"]
    assert "<b>bold" not in shown["text/html"]


def test_a_silent_run_shows_nothing_and_leaves_the_card_to_the_next(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run(OPEN)
    kill_busy(kernel)
    with kernel_in(tmp_path, HOLTER_SILENT="1") as silent:
        assert silent.run(OPEN).displays == []
    with kernel_in(tmp_path) as successor:
        assert "killed" in successor.run(OPEN).card
