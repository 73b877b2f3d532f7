"""Opening a project of 1,000 runs × 50 metrics: holter's page beside those of MLflow and trackio.

All have the same points, 20 in each series (`benchmarks/peer_fill.py`). A browser with nothing in its caches opens the
page of the project with its charts, 1600 × 1000, for each tracker in turn. The clock starts with the navigation and
stops two frames after the first line of a chart was drawn: a coloured stroke on a canvas, or a line or bar in an SVG.
CPU time until then is that of all processes of the browser and that of the server. Every page shows as many runs as it
does by itself. Figures are medians.
"""

import contextlib

import msgspec
from playwright.sync_api import Browser, Cookie

from benchmarks.asked_server import AskedServer
from benchmarks.browsing import browser_cpu_s, chromium, enter, new_page
from benchmarks.figures import Figure, Measured, Table, median, show
from benchmarks.peer_servers import MLFLOW, TRACKIO, Company, DataSet, Peer
from benchmarks.plan import Plan
from benchmarks.recorded_runs import Ui, record_runs
from benchmarks.trials import in_turn

WITHIN_S = 1.0
ROUNDS = 5
OURS = "holter"
# Tells when the first line is on the screen; our own axes and theirs are grey.
PAINTED = """
(() => {
  if (window.top !== window) return;
  const tell = () => requestAnimationFrame(() => requestAnimationFrame(() => (window.painted ??= performance.now())));
  const isColour = (style) => {
    const found = /^#(..)(..)(..)$/.exec(style);
    const parts = found ? found.slice(1).map((part) => parseInt(part, 16)) : [0];
    return Math.max(...parts) - Math.min(...parts) > 50;
  };
  const prototype = CanvasRenderingContext2D.prototype;
  const stroke = prototype.stroke;
  prototype.stroke = function (...path) {
    if (!window.painted && isColour(this.strokeStyle)) tell();
    return stroke.apply(this, path);
  };
  const drawn = ".scatterlayer path.js-line, .barlayer .point path, svg .mark-line path";
  const timer = setInterval(() => {
    if (window.painted) clearInterval(timer);
    else if (document.querySelector(drawn)) tell();
  }, 20);
})();
"""


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """One opening of a project's page, until its first chart."""

    wall_s: float
    browser_cpu_s: float
    server_cpu_s: float


def measure(plan: Plan) -> Measured:
    data = DataSet(project="many", runs=plan.pick(1000, 8), keys=50, points=20)
    company = Company((MLFLOW, TRACKIO), plan.scratch / "peers", is_alone=plan.is_alone)
    try:
        company.begin_to_fill(data)
        home = plan.scratch / "ours"
        record_runs(home, data)
        peers = company.serve()
        with contextlib.closing(Ui(home)) as ui, chromium() as browser:
            ui.wait_until_it_has(data)
            addresses = {OURS: f"{ui.address}/p/{data.project}"}
            for peer in peers:
                addresses[peer.name] = _address(peer, company, data)
            found = _open_in_turn(browser, {OURS: ui, **company.servers}, addresses, plan)
    finally:
        company.close()
    labels = {OURS: OURS, **company.labels()}
    return Measured(
        figures=_figures(found),
        tables=[_table(found, labels)],
        notes=company.notes,
        raw={name: msgspec.to_builtins(each) for name, each in found.items()},
    )


def _address(peer: Peer, company: Company, data: DataSet, /) -> str:
    """The page of the project with its charts."""
    paths = {
        MLFLOW.name: f"/#/experiments/{company.left_behind(peer, data).get('experiment')}/runs?compareRunsMode=CHART",
        TRACKIO.name: f"/?project={data.project}",
    }
    return f"http://127.0.0.1:{company.servers[peer.name].port}{paths[peer.name]}"


def _open_in_turn(
    browser: Browser, servers: dict[str, AskedServer], addresses: dict[str, str], plan: Plan, /
) -> dict[str, list[Opened]]:
    cookies = _cookies(browser, servers[OURS])
    found: dict[str, list[Opened]] = {name: [] for name in addresses}
    # The first round loads code and caches of the servers, and does not count.
    turns = [*addresses, *in_turn(list(addresses), plan.pick(ROUNDS, 1))]
    for number, name in enumerate(turns):
        opened = _open(browser, servers[name], addresses[name], cookies if name == OURS else [])
        if number >= len(addresses):
            found[name].append(opened)
    return found


def _cookies(browser: Browser, ui: AskedServer) -> list[Cookie]:
    """Of somebody who has logged in before."""
    assert isinstance(ui, Ui)
    with new_page(browser) as page:
        enter(page, ui)
        return page.context.cookies()


def _open(browser: Browser, server: AskedServer, address: str, cookies: list[Cookie], /) -> Opened:
    with new_page(browser, script=PAINTED) as page:
        page.context.add_cookies(cookies)  # type: ignore[arg-type]  # as they were read
        browsed_s, served_s = browser_cpu_s(), server.cpu_s()
        page.goto(address, wait_until="commit")
        page.wait_for_function("() => window.painted", polling=50)
        return Opened(
            wall_s=page.evaluate("window.painted") / 1e3,
            browser_cpu_s=browser_cpu_s() - browsed_s,
            server_cpu_s=server.cpu_s() - served_s,
        )


def _figures(found: dict[str, list[Opened]]) -> list[Figure]:
    ours = found[OURS]
    figures = [
        Figure(
            name="project of 1,000 runs: first chart painted after",
            measured=_middle(ours, "wall_s"),
            unit="s",
            at_most=WITHIN_S,
        ),
    ]
    for name, each in found.items():
        if name != OURS:
            ratio = _middle(ours, "wall_s") / _middle(each, "wall_s")
            figures.append(Figure(name=f"the same, wall time / that of {name}", measured=ratio, unit="×", at_most=1.0))
            ratio = _middle(ours, "browser_cpu_s") / _middle(each, "browser_cpu_s")
            figures.append(Figure(name=f"the same, CPU of the browser / that of {name}", measured=ratio, unit="×"))
    return figures


def _middle(opened: list[Opened], field: str) -> float:
    return median([getattr(each, field) for each in opened])


def _table(found: dict[str, list[Opened]], labels: dict[str, str]) -> Table:
    fields = ("wall_s", "browser_cpu_s", "server_cpu_s")
    rows = [[labels[name], *(show(_middle(each, field), "s") for field in fields)] for name, each in found.items()]
    return Table("Until the first chart", ["", "wall", "CPU, browser", "CPU, server"], rows)
