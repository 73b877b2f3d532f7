"""Two live runs on the page of their project: what keeps it from answering for more than 50 ms.

Two runs of 9 metrics log a row a second each, as journals that `holter ui` follows. The page of the project is opened,
1600 × 1000, and left until it rests; then the browser's own long tasks (more than 50 ms of its main thread at once)
are counted for 20 s of live data.
"""

import time

from benchmarks.browsing import chromium, enter, new_page
from benchmarks.figures import Figure, Measured
from benchmarks.page_charts import CHARTS, KEYS, PAINTED, SETTLES_S, Logging, begin
from benchmarks.plan import Plan
from benchmarks.recorded_runs import Ui

RUNS, POINTS = 2, 500
SECONDS = 20
HEARD = """
window.long = [];
const told = (found) => window.long.push(...found.getEntries().map((each) => each.duration));
new PerformanceObserver(told).observe({type: "longtask"});
"""


def measure(plan: Plan) -> Measured:
    home = plan.scratch / "tasks"
    runs = begin(home, runs=RUNS, points=plan.pick(POINTS, 20))
    logging = Logging(runs)
    logging.start()
    ui = Ui(home)
    try:
        with chromium() as browser, new_page(browser, script=HEARD) as page:
            enter(page, ui)
            page.goto(f"{ui.address}/p/live")
            page.wait_for_function(f"() => {CHARTS} === {KEYS} && {PAINTED.format(RUNS)}")
            logging.is_on.set()
            time.sleep(plan.pick(SETTLES_S, 1.0))
            page.evaluate("window.long = []")
            time.sleep(plan.pick(SECONDS, 2))
            found: list[float] = page.evaluate("window.long")
    finally:
        ui.close()
        logging.close()
    return Measured(
        figures=[
            Figure(name="two live runs: long tasks of the page in 20 s", measured=len(found), at_most=0),
            Figure(name="the longest of them", measured=max(found, default=0.0), unit="ms"),
        ],
        raw={"long_tasks_ms": found},
    )
