"""Pictures, films, sounds, texts and histograms on the page: side by side, at one step, live, and harmless."""

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Locator, Page, expect

from tests.browser.axe import serious_findings
from tests.browser.gallery import forget_settings, gallery_in
from tests.browser.watched import Watched
from tests.e2e.programs import run, start, wait_until
from tests.e2e.servers import Served

EVIL = "<img src=x onerror='document.title=1'><script>document.title=1</script>"
PROGRAM = """
import os, time
import numpy as np
import plotly
import holter

name, evil = os.environ["N"], os.environ["EVIL"]
run = holter.init(project=os.environ.get("P", "media"), name=name)
shade = int(os.environ["SHADE"])
mask = np.zeros((20, 30), np.uint8)
mask[5:, 5:] = 1
boxes = {"guessed": {"box_data": [
    {"position": {"minX": 0.1, "maxX": 0.5, "minY": 0.1, "maxY": 0.5}, "class_id": 1, "scores": {"p": 0.9}},
    {"position": {"middle": [15, 10], "width": 9, "height": 9}, "domain": "pixel", "class_id": 2, "box_caption": evil},
], "class_labels": {1: "cat", 2: evil}}}
place = {"position": {"minX": 0.1, "maxX": 0.5, "minY": 0.1, "maxY": 0.5}}
sure = [{**place, "class_id": 1, "scores": {"p": 0.97}}, {**place, "class_id": 1, "scores": {"p": 0.58}},
        {**place, "class_id": 2, "scores": {"p": 0.44}, "box_caption": "a dog, perhaps"}]
scored = {"guessed": {"box_data": sure, "class_labels": {1: "cat", 2: "dog"}},
          "true": {"box_data": [{**place, "class_id": 1}, {**place, "class_id": 1}], "class_labels": {1: "cat"}}}
for step in range(int(os.environ["STEPS"])):
    pixels = np.full((20, 30, 3), shade + 20 * step, np.uint8)
    media = {"samples": [holter.Image(pixels, caption=f"{name} {step}"), holter.Image(pixels, caption=evil)]}
    for layer in ("first", "second"):
        media[f"gradients/{layer}/log10"] = holter.Histogram(np_histogram=([3, 1 + step], [-4.0, -3.0, -2.0]))
    media["gradients"] = holter.Histogram(np_histogram=([1, 3 + step, 1], [0.0, 1.0, 2.0, 3.0]))
    if step == 0:
        masks = {"guessed": {"mask_data": mask, "class_labels": {1: "cat"}}}
        media["found"] = holter.Image(pixels, boxes=boxes, masks=masks)
        media["scored"] = holter.Image(pixels, boxes=scored)
        rewards = [["a", 0.5, 7], ["b", 2.5, 7], ["c", float("nan"), 7], ["d", 1.5, 7], ["e", None, 7]]
        media["rewards"] = holter.Table(columns=["name", "reward", "same"], data=rewards)
        media["sound"] = holter.Audio(np.zeros(800, np.float32), sample_rate=8000, caption=evil)
        media["notes"] = holter.Markdown("# Heading" + chr(10) + "**bold** " + evil)
        media["words"] = holter.Text(evil)
        cell = holter.Image(pixels, caption="cell", boxes=boxes, masks=masks)
        rows = [[cell, evil if row == 7 else f"text {row}", row / 8] for row in range(60)]
        media["table"] = holter.Table(columns=["picture", "answer", "score"], data=rows)
        points = holter.Table(columns=["x", "y"], data=[[x, x * x] for x in range(10)])
        media["curve"] = holter.plot.line(points, "x", "y", title="A curve " + evil)
        names = ["cat", "dog"]
        media["confused"] = holter.plot.confusion_matrix(preds=[0, 0, 1], y_true=[0, 1, 1], class_names=names)
        figure = {"data": [{"y": [3, 1, 2], "name": evil}], "layout": {"title": evil}}
        media["figure"] = plotly.graph_objects.Figure(figure)
        media["cloud"] = holter.Object3D(np.eye(3))
        media["page"] = holter.Html(
            "<p id=told>shown</p><script>"
            "const told = document.getElementById('told'), say = (text) => (told.textContent += ', ' + text);"
            "try { parent.document.title = 'taken'; say('reached the page') } catch { say('kept apart') }"
            "fetch('/api/v1/runs').then(() => say('asked'), () => say('not answered'));"
            "</script>"
        )
    run.log({"loss": 1.0, **media}, step=step * 100)
print(run.id, flush=True)
if go_on := os.environ.get("GO_ON"):
    while not os.path.exists(go_on):
        time.sleep(0.05)
    step += 1
    run.log({"samples": holter.Image(np.zeros((4, 4, 3), np.uint8), caption=f"late {step}")}, step=step * 100)
"""


