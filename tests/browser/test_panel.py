"""A chart that is opened large: what is set there stays with the link, and what it says is taken along."""

import csv
import math
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import serious_findings
from tests.browser.crowds import write_run
from tests.browser.gallery import forget_settings, gallery_in
from tests.browser.watched import Watched
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served

STEPS = 600
RUNS = {"fast-0": 0.03, "fast-1": 0.03, "slow-0": 0.008, "slow-1": 0.008, "dead": 0.02, "wild": 0.01}


def rows_of(name: str) -> list[dict[str, float]]:
    noise = random.Random(name)
    found: list[dict[str, float]] = []
    for step in range(STEPS if name != "dead" else 260):
        loss = 1 + 3 * math.exp(-step * RUNS[name]) + noise.gauss(0, 0.04)
        if name == "wild" and step > 100:
            loss = 40.0 + step if step != 300 else math.nan
        row = {"train/loss": loss, "train/acc": 1 - loss / 5, "train/tokens": step * 2e6, "epoch": step // 100}
        if step % 20 == 0:
            row["val/loss"] = loss + 0.1
        found.append(row)
    return found


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        for name, rate in RUNS.items():
            config = {"method": name.split("-")[0], "rate": rate}
            write_run(name, project="vision", config=config, rows=rows_of(name), exit_code=int(name == "dead"))
        wait_until(lambda: server.get("/runs", project="vision", filter="state != running")["total"] == len(RUNS))
        wait_until(lambda: len(server.get("/keys", project="vision")["keys"]) >= 5)
        yield server


@pytest.fixture
def page(stranger: Watched, gallery: Served) -> Page:
    stranger.come_to(gallery)
    forget_settings(gallery)
    page = stranger.open("/p/vision?baseline=slow-0")
    expect(card(page, "train/loss")).to_contain_text("6 runs")
    return page


def card(page: Page, metric: str) -> Locator:
    return page.get_by_role("article", name=metric, exact=True)


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Chart "))


def table_rows(page: Page) -> list[list[str]]:
    rows = panel(page).get_by_role("table", name="Values of the lines").locator("tbody tr").all()
    return [[cell.inner_text().strip() for cell in row.locator("th, td").all()] for row in rows]


def test_a_chart_is_opened_set_up_and_shared(page: Page, take: Callable[[str], None]) -> None:
    card(page, "train/loss").get_by_role("heading").get_by_role("link").click()
    expect(panel(page)).to_be_visible()
    expect(panel(page)).to_contain_text("1 outlier hidden")
    expect(page.get_by_role("searchbox", name="Search metrics by a regular expression")).to_have_count(0)
    form = panel(page).get_by_role("form")
    form.get_by_label("Y min").fill("0.5")
    form.get_by_label("Y max").fill("0.2")
    form.get_by_label("Y max").blur()
    expect(form.get_by_role("alert")).to_have_text("The lower end must be below the upper one")
    form.get_by_label("Y max").fill("two")
    form.get_by_label("Y max").blur()
    expect(form.get_by_role("alert")).to_have_text("“two” is no number")
    form.get_by_label("Y max").fill("2.5")
    form.get_by_label("Y max").blur()
    expect(page).to_have_url(re.compile(r"c\.train%2Floss=y%3A0\.5\.\.2\.5"))
    expect(panel(page)).to_contain_text("edited")
    panel(page).get_by_role("button", name="+ Metric").click()
    field = panel(page).get_by_role("combobox", name="Add a metric")
    field.fill("val/los")
    field.press("Enter")
    expect(panel(page).get_by_role("alert")).to_have_text("No run has this metric")
    field.fill("val/loss")
    field.press("Enter")
    expect(panel(page).get_by_role("heading", level=2).first).to_have_text("train/loss, val/loss")
    expect(panel(page).get_by_role("columnheader", name="val/loss", exact=True)).to_be_visible()
    form.get_by_role("switch", name="Log scale").check()
    form.get_by_label("Strength").fill("0.8")
    expect(page).to_have_url(re.compile("log%2Cs%3A0.8"))
    expect(panel(page)).to_contain_text("Sparse metrics such as val/loss are not smoothed")
    take("chart-panel")
    assert serious_findings(page) == []
    page.reload()
    expect(panel(page).get_by_label("Y max")).to_have_value("2.5")
    expect(panel(page).get_by_role("switch", name="Log scale")).to_be_checked()
    panel(page).get_by_role("button", name="Done").click()
    expect(panel(page)).to_have_count(0)
    expect(card(page, "train/loss").get_by_role("heading")).to_have_text("train/loss, val/loss")
    expect(card(page, "train/loss").get_by_role("heading").get_by_role("link")).to_be_focused()
    page.keyboard.press("e")
    expect(panel(page)).to_contain_text("edited")
    panel(page).get_by_role("button", name="Reset", exact=True).last.click()
    expect(page).not_to_have_url(re.compile(r"c\.train"))
    expect(panel(page)).to_contain_text("1 of 3")
    panel(page).get_by_role("button", name="Next chart").click()
    expect(panel(page)).to_contain_text("2 of 3")


def test_outliers_of_all_charts_are_said_once_and_shown_by_one_button(page: Page, take: Callable[[str], None]) -> None:
    chips = page.get_by_role("button", name="1 outlier hidden · Show")
    every = page.get_by_role("button", name="Show all outliers")
    expect(page.get_by_text("1 outlier hidden in 3 charts")).to_be_visible()
    expect(chips).to_have_count(3)
    take("outliers-of-all-charts")
    assert serious_findings(page) == []
    every.focus()
    page.keyboard.press("Enter")
    expect(chips).to_have_count(0)
    expect(page).to_have_url(re.compile("outliers=show"))
    expect(page.get_by_text("Outliers shown in all charts")).to_be_visible()
    # One chart may leave them out all the same, and that is said.
    card(page, "val/loss").get_by_role("button", name="Menu of val/loss").click()
    page.get_by_role("menuitemcheckbox", name="Hide outliers").click()
    expect(page.get_by_text("1 outlier hidden in 1 chart ·")).to_be_visible()
    page.reload()
    expect(card(page, "val/loss").get_by_role("button", name="1 outlier hidden · Show")).to_be_visible()
    expect(chips).to_have_count(1)
    # All are all: that one has no wish of its own any more.
    every.click()
    expect(chips).to_have_count(0)
    page.get_by_role("button", name="Hide outliers").click()
    expect(page.get_by_text("1 outlier hidden in 3 charts")).to_be_visible()
    expect(page).not_to_have_url(re.compile("outliers="))
    # A chart that is opened tells the same.
    every.click()
    expect(chips).to_have_count(0)
    card(page, "train/loss").get_by_role("link", name="train/loss").click()
    choice = panel(page).get_by_role("group", name="Outliers")
    expect(choice.get_by_role("button", name="Show")).to_have_attribute("aria-pressed", "true")
    choice.get_by_role("button", name="Hide").click()
    expect(panel(page)).to_contain_text("1 outlier hidden")
    page.keyboard.press("Escape")
    expect(page.get_by_text("1 outlier hidden in 1 chart ·")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    take("outliers-of-all-charts-narrow")
    assert serious_findings(page) == []


def test_an_axis_is_an_expression_and_says_what_is_wrong_with_it(page: Page, stranger: Watched) -> None:
    stranger.expect_errors("400 (Bad Request)")
    page.goto(page.url + "&chart=train/loss")
    values = panel(page).get_by_role("combobox", name="Values")
    values.select_option("Expression…")
    field = panel(page).get_by_label("Expression of the x axis")
    said = panel(page).get_by_role("alert")
    field.fill("train/tokens /")
    field.blur()
    expect(said).to_contain_text("It ends too early")
    field.fill("train/tokns / 1e6")
    field.blur()
    expect(said).to_have_text("There is no metric train/tokns")
    field.fill("train/tokens / 1e6")
    field.blur()
    expect(said).to_have_count(0)
    expect(page).to_have_url(re.compile(r"x%3A%3Dtrain%2Ftokens"))
    expect(panel(page).get_by_role("columnheader", name="at train/tokens / 1e6")).to_be_visible()
    # The 600th step has seen 599 times two million tokens.
    expect(panel(page).get_by_role("heading", name="Values at")).to_contain_text("1,198")
    page.goto(re.sub(r"x%3A%3D[^&]*", "x%3A%3Dbroken+%2B", page.url))
    expect(panel(page)).to_contain_text("it ends too early")


def test_the_crosshair_is_held_and_its_values_are_a_table(page: Page) -> None:
    page.goto(page.url + "&chart=train/loss&at=400")
    expect(panel(page).get_by_role("heading", name="Values at step 400")).to_be_visible()
    found = {row[0].split("\n")[0]: row for row in table_rows(page)}
    assert set(found) == set(RUNS)
    assert found["dead"][0].endswith("ended at step 259")
    rows = {name: row[1:] for name, row in found.items()}
    baseline, fast = float(rows["slow-0"][0]), float(rows["fast-0"][0])
    assert fast - baseline == pytest.approx(float(rows["fast-0"][1].replace("−", "-")), abs=0.002)
    page.keyboard.press("ArrowRight")
    expect(panel(page).get_by_role("heading", name="Values at step 401")).to_be_visible()
    expect(page).to_have_url(re.compile("at=401"))
    panel(page).get_by_role("columnheader", name="Run").get_by_role("button").click()
    assert [row[0].split("\n")[0] for row in table_rows(page)] == sorted(RUNS)
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("at="))
    chart = panel(page).get_by_role("img")
    box = chart.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 60)
    expect(page).to_have_url(re.compile(r"at=\d+"))
    held = re.findall(r"at=(\d+)", page.url)[0]
    expect(panel(page).get_by_role("heading", name=f"Values at step {held}")).to_be_visible()


