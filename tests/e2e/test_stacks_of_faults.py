"""Native crashes, really provoked: everybody shows the stack of the thread that died, and none of holter's own."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.e2e.kernel_deaths import OPEN, end_by
from tests.e2e.kernels import kernel_in
from tests.e2e.programs import only_run, run

HOLTER = [sys.executable, "-m", "holter"]
TRAINING = """
    import ctypes, multiprocessing, sys, threading, time, holter
    import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def step():
        ctypes.string_at(0)

    def train():
        step()

    run = holter.init(project="p")
    run.log({"loss": 1.0})
"""
OURS = ("way_back.py", "sidecar_link.py", "threading.py", "Thread 0x", "Fatal Python error")


def told(command: str) -> str:
    return subprocess.run([*HOLTER, command], capture_output=True, text=True, check=True, timeout=60).stdout


def stack() -> list[str]:
    done = subprocess.run([*HOLTER, "why", "--json"], capture_output=True, text=True, check=True, timeout=60)
    found: list[str] = json.loads(done.stdout)["stack"]
    return found


def test_why_show_and_json_print_the_stack_of_the_thread_that_died() -> None:
    assert run(TRAINING + "\n    train()\n").returncode == -signal.SIGSEGV
    lines = stack()
    assert [line.partition(", ")[2] for line in lines[1:]] == [
        "line 6 in step",
        "line 9 in train",
        "line 14 in <module>",
    ]
    why = told("why")
    assert "called from step (<string>:6)" in why
    for text in (why, told("show")):
        assert all(line in text for line in lines)
        assert not any(ours in text for ours in OURS)


def test_of_several_threads_the_one_that_died_is_shown() -> None:
    end = "threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n"
    end += "    worker = threading.Thread(target=train)\n    worker.start()\n    worker.join()\n"
    assert run(f"{TRAINING}\n    {end}").returncode == -signal.SIGSEGV
    assert ["step" in line for line in stack()[1:3]] == [True, False]
    assert "in join" not in str(stack())


def test_of_a_worker_that_died_its_own_stack_is_shown() -> None:
    end = "worker = multiprocessing.get_context('fork').Process(target=train, name='loader-0')\n"
    end += "    worker.start()\n    worker.join()\n"
    end += "    assert worker.exitcode == 0, f'worker left with {worker.exitcode}'\n"
    assert run(f"{TRAINING}\n    {end}").returncode == 1
    found = only_run().diagnosis
    assert found is not None
    assert found.cause == "segmentation-fault"
    assert "called from step (<string>:6)" in found.title
    assert stack()[1].endswith("line 6 in step")


def test_a_cell_is_called_by_its_number_in_the_verdict_and_on_the_card(tmp_path: Path) -> None:
    with kernel_in(tmp_path) as kernel:
        kernel.run("import ctypes\n\ndef step():\n    ctypes.string_at(0)\n")
        kernel.run("import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))")
        kernel.run(OPEN)
        kernel.run("def train():\n    step()\n")
        end_by("for _ in range(3):\n    train()\n")(kernel)
    assert stack()[1:] == ["In[1], line 4 in step", "In[4], line 2 in train", "In[5], line 2 in <module>"]
    found = only_run().diagnosis
    assert found is not None
    assert "called from step (In[1], line 4)" in found.title
    with kernel_in(tmp_path) as successor:
        card = successor.run(OPEN).card
    assert "| In[5], line 2 in <module>" in card
    assert "ipykernel_" not in card