def log(name: str, **environment: str) -> str:
    ended = run(PROGRAM, N=name, EVIL=EVIL, **environment)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()[-1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, dict[str, str]]]:
    """A server with two runs, by name."""
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        found = {"dark": log("dark", SHADE="20", STEPS="4"), "light": log("light", SHADE="160", STEPS="3")}

        def are_made() -> bool:
            told = server.get("/media", runs=",".join(found.values()))
            steps = {(each["run"], each["key"]): each["steps"] for each in told["media"]}
            return not told["waiting"] and len(steps) == 32 and steps[found["dark"], "samples"] == 4

        wait_until(are_made)
        yield server, found


@pytest.fixture
def page(stranger: Watched, runs: tuple[Served, dict[str, str]]) -> Page:
    server, found = runs
    stranger.come_to(server)
    forget_settings(server)
    # What Chromium says of the page that was logged, which tries what it may not.
    stranger.expect_errors("Content Security Policy", "Failed to read a named property", "Blocked a frame")
    return stranger.open(f"/p/media/media?runs={found['dark']},{found['light']}")


def panel(page: Page, key: str) -> Locator:
    return page.get_by_role("article", name=key, exact=True)


def shown(pictures: Locator) -> list[Any]:
    """The shade of each picture in steps of the program, None where it was not painted; small ones are not exact."""
    script = """images => images.map((image) => {
      if (!image.complete || !image.naturalWidth) return null;
      const canvas = document.createElement("canvas");
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      return Math.round(context.getImageData(0, 0, 1, 1).data[0] / 20);
    })"""
    return list(pictures.evaluate_all(script))


def test_runs_stand_side_by_side_at_one_step(page: Page, take: Callable[[str], None]) -> None:
    samples = panel(page, "samples")
    expect(samples.get_by_role("img")).to_have_count(4)
    wait_until(lambda: shown(samples.get_by_role("img")) == [4, 10, 4, 10])
    expect(samples).to_contain_text("dark 3")
    # The shorter one is behind, and says so.
    expect(samples).to_contain_text("last at 200")
    slider = page.get_by_role("slider", name="Step", exact=True)
    slider.focus()
    slider.press("Home")
    wait_until(lambda: shown(samples.get_by_role("img")) == [1, 8, 1, 8])
    expect(page).to_have_url(re.compile("step=0"))
    page.get_by_role("button", name="Next step").click()
    wait_until(lambda: shown(samples.get_by_role("img")) == [2, 9, 2, 9])
    page.get_by_role("textbox", name="Go to a step").fill("200")
    page.get_by_role("textbox", name="Go to a step").blur()
    wait_until(lambda: shown(samples.get_by_role("img")) == [3, 10, 3, 10])
    page.reload()
    wait_until(lambda: shown(samples.get_by_role("img")) == [3, 10, 3, 10])
    take("media")
    assert serious_findings(page) == []
    samples.get_by_role("button", name="Over steps").click()
    expect(samples.get_by_role("button", name=re.compile("^Step "))).to_have_count(7)
    samples.get_by_role("button", name=re.compile("^Step 100 of dark")).click()
    expect(page).to_have_url(re.compile("step=100"))
    page.get_by_role("button", name="Leave out light").click()
    expect(page.get_by_role("combobox", name="Add a run")).to_be_visible()
    expect(samples.get_by_role("button", name=re.compile("^Step "))).to_have_count(4)