def test_groups_are_drawn_with_the_band_that_is_wanted(page: Page, take: Callable[[str], None]) -> None:
    page.goto(page.url + "&chart=train/loss&at=400")
    panel(page).get_by_role("group", name="One line per").get_by_role("button", name="Group").click()
    panel(page).get_by_label("Group by").select_option(label="method")
    expect(panel(page).get_by_role("rowheader", name="method = fast (2 runs)")).to_be_visible()
    expect(panel(page).get_by_role("row", name=re.compile(r"method = fast .* ± .* · 2 "))).to_be_visible()
    take("chart-panel-groups")
    panel(page).get_by_role("img").focus()
    page.keyboard.press("End")
    fast = page.locator(".tip .entry").filter(has_text="method = fast")
    expect(fast).to_contain_text(re.compile(r"± [\d.e-]+ 2 runs"))
    panel(page).get_by_label("Line, band").select_option(label="Median, quartiles")
    expect(panel(page).get_by_role("row", name=re.compile(r"method = slow .* \(.* … .*\) · 2 "))).to_be_visible()
    expect(page).to_have_url(re.compile("by%3Aconfig.method%2Cband%3Aquartiles"))


def test_a_chart_is_taken_along_as_picture_and_every_point_of_it_as_csv(page: Page, tmp_path: Path) -> None:
    page.goto(page.url + "&chart=val/loss&c.val/loss=m:train/loss")
    expect(panel(page).get_by_role("table")).to_be_visible()
    for kind, begins in {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"step,"}.items():
        with page.expect_download() as found:
            panel(page).get_by_role("button", name=kind, exact=True).click()
        path = tmp_path / kind
        found.value.save_as(path)
        assert found.value.suggested_filename == f"val-loss, train-loss.{kind.lower()}"
        assert path.read_bytes().startswith(begins)
    svg = (tmp_path / "SVG").read_text()
    assert "fast-0" in svg
    assert svg.count("<path") > 2 * len(RUNS)
    head, *rows = csv.reader((tmp_path / "CSV").read_text().splitlines())
    assert sorted(head[1:]) == sorted(f"{name} {key}" for name in RUNS for key in ("train/loss", "val/loss"))
    assert [int(row[0]) for row in rows] == list(range(STEPS))
    column = head.index("wild train/loss")
    assert rows[300][column] == "NaN"
    assert [row[column] for row in rows if row[column]][-1] == repr(40 + STEPS - 1)
    assert sum(bool(row[head.index("dead val/loss")]) for row in rows) == 13


