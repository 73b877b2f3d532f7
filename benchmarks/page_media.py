"""The media page with 200 thumbnails of one step, and its slider.

A run has 20 keys of ten pictures of 256 x 256, at eight steps; all are in sight of a tall window. A browser with an
empty cache opens the page: the clock starts with the navigation, and stops two frames after the last picture is there.
Then the slider goes to steps that were not shown before, far away and beside, each until all pictures are others.
Figures are medians.
"""

import contextlib
import subprocess
import sys
import time

from playwright.sync_api import Page

from benchmarks.asked_server import Question
from benchmarks.browsing import chromium, enter, new_page
from benchmarks.figures import Figure, Measured, median
from benchmarks.plan import Plan
from benchmarks.recorded_runs import API, Ui
from benchmarks.trials import environment

ROUNDS = 5
KEYS, EACH, STEPS = 20, 10, 8
WINDOW = {"width": 1600, "height": 4600}
MADE_WITHIN_S = 600.0
LOG = """
import sys
import numpy as np, holter
keys, each, steps = map(int, sys.argv[1:])
run = holter.init(project="many", name="pictures")
rng = np.random.default_rng(1)
for step in range(steps):
    run.log({f"key {key}": [holter.Image(rng.integers(0, 256, (256, 256, 3), np.uint8)) for _ in range(each)]
             for key in range(keys)}, step=step)
print(run.id)
"""
# Calls back two frames after so many pictures are there, none of which was there before.
WATCH = """
window.others = (count, before) => new Promise((resolve) => {
  const look = () => {
    const images = [...document.querySelectorAll("article img")];
    const isThere = (image) => image.complete && image.naturalWidth && !before.has(image.src);
    if (images.length < count || !images.every(isThere)) return void requestAnimationFrame(look);
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
  };
  look();
});
window.addEventListener("DOMContentLoaded", () => void others(COUNT, new Set()).then((at) => (window.painted = at)));
""".replace("COUNT", str(KEYS * EACH))
GO = """
async ([label, step]) => {
  const before = new Set([...document.querySelectorAll("article img")].map((image) => image.src));
  const began = performance.now();
  if (step === null) document.querySelector(`button[aria-label="${label}"]`).click();
  else {
    const slider = document.querySelector(`input[aria-label="${label}"]`);
    slider.value = String(step);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  }
  return (await others(COUNT, before)) - began;
}
""".replace("COUNT", str(KEYS * EACH))


def measure(plan: Plan) -> Measured:
    home = plan.scratch / "media"
    logged = [sys.executable, "-c", LOG, str(KEYS), str(EACH), str(STEPS)]
    run = subprocess.run(logged, env=environment(home), check=True, capture_output=True, text=True).stdout.split()[-1]
    painted, far, beside = [], [], []
    with contextlib.closing(Ui(home)) as ui, chromium() as browser:
        _wait_until_made(ui, run)
        # The first one loads code and caches of the server, and does not count.
        for _ in range(1 + plan.pick(ROUNDS, 1)):
            with new_page(browser, script=WATCH) as page:
                page.set_viewport_size(WINDOW)  # type: ignore[arg-type]  # the same keys
                enter(page, ui)
                page.goto(f"{ui.address}/p/many/r/{run}/media", wait_until="commit")
                page.wait_for_function("() => window.painted", polling=50)
                painted.append(page.evaluate("window.painted") / 1e3)
                far.append(_go(page, "Step", 1))
                _rest(page)
                beside.append(_go(page, "Next step", None))
    return Measured(
        figures=[
            Figure(name="200 thumbnails of a step: all painted", measured=median(painted[1:]), unit="s", at_most=1.0),
            Figure(name="slider to a step not seen", measured=median(far[1:]), unit="s", at_most=0.15),
            Figure(name="slider to the step beside", measured=median(beside[1:]), unit="s", at_most=0.15),
        ],
        raw={"painted_s": painted, "far_s": far, "beside_s": beside},
    )


def _go(page: Page, label: str, step: int | None) -> float:
    return float(page.evaluate(GO, [label, step])) / 1e3


def _rest(page: Page) -> None:
    """Who looks at a step does so for a moment, in which the steps beside it come."""
    page.wait_for_timeout(3000)


def _wait_until_made(ui: Ui, run: str) -> None:
    until = time.monotonic() + MADE_WITHIN_S
    while True:
        told = ui.ask(Question(path=f"{API}/media?runs={run}"))
        if b'"waiting":{}' in told and told.count(b'"steps":%d' % STEPS) == KEYS:
            return
        if time.monotonic() > until:
            raise TimeoutError(f"the media were not made within {MADE_WITHIN_S:.0f} s")
        time.sleep(1)
