"""Media of runs that came to different steps: one of them died, and what it has beside the others says so."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import serious_findings
from tests.browser.gallery import forget_settings, gallery_in
from tests.browser.watched import Watched
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import Served

PROGRAM = """
import os, signal
import numpy as np
import holter
name, steps = os.environ["N"], int(os.environ["STEPS"])
run = holter.init(project="deaths", name=name)
rng = np.random.default_rng(1)
print(run.id, flush=True)
for step in range(steps):
    pixels = rng.integers(0, 256, (300, 500, 3), np.uint8)
    tall = holter.Image(np.zeros((400, 40, 3), np.uint8), caption="tall")
    run.log({
        "loss": 1.0,
        "samples": [holter.Image(pixels, caption="A pagoda above a lake on a hazy morning"), holter.Image(pixels)],
        "table": holter.Table(columns=["picture", "words"], data=[[tall, "many words " * 40]]),
        "gradients/layers.11/log10": holter.Histogram([1.0, 2.0]),
        "gradients/layers.3/log10": holter.Histogram([1.0, 2.0]),
        "confused": holter.plot.confusion_matrix(
            preds=[0, 1, 2], y_true=[0, 1, 1], class_names=["motorcycle", "helicopter", "wheelbarrow"]
        ),
    }, step=step * 1000)
run.log({"loss": 1.0, "samples": holter.Image("/nowhere/<b>a</b>.png")})
if name == "short":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def log(name: str, steps: int) -> str:
    return run(PROGRAM, N=name, STEPS=str(steps)).stdout.split()[0]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    """A server with two runs, by name: one was killed."""
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        found = {"short": log("short", 3), "long": log("long", 6)}

        def are_made() -> bool:
            told = server.get("/media", runs=",".join(found.values()))
            return not told["waiting"] and len(told["media"]) == 10

        wait_until(are_made)
        wait_until(lambda: server.state(found["short"]) == "crashed")
        yield server, found


@pytest.fixture
def page(stranger: Watched, runs: tuple[Served, dict[str, str]]) -> Page:
    server, found = runs
    stranger.come_to(server)
    forget_settings(server)
    return stranger.open(f"/p/deaths/media?runs={found['short']},{found['long']}")


def test_where_a_run_died_stands_on_the_slider_and_beside_its_last_pictures(page: Page) -> None:
    samples = page.get_by_role("article", name="samples", exact=True)
    expect(samples).to_contain_text("! last at 2,000")
    slider = page.get_by_role("group", name="Step of all media")
    mark = slider.get_by_role("img", name="short died at step 2,000")
    expect(mark).to_be_visible()
    expect(slider.locator(".ticks")).to_have_text(re.compile(r"^0\s*1k\s*2k\s*3k\s*4k\s*5k$"))
    # It stands above the tick of its step.
    middles = [each.bounding_box() for each in (mark, slider.get_by_text("2k", exact=True))]
    one, other = [box["x"] + box["width"] / 2 for box in middles if box]
    assert abs(one - other) < 2
    page.get_by_role("slider", name="Step", exact=True).fill("1")
    expect(samples).not_to_contain_text("last at")


def test_what_is_not_kept_is_counted_and_told(page: Page) -> None:
    page.get_by_text("▲ 2 media not kept").click()
    told = page.get_by_role("list", name="Media that are not kept").get_by_role("listitem")
    expect(told).to_have_count(2)
    expect(told.first).to_contain_text("samples: 1, the last one at step 2,000")
    expect(told.first).to_contain_text("No such file or directory: /nowhere/<b>a</b>.png")
    assert serious_findings(page) == []


def test_what_pictures_of_a_row_have_in_common_stands_to_their_left(page: Page) -> None:
    samples = page.get_by_role("article", name="samples", exact=True)
    pictures = samples.get_by_role("img")
    expect(pictures).to_have_count(4)
    words = samples.get_by_text("A pagoda above a lake").bounding_box()
    picture = pictures.first.bounding_box()
    assert words
    assert picture
    assert words["x"] + words["width"] <= picture["x"]
    # A row without words stands below the other one, not beside it.
    assert [round(box["x"]) for box in (pictures.nth(0).bounding_box(), pictures.nth(2).bounding_box()) if box] == [
        round(picture["x"])
    ] * 2
    page.set_viewport_size({"width": 390, "height": 844})
    wait_until(lambda: (box := samples.get_by_text("A pagoda above").bounding_box()) is not None and box["width"] > 250)


def test_a_panel_is_enlarged_to_the_pictures_themselves(page: Page) -> None:
    samples = page.get_by_role("article", name="samples", exact=True)
    expect(samples.get_by_role("img").first).to_have_attribute("src", re.compile("small.webp"))
    samples.get_by_role("button", name="Enlarge samples").click()
    large = page.get_by_role("dialog", name="samples")
    expect(large.get_by_role("img", name=re.compile("pagoda")).first).to_have_attribute(
        "src", re.compile("[0-9a-f]{64}.png")
    )
    large.get_by_role("button", name="Previous step").click()
    expect(page).to_have_url(re.compile("step=4000"))
    page.keyboard.press("Escape")
    expect(large).to_have_count(0)


def test_rows_of_tables_are_no_higher_than_others_and_columns_of_words_stay_readable(page: Page) -> None:
    table = page.get_by_role("article", name="table", exact=True)
    table.scroll_into_view_if_needed()
    cell = table.get_by_role("button", name="Open tall")
    expect(cell).to_be_visible()
    picture = cell.bounding_box()
    assert picture
    assert picture["height"] <= 90
    page.set_viewport_size({"width": 390, "height": 844})
    wait_until(lambda: (box := table.locator("td.text").first.bounding_box()) is not None and box["width"] >= 130)


def test_layers_stand_in_the_order_of_their_numbers_and_matrices_beside_each_other(page: Page) -> None:
    page.get_by_role("article", name="gradients/…", exact=True).scroll_into_view_if_needed()
    layers = page.get_by_role("list", name="Layers of gradients/…").get_by_role("button")
    expect(layers).to_have_text(["layers.3", "layers.11"])
    confused = page.get_by_role("article", name="confused", exact=True)
    confused.scroll_into_view_if_needed()
    tables = confused.get_by_role("table", name="Confusion matrix")
    expect(tables).to_have_count(2)
    shown = """tables => {
      const [one, other] = tables.map((each) => each.parentElement.getBoundingClientRect());
      return one.right <= other.left || one.bottom <= other.top;
    }"""
    wait_until(lambda: tables.evaluate_all(shown))