def test_sections_leave_out_what_only_counts_and_are_arranged(page: Page, take: Callable[[str], None]) -> None:
    train, charts = (page.get_by_role("region", name=name, exact=True) for name in ("train", "charts"))
    expect(charts).to_contain_text("epoch only counts up: not charted")
    expect(train).to_contain_text("train/tokens only counts up: not charted")
    take("sections")
    # Sections with few charts stand side by side.
    boxes = [page.get_by_role("region", name=name, exact=True).bounding_box() for name in ("train", "val")]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]
    charts.get_by_role("button", name="Show charts of epoch").click()
    expect(card(page, "epoch")).to_be_visible()
    page.get_by_role("button", name="Menu of train/acc", exact=True).click()
    page.get_by_role("menuitem", name="Hide this chart").click()
    expect(train).to_contain_text("1 hidden")
    train.get_by_role("button", name="Show hidden charts of train").click()
    expect(card(page, "train/acc")).to_be_visible()
    card(page, "train/acc").get_by_role("heading").drag_to(card(page, "val/loss"))
    expect(page.get_by_role("region", name="val", exact=True).get_by_role("article")).to_have_count(2)
    expect(page).to_have_url(re.compile("in=train%2Facc%252Cval|in=train%2Facc%2Cval"))
    page.get_by_role("region", name="val", exact=True).hover()
    page.get_by_role("group", name="Size of the charts of val").get_by_role("button", name="Large").click()
    expect(page).to_have_url(re.compile("sizes=l%3Aval"))
    page.get_by_role("button", name="Menu of train/loss", exact=True).click()
    page.get_by_role("menuitemcheckbox", name="Log scale").click()
    expect(card(page, "train/loss")).to_contain_text("log")
    page.get_by_role("button", name="Menu of train/loss", exact=True).click()
    page.get_by_role("menuitem", name="Export").click()
    with page.expect_download() as found:
        page.get_by_role("menuitem", name="CSV").click()
    assert found.value.suggested_filename == "train-loss.csv"
    assert serious_findings(page) == []
