"""Kernels of a real Jupyter server that never import holter: how each of them ended, and why."""

import contextlib
import os
import signal
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.programs import wait_until
from tests.jupyter.servers import Jupyter, Kernel, dying_at_start, jupyter, why
from tests.zoo.cgroups import Cgroup, make_cgroup

SLEEP = "import time; time.sleep(60)"
# Holds the interpreter's lock, so that neither an interrupt nor a request to shut down is heard; but not before the
# kernel could say that it is busy.
DEAF = "import ctypes, time; time.sleep(1); ctypes.PyDLL(None).sleep(60)"
SAMPLED_S = 1.2


@pytest.fixture
def small() -> Iterator[Cgroup]:
    try:
        made = make_cgroup("memory")
    except OSError as error:
        pytest.skip(f"not on this platform: no cgroup can be made: {error}")
    made.limit_memory(200 << 20)
    yield made
    made.remove()


def run_of(kernel: Kernel) -> str:
    """The run that the server made for the process that the kernel is now."""
    return kernel.run("import os; print(os.environ['HOLTER_KERNEL'])").partition(":")[0]


def verdict(kernel: Kernel, run: str) -> tuple[str, str | None]:
    told: dict[str, Any] = {}

    def is_over() -> bool:  # Jupyter has read how its kernel left
        told.update(why(kernel.jupyter.home, run))
        return bool(told["state"] != "running")

    wait_until(is_over)
    print(told)  # for who wants to know why a test failed
    return told["state"], told["cause"]


def wait_for_end(pid: int) -> None:
    wait_until(lambda: _is_gone(pid), within_s=60)


def _is_gone(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@pytest.mark.parametrize("cell", ["", SLEEP], ids=["idle", "busy"])
def test_a_kernel_that_somebody_killed(kernel: Kernel, cell: str) -> None:
    run, pid = run_of(kernel), kernel.pid
    if cell:
        kernel.begin(cell)
    os.kill(pid, signal.SIGKILL)
    wait_for_end(pid)

    assert verdict(kernel, run) == ("crashed", "killed")
    death = kernel.jupyter.death(kernel)
    assert (death["run"], death["is_death"], death["notebook"]) == (run, True, "training.ipynb")
    assert death["is_given_up"] is False


def test_a_kernel_that_the_system_killed_for_memory(kernel: Kernel, small: Cgroup) -> None:
    run, pid = run_of(kernel), kernel.pid
    small.procs.write_text(str(pid))
    time.sleep(SAMPLED_S)
    kernel.begin(
        "import time; time.sleep(1)\nx = []\nwhile True: x.append(bytearray(4 << 20))"
    )  # else before it is heard
    wait_for_end(pid)

    assert verdict(kernel, run) == ("crashed", "cgroup-out-of-memory")
    death = kernel.jupyter.death(kernel)
    assert death["cause"] == "cgroup-out-of-memory"
    assert "of 200 MiB (its memory limit)" in death["text"]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("import ctypes; ctypes.string_at(0)", ("crashed", "segmentation-fault")),
        ("import os; os.abort()", ("crashed", "aborted")),
        ("import os; os._exit(3)", ("failed", "nonzero-exit")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", ("crashed", "terminated")),
    ],
    ids=["segfault", "abort", "_exit", "sigterm"],
)
def test_a_kernel_that_died_in_a_cell(kernel: Kernel, cell: str, expected: tuple[str, str]) -> None:
    run, pid = run_of(kernel), kernel.pid
    kernel.client.execute(cell)
    wait_for_end(pid)

    assert verdict(kernel, run) == expected
    assert kernel.jupyter.death(kernel)["is_death"] is True


def test_exit_in_a_cell_is_no_crash_but_is_told(kernel: Kernel) -> None:
    run, pid = run_of(kernel), kernel.pid
    kernel.client.execute("exit()")
    wait_for_end(pid)

    assert verdict(kernel, run) == ("finished", None)
    death = kernel.jupyter.death(kernel)
    assert death["is_death"] is True
    assert (
        death["title"] == "The notebook's kernel exited by itself with exit code 0, as after exit() or quit() in a cell"
    )


@pytest.mark.parametrize("end", ["restart", "shut_down"])
def test_a_kernel_that_was_told_to_end_while_idle_ended_well(kernel: Kernel, end: str) -> None:
    run, pid = run_of(kernel), kernel.pid
    getattr(kernel, end)()
    wait_for_end(pid)

    assert verdict(kernel, run) == ("finished", None)
    assert kernel.jupyter.death(kernel)["is_death"] is False


@pytest.mark.parametrize("cell", [SLEEP, DEAF], ids=["that listens", "that is deaf"])
@pytest.mark.parametrize(
    ("end", "expected"),
    [("restart", ("failed", "kernel-restarted")), ("shut_down", ("failed", "kernel-shut-down"))],
)
def test_a_kernel_that_was_told_to_end_in_a_cell(
    kernel: Kernel, cell: str, end: str, expected: tuple[str, str]
) -> None:
    run, pid = run_of(kernel), kernel.pid
    kernel.begin(cell)
    time.sleep(SAMPLED_S)
    getattr(kernel, end)()
    wait_for_end(pid)

    assert verdict(kernel, run) == expected


