"""The right card after each way in which a notebook's kernel can end.

Real kernels, really ended, one after the other: each opens a run, fills a variable and ends in a cell; the next kernel
of the same notebook must show a card that names the cause, the cell, what it printed and the variable. After a normal
end it must show nothing. The last two go through a real Jupyter server; of the very last, whose kernels die before they
could import anything, the card is the one that the front end is given. A wrong card, a missing one and one too many
count alike.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Measured, Table
from benchmarks.plan import Plan
from benchmarks.trials import environment
from tests.e2e.kernel_deaths import BUSY, DEATHS, ENDS_WELL, OPEN, STUBBORN, Death
from tests.e2e.kernels import Kernel, kernel_in
from tests.jupyter.servers import dying_at_start, jupyter
from tests.zoo.cgroups import make_cgroup

LIMIT_BYTES = 400 << 20
IN_A_ROW = 6
GIVES_UP_WITHIN_S = 120.0
LEAVES_WITHIN_S = 30.0

Trial = Callable[[Path], str]
"""Gets an empty directory; returns what was wrong, empty where nothing was."""


def measure(plan: Plan) -> Measured:
    trials = all_trials()
    times = plan.pick(5, 1)
    chosen = plan.pick(list(trials), ["kill -9", "exit()"])
    found = {
        name: [run(plan, trials[name], f"{at}-{number}") for number in range(times)] for at, name in enumerate(chosen)
    }
    wrong = sum(bool(each) for results in found.values() for each in results)
    rows = [[name, f"{sum(not each for each in results)} of {len(results)}"] for name, results in found.items()]
    notes = [f"{name}: {each}" for name, results in found.items() for each in results if each]
    return Measured(
        figures=[
            Figure(name="ends of kernels after which the card was wrong", measured=wrong, at_most=0),
            Figure(name="ends of kernels that were tried", measured=sum(map(len, found.values()))),
        ],
        tables=[Table("The right card, or none where nothing is to be said", ["", "right"], rows)],
        notes=notes,
        raw={"wrong": found},
    )


def run(plan: Plan, trial: Trial, name: str) -> str:
    directory = plan.scratch / name
    directory.mkdir()
    return trial(directory)


def all_trials() -> dict[str, Trial]:
    restarted = {
        "restart of a busy kernel": restarts(BUSY),
        "restart of a busy kernel that does not listen": restarts(STUBBORN),
    }
    deaths = {
        **DEATHS,
        **restarted,
        "cgroup out of memory": Death(grow, "crashed", "cgroup-out-of-memory", "held.append"),
    }
    well = {**ENDS_WELL, "interrupt, then restart": interrupt}
    return {
        **{name: shows_card(death) for name, death in deaths.items()},
        **{name: shows_nothing(end) for name, end in well.items()},
        "server killed": server_killed,
        "five restarts in a row": in_a_row,
    }


def kernel_of(directory: Path) -> AbstractContextManager[Kernel]:
    return kernel_in(directory, **environment(directory) | {"HOLTER_SILENT": "0"})


def shows_card(death: Death) -> Trial:
    def trial(directory: Path) -> str:
        with kernel_of(directory) as before:
            before.run(OPEN)
            before.run("import numpy; data = numpy.ones(8_000_000)")
            death.die(before)
        with kernel_of(directory) as successor:
            cards = [each["text/plain"] for each in successor.run(OPEN).cards]
        if len(cards) != 1:
            return f"{len(cards)} cards"
        wanted = (death.cause, death.said, "in cell [3]", "data  numpy.ndarray")
        return ", ".join(f"no {each!r}" for each in wanted if each not in cards[0])

    return trial


def shows_nothing(end: Callable[[Kernel], None]) -> Trial:
    def trial(directory: Path) -> str:
        with kernel_of(directory) as before:
            before.run(OPEN)
            end(before)
        with kernel_of(directory) as successor:
            cards = successor.run(OPEN).cards
        return f"{len(cards)} cards" if cards else ""

    return trial


def restarts(cell: str) -> Death:
    def die(kernel: Kernel) -> None:
        kernel.begin(cell)
        kernel.restart()

    return Death(die, "failed", "kernel-restarted", "print('ready', flush=True)")


def grow(kernel: Kernel) -> None:
    small = make_cgroup("memory")
    try:
        small.limit_memory(LIMIT_BYTES)
        small.procs.write_text(str(kernel.pid))
        time.sleep(2.2)  # so that the limit is known
        kernel.client.execute("held = []\nwhile True:\n    held.append(bytearray(4 << 20)); time.sleep(0.02)")
        kernel.dies()
    finally:
        small.remove()


def interrupt(kernel: Kernel) -> None:
    kernel.begin(BUSY)
    kernel.interrupt()
    time.sleep(2.2)  # else the restart would be one with the interrupt
    kernel.restart()


def server_killed(directory: Path) -> str:
    with jupyter(directory, HOLTER_DIR=str(directory / "holter"), HOLTER_SILENT="0") as served:
        kernel = served.open_notebook("left.ipynb")
        kernel.run("import holter; run = holter.init(project='notebook')")
        pid = kernel.pid
        time.sleep(1.2)  # for its sidecar to be there
        kernel.forget_channels()
        served.process.kill()
        served.process.wait()
        deadline = time.monotonic() + LEAVES_WITHIN_S
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    with jupyter(directory, HOLTER_DIR=str(directory / "holter"), HOLTER_SILENT="0") as served:
        card = served.open_notebook("left.ipynb").run("import holter; run = holter.init(project='notebook')")
    return "" if "The Jupyter server died, and the notebook's kernel left with it" in card else f"showed {card!r}"


def in_a_row(directory: Path) -> str:
    data = str(directory / "holter")
    with jupyter(directory, HOLTER_DIR=data) as served, dying_at_start(served, directory / "die") as die:
        kernel = served.open_notebook("loop.ipynb")
        pid = kernel.pid
        die.touch()
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + GIVES_UP_WITHIN_S
        death: dict[str, Any] = {"in_a_row": 0, "is_given_up": False}
        while not death["is_given_up"] and time.monotonic() < deadline:
            time.sleep(0.2)
            answer = served.http.get(f"/holter/kernels/{kernel.id}/death")
            death = answer.json() if answer.status_code == 200 else death
    is_right = (death["in_a_row"], death.get("cause")) == (IN_A_ROW, "killed")
    return "" if is_right else f"{death['in_a_row']} in a row, {death.get('cause')}"
