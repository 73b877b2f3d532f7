"""Opening a saved view of 20 charts, in a project of 1,000 runs × 50 metrics.

The view belongs to the team: 20 pinned charts in the small size, all in sight at 1600 × 1000, smoothed, of the 20
newest runs. A browser with nothing in its caches opens the link to it, five times. The clock starts with the navigation
and stops two frames after the last of the 20 charts has its first line: a coloured stroke on its canvas. Figures are
medians.
"""

import contextlib
import json

from benchmarks.asked_server import Question
from benchmarks.browsing import browser_cpu_s, chromium, enter, new_page
from benchmarks.figures import Figure, Measured, median
from benchmarks.peer_fill import key_names
from benchmarks.peer_servers import DataSet
from benchmarks.plan import Plan
from benchmarks.recorded_runs import API, Ui, record_runs

WITHIN_S = 1.0
ROUNDS = 5
CHARTS = 20
PAINTED = """
(() => {
  const drawn = new Set();
  const isColour = (style) => {
    const parts = (/^#(..)(..)(..)$/.exec(style) ?? ["", "0"]).slice(1).map((part) => parseInt(part, 16));
    return Math.max(...parts) - Math.min(...parts) > 50;
  };
  const prototype = CanvasRenderingContext2D.prototype;
  const stroke = prototype.stroke;
  prototype.stroke = function (...path) {
    if (drawn.size < CHARTS && isColour(this.strokeStyle) && drawn.add(this.canvas).size === CHARTS) {
      requestAnimationFrame(() => requestAnimationFrame(() => (window.painted ??= performance.now())));
    }
    return stroke.apply(this, path);
  };
})();
""".replace("CHARTS", str(CHARTS))


def measure(plan: Plan) -> Measured:
    data = DataSet(project="many", runs=plan.pick(1000, 8), keys=50, points=20)
    home = plan.scratch / "view"
    record_runs(home, data)
    with contextlib.closing(Ui(home)) as ui, chromium() as browser:
        ui.wait_until_it_has(data)
        address = f"{ui.address}/p/{data.project}?view={_save(ui, data)}"
        with new_page(browser) as page:
            enter(page, ui)
            cookies = page.context.cookies()
        walls, browsed = [], []
        # The first one loads code and caches of the server, and does not count.
        for _ in range(1 + plan.pick(ROUNDS, 1)):
            with new_page(browser, script=PAINTED) as page:
                page.context.add_cookies(cookies)  # type: ignore[arg-type]  # as they were read
                before_s = browser_cpu_s()
                page.goto(address, wait_until="commit")
                page.wait_for_function("() => window.painted", polling=50)
                walls.append(page.evaluate("window.painted") / 1e3)
                browsed.append(browser_cpu_s() - before_s)
    return Measured(
        figures=[
            Figure(
                name="saved view of 20 charts, of 1,000 runs: the last one painted after",
                measured=median(walls[1:]),
                unit="s",
                at_most=WITHIN_S,
            ),
            Figure(name="the same, CPU of the browser", measured=median(browsed[1:]), unit="s"),
        ],
        raw={"wall_s": walls, "browser_cpu_s": browsed},
    )


def _save(ui: Ui, data: DataSet) -> str:
    """A view of the team; returns its id."""
    settings = {"pin": ",".join(key_names(data.keys)[:CHARTS]), "size": "s", "smooth": "0.6"}
    made = {"project": data.project, "name": "Twenty", "is_team": True, "settings": settings}
    return str(json.loads(ui.ask(Question(path=f"{API}/views", body=made)))["id"])
