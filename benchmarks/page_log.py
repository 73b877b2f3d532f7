"""A log of 1,000,000 lines: opened at its end, and searched.

A program prints a million lines and ends; once the server has all of them, its run is opened, and the log with a click.
The clock stops with the frame that shows the last line. Then a text that is there once is searched for, each time
another one: the clock starts with Enter and stops with the frame that shows the line. Medians.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.asked_server import Question
from benchmarks.browsing import chromium, enter, new_page
from benchmarks.figures import Figure, Measured, median
from benchmarks.plan import Plan
from benchmarks.recorded_runs import API, Ui
from benchmarks.trials import environment

LINES = 1_000_000
WITHIN_MS = 500
TALK = """
import sys, holter
run = holter.init(project="talk", name="long")
print("id", run.id, file=sys.stderr, flush=True)
for line in range(int(sys.argv[1])):
    print(f"line {line} of the loss")
"""
# Clicks or presses, and tells after how many ms the page shows a text at a place.
UNTIL = """
async ([link, where, text]) => {
  const began = performance.now();
  const enter = new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true});
  if (link) [...document.querySelectorAll("nav a")].find((each) => each.textContent.trim().startsWith(link)).click();
  else document.activeElement.dispatchEvent(enter);
  while (performance.now() - began < 20000) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    if (document.querySelector(where)?.textContent.includes(text)) return performance.now() - began;
  }
  throw new Error(`"${text}" was not shown within 20 s`);
}
"""


def measure(plan: Plan) -> Measured:
    lines = plan.pick(LINES, 20_000)
    home = plan.scratch / "log"
    home.mkdir()
    run = _record(home, lines)
    ui = Ui(home)
    try:
        _await_lines(ui, run, lines)
        with chromium() as browser, new_page(browser) as page:
            enter(page, ui)
            repeats = plan.pick(7, 1)
            opened = [_open(page, ui, run, last=lines - 1) for _ in range(repeats)]
            searched = [_search(page, lines * (place + 1) // (repeats + 1)) for place in range(repeats)]
    finally:
        ui.close()
    return Measured(
        figures=[
            Figure(
                name="log of 1,000,000 lines: opened at its end after",
                measured=median(opened),
                unit="ms",
                at_most=WITHIN_MS,
            ),
            Figure(
                name="log of 1,000,000 lines: at a hit of the search after",
                measured=median(searched),
                unit="ms",
                at_most=WITHIN_MS,
            ),
            Figure(name="longest opening", measured=max(opened), unit="ms"),
            Figure(name="longest search", measured=max(searched), unit="ms"),
        ],
        raw={"opened_ms": opened, "searched_ms": searched},
    )


def _record(home: Path, lines: int) -> str:
    """The id of the run."""
    command = [sys.executable, "-c", TALK, str(lines)]
    done = subprocess.run(
        command, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True
    )
    return done.stderr.split("id ", 1)[1].split()[0]


def _await_lines(ui: Ui, run: str, lines: int, /) -> None:
    deadline = time.monotonic() + 120
    while (have := _lines_of(ui, run)) < lines:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the server has {have:,} of {lines:,} lines after two minutes")
        time.sleep(0.2)


def _lines_of(ui: Ui, run: str) -> int:
    runs = json.loads(ui.ask(Question(path=f"{API}/runs")))["runs"]
    if run not in [each["id"] for each in runs]:
        return 0
    return int(json.loads(ui.ask(Question(path=f"{API}/runs/{run}/console?tail=1")))["total"])


def _open(page: Page, ui: Ui, run: str, *, last: int) -> float:
    page.goto(f"{ui.address}/p/talk/r/{run}/overview")
    page.get_by_role("heading", name="Configuration").wait_for()
    page.wait_for_timeout(300)
    return float(page.evaluate(UNTIL, ["Logs", ".rows", f"line {last} of the loss"]))


def _search(page: Page, line: int) -> float:
    field = page.get_by_label("Search the log")
    field.fill(f"line {line} of")
    field.focus()
    return float(page.evaluate(UNTIL, ["", ".chosen", f"line {line} of the loss"]))