def test_a_picture_is_looked_at_closely_and_compared(page: Page, take: Callable[[str], None]) -> None:
    panel(page, "found").get_by_role("button", name=re.compile("of dark")).click()
    viewer = page.get_by_role("dialog", name="found")
    boxes = viewer.locator(".box")
    expect(boxes).to_have_count(2)
    expect(viewer).to_contain_text("cat 0.90")
    # What is said of boxes is text.
    expect(boxes.filter(has_text="<script>")).to_have_count(1)
    take("media-viewer")
    assert serious_findings(page) == []
    viewer.get_by_role("slider", name="Score at least").fill("0.95")
    expect(boxes).to_have_count(1)
    viewer.get_by_role("slider", name="Score at least").fill("0")
    painted = "canvas => canvas.getContext('2d').getImageData(10, 10, 1, 1).data[3]"
    wait_until(lambda: viewer.locator("canvas").evaluate(painted) > 0)
    viewer.get_by_role("checkbox", name="cat").uncheck()
    expect(boxes).to_have_count(1)
    wait_until(lambda: viewer.locator("canvas").evaluate(painted) == 0)
    viewer.get_by_role("button", name="Larger").click()
    expect(viewer).to_contain_text("130 %")
    stage = viewer.get_by_role("group", name=re.compile("^Picture;"))
    stage.focus()
    stage.press("ArrowRight")
    expect(viewer.locator(".layers")).to_have_attribute("style", re.compile(r"translate\(-40px, 0px\) scale\(1\.3\)"))
    viewer.get_by_label("Compare with").select_option("light")
    half = viewer.get_by_role("slider", name="Where the other picture begins")
    half.fill("0.25")
    expect(viewer.locator(".over")).to_have_css("clip-path", "inset(0px 0px 0px 25%)")
    viewer.get_by_role("combobox", name="How").select_option("Blend")
    viewer.get_by_role("slider", name="How much of the other picture").fill("0.75")
    expect(viewer.locator(".over")).to_have_css("opacity", "0.75")
    viewer.get_by_role("combobox", name="How").select_option("Difference")
    expect(viewer.locator(".over")).to_have_css("mix-blend-mode", "difference")
    page.keyboard.press("Escape")
    expect(viewer).to_have_count(0)
    panel(page, "samples").get_by_role("button", name="Open dark 3 of dark").click()
    viewer = page.get_by_role("dialog", name="samples")
    viewer.get_by_label("Compare with").select_option("step 100")
    wait_until(lambda: shown(viewer.locator(".layers").get_by_role("img")) == [4, 2])


def test_the_scores_of_boxes_stand_beside_their_class_and_hide_those_below_one(
    page: Page, take: Callable[[str], None]
) -> None:
    panel(page, "scored").get_by_role("button", name=re.compile("of dark")).click()
    viewer = page.get_by_role("dialog", name="scored")
    boxes = viewer.locator(".box")
    expect(boxes).to_have_count(5)
    guessed, true = viewer.get_by_role("group", name="guessed"), viewer.get_by_role("group", name="true")
    cats = guessed.get_by_role("checkbox", name="cat", exact=True)
    expect(guessed).to_contain_text("2 · 0.58 – 0.97")
    expect(guessed).to_contain_text("0.44")
    expect(cats).to_have_accessible_description("2 boxes, score 0.58 to 0.97")
    expect(true.get_by_role("checkbox", name="cat", exact=True)).to_have_accessible_description("2 boxes")
    least = viewer.get_by_role("slider", name="Score at least")
    least.fill("0.6")
    # What has no score is not below one.
    expect(boxes).to_have_count(3)
    expect(guessed).to_contain_text("1 of 2 · 0.58 – 0.97")
    expect(cats).to_have_accessible_description("1 of 2 boxes, score 0.58 to 0.97")
    expect(guessed).to_contain_text("0 of 1 · 0.44")
    take("media-scores")
    assert serious_findings(page) == []
    least.press("Home")
    expect(boxes).to_have_count(5)
    # Both pictures are told of where two are compared.
    viewer.get_by_label("Compare with").select_option("light")
    expect(cats).to_have_accessible_description("4 boxes, score 0.58 to 0.97")
    page.set_viewport_size({"width": 390, "height": 800})
    take("media-scores-narrow")
    assert serious_findings(page) == []


