"""Panels of 1,000 runs: a brush on parallel coordinates, and which parameters matter.

The index gets 1,000 runs of 30 parameters, of which a loss depends on two. The page of the project shows them on 8
axes, 1600 × 1000; a range of a third of an axis is moved along it, 20 moves a second: the CPU time of all processes of
the browser, less that of as long a rest, divided by the moves; the same for a mouse that is moved over the lines. The
importance of all 30 parameters is asked for three times, each time of other runs, so that nothing is kept: the CPU time
of the server's process, the median.
"""

import json
import random
import time
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page

from benchmarks.asked_server import Question
from benchmarks.browsing import browser_cpu_s, chromium, enter, new_page
from benchmarks.figures import Figure, Measured, median
from benchmarks.page_charts import HOVER_MS, MOVE_EVERY_S, MOVES
from benchmarks.plan import Plan
from benchmarks.recorded_runs import API, Ui
from holter.model.run_row import RunRow
from holter.server.ingest.index_place import index_directory
from holter.storage.opening import open_storage

RUNS, PARAMETERS, AXES = 1000, 30, 8
BRUSH_MS, IMPORTANCE_MS = 25, 1500
PROJECT = "search"
SETTLES_S = 3.0
STARTED_NS = 1_700_000_000_000_000_000
COLUMNS = [f"config.p{number:02}" for number in range(AXES - 1)] + ["summary.loss"]
PANEL = f"1*parallel*axes_{','.join(COLUMNS)}*colour_summary.loss"
RAIL = "[role=slider][aria-label='Range of p03']"


def measure(plan: Plan) -> Measured:
    runs = plan.pick(RUNS, 50)
    home = plan.scratch / "panels"
    home.mkdir()
    _fill(home, runs)
    ui = Ui(home)
    try:
        with chromium() as browser, new_page(browser) as page:
            enter(page, ui)
            page.goto(f"{ui.address}/p/{PROJECT}?panels={PANEL}")
            page.wait_for_selector(RAIL)
            time.sleep(plan.pick(SETTLES_S, 1.0))
            moves = plan.pick(MOVES, 10)
            began = browser_cpu_s()
            time.sleep(moves * MOVE_EVERY_S)
            rest_s = browser_cpu_s() - began
            brush_s = _cpu_s_of_brush(page, moves)
            chosen = page.locator("article .tools").inner_text().split(" runs")[0]
            hover_s = _cpu_s_of_moves(page, moves)
        importances = [_importance_ms(ui, without) for without in range(3)]
    finally:
        ui.close()
    return Measured(
        figures=[
            Figure(
                name="parallel coordinates of 1,000 runs × 8 axes: a move of a brush, CPU",
                measured=(brush_s - rest_s) / moves * 1e3,
                unit="ms",
                at_most=BRUSH_MS,
            ),
            Figure(
                name="parallel coordinates of 1,000 runs × 8 axes: a move of the mouse over them, CPU",
                measured=(hover_s - rest_s) / moves * 1e3,
                unit="ms",
                at_most=HOVER_MS,
            ),
            Figure(
                name="importance over 1,000 runs × 30 parameters, server CPU",
                measured=median(importances),
                unit="ms",
                at_most=IMPORTANCE_MS,
            ),
        ],
        notes=[f"{moves} moves; at their end {chosen} runs were in the range."],
    )


def _fill(home: Path, runs: int) -> None:
    chance = random.Random(0)
    rows = []
    for number in range(runs):
        numbers = {f"p{at:02}": chance.random() for at in range(PARAMETERS - 5)}
        words = {f"p{at:02}": chance.choice("abcdef") for at in range(PARAMETERS - 5, PARAMETERS)}
        loss = numbers["p00"] + 0.5 * (words["p25"] == "a") + chance.gauss(0, 0.1)
        rows.append(
            RunRow(
                id=f"run{number:04}",
                project=PROJECT,
                name=f"trial {number}",
                started_ns=STARTED_NS + number * 1_000_000_000,
                ended_ns=STARTED_NS + number * 2_000_000_000,
                state="finished",
                config=numbers | words,
                summary={"loss": loss},
            )
        )
    storage = open_storage(f"sqlite:{index_directory(str(home), {})}")
    storage.runs.put(rows)
    storage.close()


def _cpu_s_of_brush(page: Page, moves: int) -> float:
    """Make a range of a third of an axis, and move it up and down."""
    box = page.locator(RAIL).bounding_box()
    assert box is not None
    middle, height = box["x"] + box["width"] / 2, box["height"]
    page.mouse.move(middle, box["y"] + height * 0.35)
    page.mouse.down()
    page.mouse.move(middle, box["y"] + height * 0.65, steps=5)
    page.mouse.up()
    page.mouse.move(middle, box["y"] + height * 0.5)
    page.mouse.down()
    time.sleep(1.0)
    before, began = browser_cpu_s(), time.monotonic()
    for move in range(moves):
        page.mouse.move(middle, box["y"] + height * (0.5 + 0.3 * (abs(move % 40 - 20) / 10 - 1)))
        time.sleep(max(0.0, began + (move + 1) * MOVE_EVERY_S - time.monotonic()))
    used = browser_cpu_s() - before
    page.mouse.up()
    return used


def _cpu_s_of_moves(page: Page, moves: int) -> float:
    box = page.locator("article .plot").bounding_box()
    assert box is not None
    before, began = browser_cpu_s(), time.monotonic()
    for move in range(moves):
        x = box["x"] + box["width"] * (0.15 + 0.7 * move / moves)
        page.mouse.move(x, box["y"] + box["height"] * (0.4 + 0.3 * (move % 2)))
        time.sleep(max(0.0, began + (move + 1) * MOVE_EVERY_S - time.monotonic()))
    return browser_cpu_s() - before


def _importance_ms(ui: Ui, without: int) -> float:
    asked = {"project": PROJECT, "target": "summary.loss", "filter": f"id != run{without:04}"}
    before = ui.cpu_s()
    found = json.loads(ui.ask(Question(path=f"{API}/importance?{urlencode(asked)}")))
    used_s = ui.cpu_s() - before
    assert found["runs"], found
    return used_s * 1e3
