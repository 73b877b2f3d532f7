"""How soon an open page tells: of a death with its cause, and of a point that was logged.

The page of a project is open. Programs begin, log and are killed with SIGKILL, one after the other: the clock starts
with the kill and stops when the row of the run shows Crashed and the cause. Another program logs a row every 0.31 s and
writes down when each `log()` had returned; meanwhile the chart is asked for its last point by keyboard, as somebody who
cannot see would, and the clock of a row stops when that point is its own or a later one. Looking takes some 50 ms,
which are in the figures. p95 over all.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

from benchmarks.asked_server import Question
from benchmarks.browsing import chromium, enter, new_page
from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.recorded_runs import API, Ui
from benchmarks.trials import environment

DEATHS = 20
LOGS_S, EVERY_S = 40.0, 0.31
DEATH_S, POINT_S = 1.5, 2.5
PROJECT = "soon"
TRAINING = """
import sys, time, holter
run = holter.init(project="soon", name=sys.argv[1])
for step in range(100_000):
    run.log({"loss": 1 / (step + 1)})
    print(step, time.monotonic(), flush=True)
    time.sleep(float(sys.argv[2]))
"""
# The row of a run shows a text.
SHOWS = """
([name, text]) => [...document.querySelectorAll("[role=row]")].some(
  (row) => row.querySelector("a")?.textContent === name && text.every((each) => row.textContent.includes(each)))
"""
SAID = "() => document.querySelector('.sr-only[aria-live=polite]')?.textContent ?? ''"


def measure(plan: Plan) -> Measured:
    home = plan.scratch / "delays"
    home.mkdir()
    ui = Ui(home)
    try:
        with chromium() as browser, new_page(browser) as page:
            enter(page, ui)
            deaths = [_death(page, ui, home, number) for number in range(plan.pick(DEATHS, 1))]
            points = _points(page, ui, home, plan.pick(LOGS_S, 4.0))
    finally:
        ui.close()
    return Measured(
        figures=[
            Figure(
                name="death until state and cause are on an open page, p95",
                measured=_p95(deaths),
                unit="s",
                at_most=DEATH_S,
            ),
            Figure(
                name="log() until its point is on an open chart, p95", measured=_p95(points), unit="s", at_most=POINT_S
            ),
            Figure(name="death until state and cause, median", measured=float(np.median(deaths)), unit="s"),
            Figure(name="log() until its point, median", measured=float(np.median(points)), unit="s"),
        ],
        notes=[f"{len(deaths)} deaths, {len(points)} points."],
        raw={"deaths_s": deaths, "points_s": points},
    )


def _p95(delays_s: list[float]) -> float:
    return float(np.percentile(delays_s, 95))


def _start(home: Path, name: str, pause_s: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", TRAINING, name, str(pause_s)]
    return subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, text=True)


def _death(page: Page, ui: Ui, home: Path, number: int, /) -> float:
    name = f"victim-{number}"
    with _start(home, name, 0.05) as program:
        try:
            if number == 0:
                _await_run(ui, name)
                page.goto(f"{ui.address}/p/{PROJECT}?cols=state,cause")
            page.wait_for_function(SHOWS, arg=[name, ["Running"]])
            page.wait_for_timeout(1000)
        finally:
            os.kill(program.pid, signal.SIGKILL)
        killed_at = time.monotonic()
        program.communicate()
        page.wait_for_function(SHOWS, arg=[name, ["Crashed", "Killed"]], polling=20)
        return time.monotonic() - killed_at


def _await_run(ui: Ui, name: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        runs = json.loads(ui.ask(Question(path=f"{API}/runs?project={PROJECT}")))["runs"]
        if any(run["name"] == name for run in runs):
            return
        time.sleep(0.05)
    raise TimeoutError(f"the server does not know {name} after 30 s")


def _points(page: Page, ui: Ui, home: Path, for_s: float, /) -> list[float]:
    with _start(home, "alive", EVERY_S) as program:
        try:
            _await_run(ui, "alive")
            page.goto(f"{ui.address}/p/{PROJECT}?q=name%20%3D%20alive")
            chart = page.get_by_role("article", name="loss").get_by_role("img")
            chart.wait_for()
            chart.focus()
            seen: list[tuple[float, int]] = []
            until = time.monotonic() + for_s
            while time.monotonic() < until:
                page.keyboard.press("End")
                seen.append((time.monotonic(), _step_said(page)))
        finally:
            program.terminate()
        out, _ = program.communicate()
    logged = {int(step): float(at) for step, at in (line.split() for line in out.splitlines())}
    begun_at, last = seen[0][0], seen[-1][1]
    steps = [step for step, at in logged.items() if at >= begun_at and step <= last]
    return [next(at for at, shown in seen if shown >= step) - logged[step] for step in steps]


def _step_said(page: Page) -> int:
    found = re.search(r"step ([\d\u202f]+)", page.evaluate(SAID))
    return int(found[1].replace("\u202f", "")) if found else -1