def test_what_was_logged_can_do_nothing_to_the_page(page: Page) -> None:
    for key in ("samples", "sound", "notes", "words"):
        panel(page, key).scroll_into_view_if_needed()
        expect(panel(page, key).get_by_text("<script>").first).to_be_visible()
    expect(panel(page, "notes").get_by_role("heading", name="Heading")).to_have_count(2)
    panel(page, "page").scroll_into_view_if_needed()
    told = panel(page, "page").frame_locator("iframe").first.locator("#told")
    expect(told).to_have_text("shown, kept apart, not answered")
    assert page.locator("script:not([src])").count() == 0
    assert page.title() == "media · Holter"


def test_a_distribution_over_steps_is_one_picture(page: Page) -> None:
    # It is drawn while it is near what people see, and panels above it grow as they come: it is looked for each time.
    heat = panel(page, "gradients").get_by_role("img", name="Distribution of gradients over 4 steps, from 0 to 3")

    def ask(script: str) -> Any:  # noqa: ANN401  whatever the script finds
        with contextlib.suppress(Error):
            panel(page, "gradients").scroll_into_view_if_needed()
            return heat.evaluate(script, timeout=1000)
        return None

    alphas = """node => {
      const copy = new OffscreenCanvas(1, 64).getContext("2d", {willReadFrequently: true});
      copy.drawImage(node.querySelector("canvas"), 0, 0);
      return [0, 32, 63].map((y) => copy.getImageData(0, y, 1, 1).data[3]);
    }"""
    wait_until(lambda: (found := ask(alphas)) is not None and found[1] > found[0] > 0)
    point = """node => {
      const box = node.getBoundingClientRect();
      const place = {clientX: box.left + 3, clientY: box.top + box.height / 2, bubbles: true};
      node.dispatchEvent(new PointerEvent("pointermove", place));
      return true;
    }"""
    told = re.compile(r"step 0 · 1\.\d+ … 1\.\d+ · \d")
    wait_until(lambda: ask(point) and told.search(panel(page, "gradients").inner_text()))


def test_layers_of_a_model_are_one_panel_with_a_strip_for_each(page: Page) -> None:
    layers = panel(page, "gradients/…")
    layers.scroll_into_view_if_needed()
    strips = layers.get_by_role("list", name="Layers of gradients/…").get_by_role("button")
    expect(strips).to_have_text(["first", "second"])
    strips.nth(1).click()
    expect(layers.get_by_role("img", name="Distribution of gradients/second/log10")).to_have_count(2)
    shades = "node => [...node.getContext('2d').getImageData(0, 0, node.width, 1).data].filter((_, at) => at % 4 === 3)"
    # The larger the values become, the darker it is.
    wait_until(lambda: (found := strips.nth(1).locator("canvas").evaluate(shades)) == sorted(set(found)) != [])


def test_a_figure_of_plotly_draws_itself_in_a_frame(page: Page) -> None:
    figure = panel(page, "figure")
    figure.scroll_into_view_if_needed()
    drawn = figure.frame_locator("iframe").first.locator("#figure")
    expect(drawn.locator(".scatterlayer .point")).to_have_count(3)
    expect(figure.locator("iframe").first).to_have_attribute("sandbox", "allow-scripts")
    assert page.title() == "media · Holter"