def test_an_interrupt_ends_a_cell_and_not_the_kernel(kernel: Kernel) -> None:
    run, pid = run_of(kernel), kernel.pid
    kernel.begin(SLEEP)
    kernel.interrupt()
    wait_until(lambda: kernel.state == "idle")
    told = why(kernel.jupyter.home, run)
    assert (told["state"], told["cause"]) == ("running", None)

    time.sleep(SAMPLED_S)  # or the restart would be one with the interrupt
    kernel.restart()
    wait_for_end(pid)
    assert verdict(kernel, run) == ("finished", None)


def test_what_the_server_does_to_a_dead_kernel_is_no_cause(kernel: Kernel) -> None:
    run, pid = run_of(kernel), kernel.pid
    kernel.begin(SLEEP)
    restarts = kernel.jupyter.log().count("restarting kernel")
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: kernel.jupyter.log().count("restarting kernel") > restarts, within_s=60)
    kernel.forget_channels()
    assert kernel.pid != pid

    told = why(kernel.jupyter.home, run)
    assert (told["state"], told["cause"]) == ("crashed", "killed")
    assert told["confidence"] >= 0.9
    assert run_of(kernel) != run


def test_five_deaths_in_a_row_are_counted_and_each_is_explained(served: Jupyter, tmp_path: Path) -> None:
    with dying_at_start(served, tmp_path / "die") as die:
        kernel = served.open_notebook("loop.ipynb")
        pid = kernel.pid
        die.touch()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(_deaths_of(served, kernel)) == 6 and served.death(kernel)["in_a_row"] == 6, within_s=90)
        wait_until(lambda: served.death(kernel)["is_given_up"], within_s=60)
    deaths = _deaths_of(served, kernel)

    assert [each["facts"]["deaths_before"] for each in deaths] == [0, 1, 2, 3, 4, 5]
    assert [verdict(kernel, each["run"]) for each in deaths] == [("crashed", "killed")] * 6
    assert served.death(kernel)["in_a_row"] == 6


@pytest.mark.parametrize("cell", ["", SLEEP], ids=["idle", "busy"])
def test_a_server_that_is_killed_takes_its_kernels_along(tmp_path: Path, cell: str) -> None:
    with jupyter(tmp_path / "home", HOLTER_DIR=str(tmp_path / "home" / "holter")) as served:
        kernel = served.open_notebook("left.ipynb")
        run, pid = run_of(kernel), kernel.pid
        if cell:
            kernel.begin(cell)
        kernel.forget_channels()
        served.process.kill()
        served.process.wait()
        wait_for_end(pid)

        told = why(served.home, run)
        assert (told["state"], told["cause"]) == ("crashed", "kernel-shut-down")
        assert told["title"] == "The Jupyter server died, and the notebook's kernel with it"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("", ("finished", None)), (SLEEP, ("failed", "kernel-shut-down"))],
    ids=["idle", "busy"],
)
def test_a_server_that_is_stopped_shuts_its_kernels_down(
    tmp_path: Path, cell: str, expected: tuple[str, str | None]
) -> None:
    with jupyter(tmp_path / "home", HOLTER_DIR=str(tmp_path / "home" / "holter")) as served:
        kernel = served.open_notebook("stopped.ipynb")
        run = run_of(kernel)
        if cell:
            kernel.begin(cell)
            time.sleep(SAMPLED_S)
        kernel.forget_channels()
        served.process.terminate()
        served.process.wait(30)

        assert verdict(kernel, run) == expected


def test_a_kernel_whose_environment_lacks_ipykernel_says_so_and_how_to_mend_it(served: Jupyter, tmp_path: Path) -> None:
    venv.create(tmp_path / "hollow", with_pip=False, symlinks=True)
    python = tmp_path / "hollow" / "bin" / "python"
    served.add_kernelspec("hollow", python=str(python))
    kernel = served.open_notebook("hollow.ipynb", spec="hollow")
    wait_until(lambda: served.http.get(f"/holter/kernels/{kernel.id}/death").status_code == 200, within_s=30)
    death = served.death(kernel)
    served.close_notebook(kernel)

    assert (death["state"], death["cause"]) == ("failed", "uncaught-exception")
    told = "The notebook's kernel could not start: ModuleNotFoundError: No module named 'ipykernel'"
    assert death["title"] == told
    assert death["advice"][0] == f"install it for the notebook's kernel: {python} -m pip install ipykernel"


def test_a_kernel_whose_python_is_gone_says_how_to_mend_it(served: Jupyter) -> None:
    served.add_kernelspec("gone", python="/nowhere/bin/python")
    asked = {"path": "gone.ipynb", "name": "gone.ipynb", "type": "notebook", "kernel": {"name": "gone"}}
    answer = served.http.post("/api/sessions", json=asked)
    assert answer.status_code == 500
    assert "the Python of this notebook's kernel is gone" in answer.json()["message"]
    assert "`jupyter kernelspec remove gone`" in answer.json()["message"]


def _deaths_of(served: Jupyter, kernel: Kernel) -> list[dict[str, Any]]:
    """The recorded processes of one kernel, in the order of their starts."""
    from holter.catalog.read.loaded_run import load_run
    from holter.model.state import Lateness

    found = []
    for directory in (served.home / "holter" / "runs").iterdir():
        loaded = load_run(str(directory), now_ns=time.time_ns(), lateness=Lateness())
        if loaded is not None and loaded.facts.get("jupyter", {}).get("id") == kernel.id:
            found.append({"run": loaded.row.id, "facts": loaded.facts["jupyter"], "at": loaded.row.started_at})
    return sorted(found, key=lambda each: each["at"])
