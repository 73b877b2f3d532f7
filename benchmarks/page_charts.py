"""9 charts of 100 live runs with 500 points each: what a second of live data and a move of the mouse cost the browser.

100 runs of 9 metrics are at step 500 and go on with a row a second each, as journals that `holter ui` follows; the page
of the project shows all of them, 1600 × 1000. CPU time is that of all processes of the browser. A tick is a second of
live data: the CPU time of 20 s, divided by 20. Then the runs rest, and the mouse is moved over a chart, 20 moves a
second: the CPU time of the moves, less that of as long a rest, divided by the moves. Lines come in as many buckets as
the page asks for at this size of charts.
"""

import threading
import time
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.browsing import browser_cpu_s, chromium, enter, new_page
from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.recorded_runs import Ui
from benchmarks.server_writers import SimulatedRun
from holter.journal.rundir import make_private

RUNS, KEYS, POINTS = 100, 9, 500
TICK_MS, HOVER_MS = 150, 25
MOVES, MOVE_EVERY_S = 100, 0.05
SETTLES_S = 5.0
CHARTS = "document.querySelectorAll('article [role=img]').length"
PAINTED = "[...document.querySelectorAll('article')].every(each => each.textContent.includes('{} runs'))"


class Logging(threading.Thread):
    """One row a second in each run, spread over the second, while it is told to."""

    def __init__(self, runs: list[SimulatedRun]) -> None:
        super().__init__(daemon=True)
        self.is_on = threading.Event()
        self._runs = runs
        self._enough = threading.Event()

    def run(self) -> None:
        while not self._enough.is_set():
            began = time.monotonic()
            for place, run in enumerate(self._runs):
                wait_s = began + place / len(self._runs) - time.monotonic()
                if wait_s > 0 and self._enough.wait(wait_s):
                    return
                if self.is_on.is_set():
                    run.log()

    def close(self) -> None:
        self._enough.set()
        self.join()
        for run in self._runs:
            run.close()


def measure(plan: Plan) -> Measured:
    home = plan.scratch / "charts"
    runs = begin(home, runs=plan.pick(RUNS, 5), points=plan.pick(POINTS, 20))
    logging = Logging(runs)
    logging.start()
    ui = Ui(home)
    try:
        with chromium() as browser, new_page(browser) as page:
            enter(page, ui)
            page.goto(f"{ui.address}/p/live?lines=100")
            page.wait_for_function(f"() => {CHARTS} === {KEYS} && {PAINTED.format(len(runs))}")
            ticks = int(plan.pick(20, 3))
            logging.is_on.set()
            time.sleep(plan.pick(SETTLES_S, 1.0))
            live_s = _cpu_s_of_rest(ticks)
            logging.is_on.clear()
            time.sleep(plan.pick(SETTLES_S, 2.0))
            moves = plan.pick(MOVES, 10)
            rest_s = _cpu_s_of_rest(moves * MOVE_EVERY_S)
            hover_s = _cpu_s_of_moves(page, moves)
    finally:
        ui.close()
        logging.close()
    move_ms = (hover_s - rest_s) / moves * 1e3
    return Measured(
        figures=[
            Figure(
                name="900 lines in 9 charts: a live tick, CPU",
                measured=live_s / ticks * 1e3,
                unit="ms",
                at_most=TICK_MS,
            ),
            Figure(
                name="900 lines in 9 charts: a move of the mouse, CPU", measured=move_ms, unit="ms", at_most=HOVER_MS
            ),
            Figure(name="a second at rest, CPU", measured=rest_s / (moves * MOVE_EVERY_S) * 1e3, unit="ms"),
        ],
        notes=[f"{KEYS} charts of {len(runs)} lines in view; {moves} moves."],
    )


def begin(home: Path, *, runs: int, points: int) -> list[SimulatedRun]:
    """Living runs of the project `live`, each at so many points."""
    make_private(str(home / "runs"))
    begun = [SimulatedRun(home / "runs", number, keys=KEYS) for number in range(runs)]
    for run in begun:
        for _ in range(points):
            run.log()
    return begun


def _cpu_s_of_rest(for_s: float) -> float:
    before = browser_cpu_s()
    time.sleep(for_s)
    return browser_cpu_s() - before


def _cpu_s_of_moves(page: Page, moves: int) -> float:
    box = page.locator("article [role=img]").nth(4).bounding_box()
    assert box is not None
    before, began = browser_cpu_s(), time.monotonic()
    for move in range(moves):
        x = box["x"] + box["width"] * (0.15 + 0.7 * move / moves)
        page.mouse.move(x, box["y"] + box["height"] * (0.3 + 0.4 * (move % 2)))
        time.sleep(max(0.0, began + (move + 1) * MOVE_EVERY_S - time.monotonic()))
    return browser_cpu_s() - before
