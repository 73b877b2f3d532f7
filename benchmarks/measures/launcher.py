"""`holter run`: what it costs a command.

A program that prints 1,000,000 lines with `print()` runs with and without `holter run` in turn, into a file and into a
pseudo-terminal that somebody reads; the ratio of the wall times is the median over the pairs. The start is the wall
time of `python -c pass` under `holter run`, less that without it, its output going into a pipe.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Figure, Measured, Table, median, median_ratio, show
from benchmarks.plan import Plan
from benchmarks.trials import environment

AT_MOST_IN_FILE = 1.1
AT_MOST_ON_TERMINAL = 1.3
AT_MOST_START_MS = 150.0

LINES, QUICK_LINES = 1_000_000, 2_000
UNDER_HOLTER = [sys.executable, "-m", "holter", "run", "--"]
Run = Callable[[list[str], Path], float]


def measure(plan: Plan) -> Measured:
    lines = plan.pick(LINES, QUICK_LINES)
    prints = [sys.executable, "-c", f"for i in range({lines}): print('step', i, 'loss', 0.123456)"]
    passes = [sys.executable, "-c", "pass"]
    in_file = in_turn(into_file, prints, plan, count=plan.pick(7, 1))
    on_terminal = in_turn(onto_terminal, prints, plan, count=plan.pick(7, 1))
    start = in_turn(into_pipe, passes, plan, count=plan.pick(25, 2))
    added_ms = 1000 * median([with_ - without for without, with_ in start])
    figures = [
        _ratio(f"{lines:,} lines into a file under `holter run`", in_file, AT_MOST_IN_FILE),
        _ratio(f"{lines:,} lines onto a terminal under `holter run`", on_terminal, AT_MOST_ON_TERMINAL),
        Figure(name="start of `python -c pass`, added", measured=added_ms, unit="ms", at_most=AT_MOST_START_MS),
    ]
    found = {"file": in_file, "terminal": on_terminal, "start": start}
    return Measured(figures=figures, tables=[_table(found)], raw=dict(found))


def in_turn(run: Run, command: list[str], plan: Plan, *, count: int) -> list[tuple[float, float]]:
    """Wall times without and with, in turn; the first of each is for the caches."""
    found = []
    for _ in range(count + 1):
        place = Path(tempfile.mkdtemp(prefix="launcher-", dir=plan.scratch))
        found.append((run(command, place), run([*UNDER_HOLTER, *command], place)))
        time.sleep(plan.pick(0.5, 0.0))  # the sidecar leaves
        shutil.rmtree(place, ignore_errors=True)
    return found[1:]


def into_file(command: list[str], place: Path) -> float:
    with (place / "out.txt").open("wb") as out:
        began = time.monotonic()
        subprocess.run(command, stdout=out, env=environment(place), cwd=place, check=True)
        return time.monotonic() - began


def into_pipe(command: list[str], place: Path) -> float:
    began = time.monotonic()
    subprocess.run(command, capture_output=True, env=environment(place), cwd=place, check=True)
    return time.monotonic() - began


def onto_terminal(command: list[str], place: Path) -> float:
    master, slave = os.openpty()
    began = time.monotonic()
    program = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment(place), cwd=place)
    os.close(slave)
    try:
        while os.read(master, 65536):
            continue
    except OSError:  # nobody has the terminal open any more
        pass
    assert program.wait() == 0
    os.close(master)
    return time.monotonic() - began


def _ratio(name: str, pairs: list[tuple[float, float]], at_most: float) -> Figure:
    ratio = median_ratio([with_ for _, with_ in pairs], [without for without, _ in pairs])
    return Figure(name=f"{name}, against without", measured=ratio, unit="×", at_most=at_most)


def _table(found: dict[str, list[tuple[float, float]]]) -> Table:
    rows = [
        [name, *(show(1000 * median([pair[side] for pair in pairs]), "ms") for side in (0, 1))]
        for name, pairs in found.items()
    ]
    return Table("Wall time", ["", "without", "under `holter run`"], rows)
