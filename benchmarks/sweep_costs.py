"""What a sweep costs: asking for the next of 10,000 trials, 50 agents at once, a trial beyond its own time.

Usage: python -m benchmarks.sweep_costs. Prints one line of JSON for each.
"""

import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import optuna

from holter.storage.opening import open_sweeps
from holter.sweeps.book import Book, begin_book
from holter.sweeps.configuration import read_configuration
from holter.sweeps.desk import Desk
from holter.sweeps.events import Added, AnyEvent, Begun
from holter.sweeps.words import Asker, Word

PARAMETERS = {f"x{n}": {"min": 0.0, "max": 1.0} for n in range(4)}
GIVEN: dict[str, Any] = {"metric": {"name": "y"}, "parameters": PARAMETERS}


def make(folder: str, **given: Any) -> str:
    configuration = read_configuration({**GIVEN, **given})
    begun = Begun(configuration=msgspec.to_builtins(configuration), project="p", name="n")
    begin_book(open_sweeps(folder), "s", begun=begun)
    return folder


def fill(directory: str, many: int) -> None:
    generator = random.Random(3)
    points = [{name: generator.random() for name in PARAMETERS} for _ in range(many)]
    events: list[AnyEvent] = [
        Added(number=n, point=point, params=point, state="finished", value=point["x0"])
        for n, point in enumerate(points)
    ]
    Book(open_sweeps(directory), "s").append(lambda state: events)


def ask_late(many: int = 10_000) -> dict[str, Any]:
    """CPU of asking beside that of the sampler alone, with so many trials; medians of 15."""
    with tempfile.TemporaryDirectory() as folder:
        directory = make(folder, method="bayes", seed=1)
        fill(directory, many)
        desk = Desk(open_sweeps(directory), "s")
        desk.ask(Asker(id="first"))
        whole, alone = [], []
        for number in range(15):
            began = time.process_time()
            lease = desk.ask(Asker(id=f"a{number}")).lease  # one that asks twice gets its own trial again
            whole.append(time.process_time() - began)
            assert lease is not None
            assert lease.number == many + 1 + number
        search = desk._searches[""]
        for _ in range(15):
            began = time.process_time()
            search._study.ask(search._distributions)
            alone.append(time.process_time() - began)
    found = {"ask_ms": statistics.median(whole) * 1e3, "sampler_ms": statistics.median(alone) * 1e3}
    return {name: round(value, 1) for name, value in found.items()} | {"trials": many}


def _update(directory: str, number: int, times: int) -> None:
    desk, asker = Desk(open_sweeps(directory), "s"), Asker(id=f"a{number}")
    lease = desk.ask(asker).lease
    assert lease is not None
    for step in range(times):
        said = desk.say(Word(asker=asker, number=lease.number, fence=1, reports=((step + 1, float(step)),)))
        assert said.holds


def crowd(agents: int = 50, times: int = 199) -> dict[str, Any]:
    """So many processes write to one book: none of their updates may be lost."""
    with tempfile.TemporaryDirectory() as folder:
        directory = make(folder, method="random")
        began = time.monotonic()
        context = multiprocessing.get_context("fork")
        crowd = [context.Process(target=_update, args=(directory, n, times)) for n in range(agents)]
        for each in crowd:
            each.start()
        for each in crowd:
            each.join()
        trials = Desk(open_sweeps(directory), "s").state().trials
        kept = sum(len(each.reports) for each in trials) + len(trials)
    wanted = agents * (times + 1)
    return {"updates": wanted, "lost": wanted - kept, "took_s": round(time.monotonic() - began, 1)}


FUNCTION = """
import sys, time
import holter
TRIALS = 30
spent = 0.0
def train():
    global spent
    began = time.perf_counter()
    run = holter.init()
    run.log({"y": run.config["x0"]})
    run.finish()
    spent += time.perf_counter() - began
sweep = holter.sweep({"method": "random", "metric": {"name": "y"}, "parameters": {"x0": {"min": 0.0, "max": 1.0}}})
holter.agent(sweep, function=train, count=2)
spent = 0.0
began = time.perf_counter()
holter.agent(sweep, function=train, count=TRIALS)
print((time.perf_counter() - began - spent) / TRIALS * 1e3)
"""
PROGRAM = """
import time; began = time.time()
import holter
run = holter.init(); run.log({"y": run.config["x0"]}); run.finish()
"""


def overheads() -> dict[str, Any]:
    """Of a trial, beyond the program's own time, in ms: wall time."""
    with tempfile.TemporaryDirectory() as folder:
        environ = {**os.environ, "HOLTER_DIR": folder, "HOLTER_SILENT": "1"}
        said = subprocess.run([sys.executable, "-c", FUNCTION], env=environ, capture_output=True, text=True, check=True)
        program = Path(folder) / "train.py"
        program.write_text(PROGRAM)
        about = {"program": str(program), "method": "random", "command": ["${interpreter}", "${program}"], **GIVEN}
        (Path(folder) / "sweep.yaml").write_text(json.dumps(about))
        command = [sys.executable, "-m", "holter"]
        made = subprocess.run(
            [*command, "sweep", f"{folder}/sweep.yaml", "--json"], env=environ, capture_output=True, check=True
        )
        sweep = json.loads(made.stdout)["sweep"]

        def timed(words: list[str]) -> float:
            began = time.perf_counter()
            subprocess.run(words, env=environ, check=True, capture_output=True)
            return time.perf_counter() - began

        alone = statistics.median(
            timed([sys.executable, "-c", PROGRAM.replace('run.config["x0"]', "1.0")]) for _ in range(9)
        )
        few = statistics.median(timed([*command, "agent", sweep, "--count", "1"]) for _ in range(3))
        many = timed([*command, "agent", sweep, "--count", "21"])
    return {
        "function_ms": round(float(said.stdout.split()[-1]), 1),
        "program_ms": round(((many - few) / 20 - alone) * 1e3, 1),
    }


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for measure in (ask_late, crowd, overheads):
        print(json.dumps({measure.__name__: measure()}), flush=True)
