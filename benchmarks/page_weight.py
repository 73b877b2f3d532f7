"""The weight of the page: scripts, styles and fonts that a browser loads, in kB as gzip makes them.

A browser with nothing in its caches opens each page in turn and tells which files it loaded; each counts with the
size of its gzip file in the package, a font, which is packed already, as it is. The first load is that of Home.
"""

from pathlib import Path

from playwright.sync_api import Page

from benchmarks.browsing import chromium, enter, new_page
from benchmarks.figures import Figure, Measured, Table, show
from benchmarks.peer_servers import DataSet
from benchmarks.plan import Plan
from benchmarks.recorded_runs import Ui, record_runs, run_id
from holter.server.pages import PAGE

FIRST_KB, ANY_KB = 120, 200
LOADED = "performance.getEntriesByType('resource').map(each => new URL(each.name).pathname)"
SETTLES_MS = 700


def measure(plan: Plan) -> Measured:
    data = DataSet(project="light", runs=2, keys=10, points=20)
    home = Path(plan.scratch / "weight")
    record_runs(home, data)
    ui = Ui(home)
    try:
        ui.wait_until_it_has(data)
        with chromium() as browser:
            weights = {}
            for path in paths(data.project, run_id(data, 0), run_id(data, 1)):
                with new_page(browser) as page:
                    enter(page, ui)
                    page.goto(ui.address + path)
                    weights[path] = loaded_kb(page)
    finally:
        ui.close()
    heaviest = max(weights, key=weights.__getitem__)
    return Measured(
        figures=[
            Figure(name="page: first load, gzip", measured=weights["/"], unit="kB", at_most=FIRST_KB),
            Figure(name="page: heaviest page, gzip", measured=weights[heaviest], unit="kB", at_most=ANY_KB),
        ],
        tables=[Table("Weights", ["page", "kB"], [[path, show(weight)] for path, weight in weights.items()])],
    )


def paths(project: str, run: str, other: str) -> list[str]:
    """Every kind of page that there is."""
    tabs = ("overview", "charts", "system", "logs", "files", "diagnosis")
    of_run = [f"/p/{project}/r/{run}/{tab}" for tab in tabs]
    return [
        "/",
        f"/p/{project}",
        *of_run,
        f"/p/{project}/compare?runs={run},{other}",
        f"/p/{project}/crashes",
        "/settings",
    ]


def loaded_kb(page: Page) -> float:
    """What the page that is open has loaded, once it has settled."""
    page.wait_for_timeout(SETTLES_MS)
    names = {Path(path).name for path in page.evaluate(LOADED) if path.endswith((".js", ".css", ".woff2"))}
    return sum(packed_size(PAGE / "assets" / name) for name in names) / 1000


def packed_size(file: Path) -> int:
    gzipped = file.with_name(f"{file.name}.gz")
    return (gzipped if gzipped.exists() else file).stat().st_size
