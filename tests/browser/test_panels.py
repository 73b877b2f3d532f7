"""Panels beside the charts: added, set up, moved and removed; what they show of runs, and what they cannot."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import serious_findings
from tests.browser.crowds import record_crowd, write_dead
from tests.browser.gallery import gallery_in
from tests.browser.watched import Watched
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served

RUNS = 24
HOSTILE = '<img src=x onerror="document.title=1">'
KINDS = {
    "Scatter": "loss × lr",
    "Parallel coordinates": "lr … loss",
    "Bars": "loss",
    "Value": "Lowest loss",
    "Parameter importance": "What matters for loss",
    "Text": "Notes",
}
PARALLEL = "1*parallel*axes_config.lr,config.net,summary.loss*colour_summary.loss"


def config_of(at: int) -> dict[str, object]:
    """The loss is the number of the run, and so is the learning rate; the network has nothing to do with it."""
    found: dict[str, object] = {"lr": (at + 1) / 1000, "net": ["r50", "swin"][at % 2], "epochs": 5}
    return found | ({"warmup": 10 * at} if at % 3 else {})


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with gallery_in(tmp_path_factory.mktemp("panels")) as server:
        record_crowd(server, RUNS, config_of)
        write_dead("dead", project="few")
        wait_until(lambda: server.get("/runs", project="few", filter="state = failed")["total"] == 1)
        yield server


@pytest.fixture
def server(gallery: Served) -> Served:
    return gallery


@pytest.fixture
def show(watched: Watched) -> Callable[..., Page]:
    """Opens the workspace with these panels, and other settings of the view."""

    def opened(*panels: str, project: str = "sweep", **view: str) -> Page:
        settings = {"panels": "**".join(panels), **view}
        query = "&".join(f"{name}={quote(value)}" for name, value in settings.items() if value)
        page = watched.open(f"/p/{project}?{query}")
        expect(page.get_by_role("region", name="Panels").get_by_role("article")).to_have_count(len(panels))
        return page

    return opened


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name="Panels").get_by_role("article", name=title, exact=True)


def titles(page: Page) -> list[str]:
    return page.get_by_role("region", name="Panels").get_by_role("heading", level=3).all_inner_texts()


def choose(page: Page, title: str, item: str) -> None:
    panel(page, title).get_by_role("button", name=f"Menu of {title}").click()
    page.get_by_role("menuitem", name=item, exact=True).click()


def test_each_kind_is_added_and_stays_in_the_address(watched: Watched, take: Callable[[str], None]) -> None:
    page = watched.open("/p/sweep?lines=10")
    expect(page.get_by_role("article", name="loss", exact=True).get_by_role("img")).to_be_visible()
    for kind, title in KINDS.items():
        page.get_by_role("button", name="+ Chart").click()
        dialog = page.get_by_role("dialog", name="Add panel")
        dialog.get_by_role("radio", name=re.compile(f"^{kind}")).click()
        if kind == "Text":
            dialog.get_by_label("Text", exact=True).fill(f"# Found\n\n**{HOSTILE}** and [more](https://example.com/a)")
            assert serious_findings(page) == []
        dialog.get_by_role("button", name="Add", exact=True).click()
        expect(panel(page, title)).to_be_visible()
    page.reload()
    expect(panel(page, "loss × lr")).to_contain_text("24 runs")
    expect(panel(page, "lr … loss")).to_contain_text("8 without warmup")
    expect(panel(page, "loss").get_by_role("region")).to_have_attribute("aria-label", "loss of 24 runs")
    expect(panel(page, "Lowest loss")).to_contain_text("among 24 runs")
    expect(panel(page, "Lowest loss").get_by_role("link", name="trial 0", exact=True)).to_be_visible()
    expect(panel(page, "What matters for loss").get_by_role("row", name=re.compile("^lr"))).to_contain_text("+1.00")
    expect(panel(page, "What matters for loss").get_by_role("row", name=re.compile("^net"))).to_contain_text("category")
    expect(panel(page, "Notes").get_by_text(HOSTILE)).to_be_visible()
    expect(panel(page, "Notes").get_by_role("link", name="more")).to_have_attribute("href", "https://example.com/a")
    assert page.title() != "1"
    take("panels")
    assert serious_findings(page) == []


def test_a_panel_is_edited_duplicated_moved_and_removed(show: Callable[..., Page]) -> None:
    page = show("1*value*of_summary.loss*how_least", "2*bars*of_summary.loss")
    choose(page, "Lowest loss", "Edit")
    dialog = page.get_by_role("dialog", name="Edit value")
    dialog.get_by_label("Show").select_option("Highest")
    dialog.get_by_label("Title").fill("Worst * of all")
    dialog.get_by_role("button", name="Save").click()
    expect(panel(page, "Worst * of all").get_by_role("link", name="trial 23")).to_be_visible()
    page.go_back()
    expect(panel(page, "Lowest loss").get_by_role("link", name="trial 0", exact=True)).to_be_visible()
    page.go_forward()
    choose(page, "loss", "Duplicate")
    expect(page.get_by_role("region", name="Panels").get_by_role("article")).to_have_count(3)
    choose(page, "Worst * of all", "Move")
    page.get_by_role("menuitem", name="Move after").click()
    wait_until(lambda: titles(page) == ["loss", "Worst * of all", "loss"])
    page.reload()
    wait_until(lambda: titles(page) == ["loss", "Worst * of all", "loss"])
    choose(page, "Worst * of all", "View as table")
    expect(page.get_by_role("dialog").get_by_role("row")).to_have_count(RUNS + 1)
    page.get_by_role("button", name="Done").click()
    choose(page, "Worst * of all", "Remove")
    wait_until(lambda: titles(page) == ["loss", "loss"])


def test_ranges_pick_runs_and_become_the_filter(show: Callable[..., Page]) -> None:
    page = show(PARALLEL, "2*bars*of_summary.loss")
    rail = page.get_by_role("slider", name="Range of lr")
    box = rail.bounding_box()
    assert box is not None
    across = box["x"] + box["width"] / 2
    page.mouse.move(across, box["y"] + box["height"] * 0.5)
    page.mouse.down()
    page.mouse.move(across, box["y"] + box["height"], steps=4)
    page.mouse.up()
    page.mouse.move(0, 0)
    expect(panel(page, "lr … loss")).to_contain_text("12 of 24 runs in the ranges")
    expect(page.locator(".bar.dim")).to_have_count(12)
    expect(page).to_have_url(re.compile("brush_config.lr"))
    page.reload()
    expect(panel(page, "lr … loss")).to_contain_text("12 of 24 runs in the ranges")
    words = page.get_by_role("slider", name="Range of net")
    words.focus()
    page.keyboard.press("ArrowUp")
    expect(words).to_have_attribute("aria-valuetext", "swin")
    expect(panel(page, "lr … loss")).to_contain_text("6 of 24 runs in the ranges")
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("axes_config.net%2Cconfig.lr"))
    expect(words).to_be_focused()
    page.get_by_role("button", name="Filter the table").click()
    expect(page).to_have_url(re.compile("q=config.lr"))
    expect(panel(page, "net … loss")).to_contain_text("6 runs")
    expect(page.get_by_role("button", name="Filter the table")).to_have_count(0)
    expect(page.get_by_role("slider", name="Range of net")).to_have_attribute(
        "aria-valuetext", re.compile("same in all")
    )
    expect(page.get_by_role("table", name="Runs")).to_have_attribute("aria-rowcount", "7")


def test_panels_follow_what_is_hidden_grouped_and_pointed_at(show: Callable[..., Page]) -> None:
    panels = ["1*bars*of_summary.loss", "2*scatter*x_config.lr*y_config.warmup", "3*value*of_summary.loss*how_mean"]
    page = show(*panels, hide="crowd003")
    expect(panel(page, "loss")).to_contain_text("23 runs")
    expect(panel(page, "warmup × lr")).to_contain_text("not on it: 7 without warmup")
    panel(page, "loss").get_by_text("trial 5", exact=True).hover()
    expect(page.locator(".bar.dim")).to_have_count(22)
    page.get_by_role("table", name="Runs").get_by_role("link", name="trial 22").hover()
    expect(panel(page, "loss").locator(".bar:not(.dim)")).to_contain_text("trial 22")
    points = panel(page, "warmup × lr").get_by_role("img")
    points.focus()
    page.keyboard.press("End")
    expect(page.locator('[aria-live="polite"]').filter(has_text="trial 23")).to_have_count(1)
    page.get_by_label("Search metrics").fill("warmup")
    wait_until(lambda: titles(page) == ["warmup × lr"])
    page = show(*panels, group="config.net")
    expect(panel(page, "loss").get_by_role("region")).to_have_attribute("aria-label", "loss of 2 groups")
    expect(panel(page, "Mean loss")).to_contain_text("r50 (12)")
    page = show(*panels, q="config.lr <= 0.002")
    expect(panel(page, "loss")).to_contain_text("2 runs")


def test_what_is_needed_is_said(show: Callable[..., Page]) -> None:
    kinds = ["1*importance*of_summary.loss", "2*bars*of_summary.accuracy", "3*value*of_summary.accuracy"]
    page = show(
        *kinds, "4*scatter*x_config.lr*y_summary.loss", "5*parallel*axes_config.lr", "6*later*x_1", project="few"
    )
    region = page.get_by_role("region", name="Panels")
    for words in (
        "Needs at least 10 runs with a number under loss: there is 1.",
        "Needs a run with a number under accuracy: 1 without it.",
        "Needs a run that has both lr and loss.",
        "Needs at least 2 axes",
        "This version of holter has no panel of the kind later.",
    ):
        expect(region.get_by_text(words).first).to_be_visible()