def test_a_sound_and_a_scene_are_there_to_play_and_to_turn(page: Page) -> None:
    sound = panel(page, "sound").locator("audio").first
    panel(page, "sound").scroll_into_view_if_needed()
    expect(panel(page, "sound").locator(".wave svg").first.locator("rect")).to_have_count(160)
    panel(page, "sound").get_by_role("slider", name=re.compile("^Place in")).first.fill("0.05")
    panel(page, "sound").get_by_role("button", name=re.compile("^Play")).first.click()
    wait_until(lambda: sound.evaluate("node => node.duration") == pytest.approx(0.1))
    scene = panel(page, "cloud").get_by_role("img", name=re.compile("Scene of 3 points")).first
    scene.scroll_into_view_if_needed()
    seen = "node => node.querySelector('canvas').toDataURL()"
    before = scene.evaluate(seen)
    scene.focus()
    scene.press("ArrowLeft")
    wait_until(lambda: scene.evaluate(seen) != before)


def test_a_new_picture_appears_by_itself(
    stranger: Watched, runs: tuple[Served, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = runs
    monkeypatch.setenv("HOLTER_DIR", server.home)
    stranger.come_to(server)
    stranger.expect_errors("Content Security Policy", "Failed to read a named property", "Blocked a frame")
    go_on = tmp_path / "go-on"
    with start(PROGRAM, N="alive", P="live", SHADE="50", STEPS="1", EVIL="plain", GO_ON=str(go_on)) as program:
        assert program.stdout is not None
        found = program.stdout.readline().strip()
        wait_until(lambda: server.state(found))
        page = stranger.open(f"/p/live/r/{found}/media")
        expect(panel(page, "samples")).to_contain_text("alive 0")
        go_on.touch()
        expect(panel(page, "samples")).to_contain_text("late 1")
        assert program.wait(60) == 0


def test_media_are_a_panel_of_the_workspace(page: Page) -> None:
    page.goto(re.sub(r"/media\?.*", "?panels=1*media*key_samples", page.url))
    media = page.get_by_role("region", name="Panels").get_by_role("article").first
    expect(media.get_by_role("img", name=re.compile("^(dark|light|<img)"))).to_have_count(4)
    media.get_by_role("button", name="Previous step").click()
    expect(media).to_contain_text("dark 2")
    field, card = media.get_by_role("textbox", name="Go to a step").bounding_box(), media.bounding_box()
    assert field
    assert card
    assert field["x"] + field["width"] <= card["x"] + card["width"]
    media.get_by_role("combobox", name="Which media").select_option("notes")
    expect(page).to_have_url(re.compile("key_notes"))


def test_runs_without_media_say_how_to_log_some(
    stranger: Watched, runs: tuple[Served, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, _ = runs
    monkeypatch.setenv("HOLTER_DIR", server.home)
    stranger.come_to(server)
    found = run(
        "import holter\nrun = holter.init(project='plain')\nrun.log({'loss': 1})\nprint(run.id)"
    ).stdout.split()[-1]
    wait_until(lambda: server.state(found))
    page = stranger.open(f"/p/plain/r/{found}/media")
    expect(page.get_by_role("main")).to_contain_text("No media here yet")


def test_a_table_is_sorted_filtered_and_told(page: Page, take: Callable[[str], None]) -> None:
    table = panel(page, "table").get_by_role("region", name="dark")
    table.scroll_into_view_if_needed()
    rows = table.get_by_role("region", name="Rows of table").locator("tbody tr")
    expect(rows).to_have_count(25)
    expect(table).to_contain_text("Rows 1 – 25 of 60")
    wait_until(lambda: set(shown(rows.nth(0).get_by_role("img"))) == {1})
    # What stands in a cell is text.
    expect(rows.nth(7)).to_contain_text("<script>document.title=1</script>")
    table.get_by_role("button", name="Next rows").click()
    expect(rows.first).to_contain_text("text 25")
    table.get_by_role("columnheader", name="score").get_by_role("button").click()
    expect(rows.first).to_contain_text("text 59")
    expect(table).to_contain_text("Rows 1 – 25 of 60")
    table.get_by_role("combobox", name="Column to filter by").select_option("score")
    table.get_by_role("combobox", name="How it is compared").select_option("less than")
    table.get_by_role("textbox", name="Value to filter by").fill("0.5")
    table.get_by_role("button", name="Filter", exact=True).click()
    expect(rows).to_have_count(4)
    table.get_by_role("button", name="Columns").click()
    expect(table.get_by_role("columnheader", name=re.compile("^score"))).to_contain_text("0 … 0.375, mean 0.1875")
    take("media-table")
    assert serious_findings(page) == []
    table.get_by_role("button", name="Remove the filter score").click()
    expect(table).to_contain_text("of 60")
    rows.first.get_by_role("button", name="Open cell").click()
    viewer = page.get_by_role("dialog", name="cell")
    expect(viewer.locator(".box")).to_have_count(2)
    painted = "canvas => canvas.getContext('2d').getImageData(10, 10, 1, 1).data[3]"
    wait_until(lambda: viewer.locator("canvas").evaluate(painted) > 0)
    viewer.get_by_role("checkbox", name="cat").uncheck()
    expect(viewer.locator(".box")).to_have_count(1)
    page.keyboard.press("Escape")
    # One run's table at a time: the other one is a click away.
    panel(page, "table").get_by_role("button", name=re.compile("^light")).click()
    expect(panel(page, "table").get_by_role("region", name="light")).to_contain_text("Rows 1 – 25 of 60")
    expect(panel(page, "table").get_by_role("region", name="dark")).to_have_count(0)


def test_numbers_of_a_table_have_bars_from_the_least_of_their_column_to_the_largest(
    page: Page, take: Callable[[str], None]
) -> None:
    table = panel(page, "rewards").get_by_role("region", name="dark")
    table.scroll_into_view_if_needed()
    rows = table.get_by_role("region", name="Rows of rewards").locator("tbody tr")
    rewards = rows.locator("td:nth-child(2)")
    # The number alone is read out.
    expect(rewards).to_have_text(["0.5", "2.5", "NaN", "1.5", "–"])
    shares = """cells => cells.map((cell) => {
      const bar = cell.querySelector(".bar");
      return bar && bar.style.getPropertyValue("--share");
    })"""
    assert rewards.evaluate_all(shares) == ["0%", "100%", None, "50%", None]
    # Where all are equal there is nothing to see.
    assert rows.locator("td:nth-child(3)").evaluate_all(shares) == [None] * 5
    take("media-bars")
    assert serious_findings(page) == []
    # A bar is as long as before when others are filtered away.
    table.get_by_role("textbox", name="Value to filter by").fill("d")
    table.get_by_role("button", name="Filter", exact=True).click()
    expect(rewards).to_have_text(["1.5"])
    assert rewards.evaluate_all(shares) == ["50%"]


def test_figures_are_drawn_from_their_tables(page: Page) -> None:
    curve = panel(page, "curve")
    curve.scroll_into_view_if_needed()
    expect(curve.get_by_role("img").first).to_have_attribute(
        "aria-label", re.compile("^A curve <img.*line of 10 rows$")
    )
    expect(curve.locator("path.line").first).to_have_attribute("d", re.compile(r"^M\S+ \S+(L\S+ \S+){9}$"))
    curve.get_by_role("button", name="Table").click()
    expect(curve.get_by_role("region", name="Rows of curve").first).to_contain_text("81")
    confused = panel(page, "confused").get_by_role("table", name="Confusion matrix").first
    confused.scroll_into_view_if_needed()
    assert confused.locator("tbody td").all_inner_texts() == ["1", "0", "1", "1"]
