"""The table of runs with 50,000 runs: sort, search, filter, jump and scroll, in the browser.

The index gets 50,000 runs of 50 values, the page of the project is opened, and each act is done several times: a click
on the head of a column, a word that is typed, a filter and Enter, a jump to the middle. The clock starts with the act
and stops with the frame that shows other rows; the worst frame is the longest time between two frames from the act to
half a second after it, and while the table is scrolled by 30 rows a frame. Medians of times, worst of frames.
"""

from typing import Any

import msgspec
from playwright.sync_api import Page

from benchmarks.browsing import chromium, enter, new_page
from benchmarks.figures import Figure, Measured, Table, median, show
from benchmarks.plan import Plan
from benchmarks.recorded_runs import Ui
from benchmarks.server_data import make_rows
from holter.server.ingest.index_place import index_directory
from holter.storage.opening import open_storage

RUNS = 50_000
AT_ONCE = 2000
PROJECT = "big"
WITHIN_MS, FRAME_MS = 200, 100
# One that half of the runs have among their settings, one that is in the names of a few, one that is the name of one.
WORDS = ("sgd", "n-4", "run-1234")
FILTERS = ("state = crashed and config.lr > 1e-4", "state = failed", "config.lr > 1e-3")
# Does something, and tells when the page shows it and how long its longest frame was.
# The parts come in as text: the page's policy lets nobody make functions out of words in it.
WATCH = """
async (argument) => {
  const state = {};
  const begin = () => { %(act)s };
  const isDone = () => { %(done)s };
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  let last = await frame();
  const began = performance.now();
  let worst = 0, shown = null;
  begin();
  while (performance.now() - began < 20000) {
    const now = await frame();
    worst = Math.max(worst, now - last);
    last = now;
    if (shown === null && isDone()) shown = performance.now() - began;
    if (shown !== null && performance.now() - began > shown + 500) return {shown, worst};
  }
  throw new Error("nothing was shown within 20 s");
}
"""
FIRST = "document.querySelector('[role=row] a')?.textContent"
SORT = f"state.before = {FIRST}; document.querySelector(`[role=columnheader] button[title='${{argument}}']`).click()"
# How many match is told with the rows themselves, and the first of them may be the same.
MATCHING = """document.querySelector(".applied [role=status]")?.textContent.split(" of ")[0]"""
FILTER = f"""
const field = document.querySelector("[aria-label='Search runs']");
state.before = {MATCHING};
field.value = argument;
field.dispatchEvent(new Event("input", {{bubbles: true}}));
field.dispatchEvent(new KeyboardEvent("keydown", {{key: "Enter", bubbles: true}}));
"""
SEARCH = f"""
const field = document.querySelector("[aria-label='Search runs']");
state.before = {MATCHING};
field.value = argument;
field.dispatchEvent(new Event("input", {{bubbles: true}}));
"""
CHIP = "[aria-label^='Remove the filter']"
TAKE_BACK = f"state.before = {MATCHING}; document.querySelector(`{CHIP}`).click()"
OTHERS = f"return {FIRST} !== undefined && {FIRST} !== state.before"
OTHER_MATCHES = f"return {MATCHING} !== state.before"
BOX = "document.querySelector('[role=table]')"
JUMP = f"{BOX}.scrollTop = argument * 44"
THERE = "return document.querySelector(`[role=row][aria-rowindex='${argument + 3}'] a`) !== null"
SCROLL = f"""
const move = () => {{ {BOX}.scrollTop += 1320; if (--state.left) requestAnimationFrame(move); }};
state.left = argument;
move();
"""
SCROLLED = "return state.left === 0"


class Acted(msgspec.Struct, frozen=True):
    shown: float
    worst: float


def measure(plan: Plan) -> Measured:
    runs = plan.pick(RUNS, 2000)
    home = plan.scratch / "table"
    home.mkdir()
    storage = open_storage(f"sqlite:{index_directory(str(home), {})}")
    for start in range(0, runs, AT_ONCE):
        rows = make_rows(min(AT_ONCE, runs - start), 50, start=start)
        storage.runs.put([msgspec.structs.replace(row, project=PROJECT) for row in rows])
    storage.close()
    ui = Ui(home)
    try:
        with chromium() as browser, new_page(browser) as page:
            enter(page, ui)
            page.goto(f"{ui.address}/p/{PROJECT}?cols=state,config.lr,summary.loss")
            page.wait_for_function(f"() => {FIRST} !== undefined")
            page.wait_for_timeout(1500)
            found = _act(page, runs, plan.pick(5, 1))
    finally:
        ui.close()
    return Measured(figures=_figures(found), tables=[_table(found)], raw=msgspec.to_builtins(found))


def _act(page: Page, runs: int, repeats: int) -> dict[str, list[Acted]]:
    found: dict[str, list[Acted]] = {name: [] for name in ("sort", "search", "filter", "jump", "scroll")}
    for repeat in range(repeats):
        for column in ("summary.loss", "config.lr"):
            found["sort"].append(_watch(page, SORT, done=OTHERS, argument=column))
        found["search"].append(_watch(page, SEARCH, done=OTHER_MATCHES, argument=WORDS[repeat % len(WORDS)]))
        _watch(page, SEARCH, done=OTHER_MATCHES, argument="")
        words = FILTERS[repeat % len(FILTERS)]
        found["filter"].append(_watch(page, FILTER, done=OTHER_MATCHES, argument=words))
        while page.locator(CHIP).count():  # each condition has one
            _watch(page, TAKE_BACK, done=OTHER_MATCHES, argument="")
        found["jump"].append(_watch(page, JUMP, done=THERE, argument=runs // 2 + repeat * 1000 % (runs // 4)))
        found["scroll"].append(_watch(page, SCROLL, done=SCROLLED, argument=60))
        _watch(page, JUMP, done=THERE, argument=0)
    return found


def _watch(page: Page, act: str, *, done: str, argument: object) -> Acted:
    told: dict[str, Any] = page.evaluate(WATCH % {"act": act, "done": done}, argument)
    return Acted(**told)


def _figures(found: dict[str, list[Acted]]) -> list[Figure]:
    figures = [
        Figure(
            name=f"table of 50,000 runs: {name}, until other rows are there",
            measured=_shown_ms(each),
            unit="ms",
            at_most=WITHIN_MS,
        )
        for name, each in found.items()
        if name != "scroll"
    ]
    worst = max(_worst_ms(each) for each in found.values())
    return [*figures, Figure(name="table of 50,000 runs: worst frame", measured=worst, unit="ms", at_most=FRAME_MS)]


def _shown_ms(acted: list[Acted]) -> float:
    return median([each.shown for each in acted])


def _worst_ms(acted: list[Acted]) -> float:
    return max(each.worst for each in acted)


def _table(found: dict[str, list[Acted]]) -> Table:
    rows = []
    for name, each in found.items():
        longest = max(one.shown for one in each)
        times = (_shown_ms(each), longest, _worst_ms(each))
        rows.append([name, str(len(each)), *(show(value, "ms") for value in times)])
    return Table("In the browser", ["", "times", "median", "longest", "worst frame"], rows)
