"""`holter ls` over 10,000 run directories.

Two real runs are recorded, one that finished and one that was killed, and copied under new ids, names and times until
there are 10,000. `holter ls` runs once to read them all and once more to settle, then its wall time is taken,
interpreter start included. It prints all 10,000 into a pipe (on a terminal it would print 50).
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, Measured, median
from benchmarks.plan import Plan
from benchmarks.processes import await_departure
from benchmarks.reading import holter, read_state, run_directories
from benchmarks.run_copies import copy_run
from benchmarks.trials import environment

AT_MOST_S = 1.0
# A listing does not trust the time of a directory that has only just changed.
SETTLED_S = 2.5

PROGRAM = """
import os, signal, sys, holter
with holter.init(project="many", config={"lr": 3e-4, "batch_size": 64}) as run:
    for step in range(100):
        run.log({"train/loss": 1 / (step + 1), "train/acc": step / 100}, step=step)
    if "killed" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def measure(plan: Plan) -> Measured:
    count = plan.pick(10_000, 20)
    with tempfile.TemporaryDirectory(prefix="many-", dir=plan.scratch) as scratch:
        data = Path(scratch)
        record_originals(data)
        originals = run_directories(data)
        for number in range(count - len(originals)):
            copy_run(originals[number % len(originals)], number)
        time.sleep(SETTLED_S)
        first_s = list_all(data, count)
        list_all(data, count)
        times = range(plan.pick(7, 1))
        for_machines = [list_all(data, count) for _ in times]
        for_people = [seconds_of(data, "ls") for _ in times]
        for_terminals = [seconds_of(data, "ls", "-n", "50") for _ in times]
    figures = [
        Figure(name="holter ls of 10,000 runs, warm", measured=median(for_people), unit="s", at_most=AT_MOST_S),
        Figure(name="holter ls -n 50, as on a terminal, warm", measured=median(for_terminals), unit="s"),
        Figure(name="holter ls --json, warm", measured=median(for_machines), unit="s"),
        Figure(name="holter ls --json, the first time, nothing known of them", measured=first_s, unit="s"),
    ]
    return Measured(figures=figures, raw={"ls": for_people, "ls -n 50": for_terminals, "ls --json": for_machines})


def record_originals(data: Path) -> None:
    for words in ([], ["killed"]):
        command = [sys.executable, "-c", PROGRAM, *words]
        subprocess.run(command, cwd=data, env=environment(data), check=False)
        await_departure(data, within_s=10.0)
    states = sorted(read_state(data, run.name) for run in run_directories(data))
    assert states == ["crashed", "finished"], states


def list_all(data: Path, count: int) -> float:
    """Seconds of a listing that must hold all runs."""
    start = time.perf_counter()
    text = holter(data, "ls", "--json")
    taken = time.perf_counter() - start
    runs = json.loads(text)["runs"]
    assert len({run["id"] for run in runs}) == count, len(runs)
    return taken


def seconds_of(data: Path, *arguments: str) -> float:
    start = time.perf_counter()
    holter(data, *arguments)
    return time.perf_counter() - start
