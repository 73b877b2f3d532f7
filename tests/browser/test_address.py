"""The address is the view: what people set up is there after a reload, and for whoever opens the link."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.crowds import record_crowd
from tests.browser.talking import record_talk
from tests.browser.training import record
from tests.browser.watched import Watched
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served

# All that can be set, as a screen reader would tell it, and where things are.
SEEN = """
() => {
  const all = (which) => [...document.querySelectorAll(which)];
  const label = (node) => node.getAttribute("aria-label") || node.labels?.[0]?.textContent.trim();
  const name = (node) => label(node) || node.textContent.trim();
  const told = ["aria-pressed", "aria-expanded", "aria-sort", "aria-valuenow", "aria-current"];
  const state = (node) => [...told.map((each) => node.getAttribute(each)), node.value ?? null, node.checked ?? null];
  const controls = ["input", "select", "button", "[role=separator]", "[role=columnheader]", "[role=row] a"];
  return {
    controls: all(controls.map((each) => `main ${each}`).join()).map((node) => [name(node), ...state(node)]),
    charts: all("article").map((node) => [name(node), Math.round(node.getBoundingClientRect().height)]),
    table: document.querySelector("[role=table]")?.scrollTop,
    notes: all("main [role=status]").map(name),
  };
}
"""


def seen(page: Page) -> dict[str, Any]:
    """Once two looks are the same: charts come one after the other."""
    before: dict[str, Any] = {}
    for _ in range(40):
        now: dict[str, Any] = page.evaluate(SEEN)
        if now == before and now["controls"]:
            return now
        before = now
        page.wait_for_timeout(250)
    raise AssertionError("the page does not come to rest")


@pytest.fixture
def another(browser: Browser, page: Page) -> Iterator[Page]:
    """The browser of somebody else, who has logged in before."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, color_scheme="light", reduced_motion="reduce"
    )
    context.add_cookies(page.context.cookies())  # type: ignore[arg-type]  # as they were read
    yield context.new_page()
    context.close()


def assert_kept(page: Page, another: Page) -> None:
    """The view is the same after a reload, and for somebody else with the address."""
    before = seen(page)
    page.reload()
    wait_until(lambda: seen(page) == before)
    another.goto(page.url)
    wait_until(lambda: seen(another) == before)


def choose(page: Page, metric: str, item: str) -> None:
    page.get_by_role("button", name=f"Menu of {metric}", exact=True).click()
    page.get_by_role("menuitem", name=item).or_(page.get_by_role("menuitemcheckbox", name=item)).click()


def test_a_workspace_is_wholly_in_its_address(watched: Watched, server: Served, another: Page) -> None:
    for name, rate in (("quick", "0.3"), ("slow", "0.01"), ("middling", "0.1")):
        record(server, N=name, LR=rate)
    page = watched.open("/p/vision")
    expect(page.get_by_role("article", name="train/loss")).to_contain_text("3 runs")
    page.get_by_label("Search runs").fill("config.lr > 0")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page).to_have_url(re.compile(r"(?=.*q=config)(?=.*sort=name)"))
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("config.model.layers").check()
    page.get_by_role("button", name="Done").click()
    page.get_by_role("button", name="Lines of slow").click()
    page.get_by_label("Select quick").check()
    page.get_by_label("Select slow").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    handle = page.get_by_role("separator", name="Width of the table")
    handle.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(handle).to_have_attribute("aria-valuenow", "536")
    page.get_by_role("button", name="Pin perf/images_per_s").click()
    page.get_by_role("button", name=re.compile("^val · 1")).click()
    page.get_by_label("x:").select_option("relative")
    page.get_by_role("button", name="Log y").click()
    page.get_by_label("Smoothing").fill("0.6")
    page.get_by_label("Lines:").select_option("50")
    page.get_by_role("group", name="Size of the charts", exact=True).get_by_role("button", name="Large").click()
    choose(page, "train/accuracy", "Move")
    page.get_by_role("menuitem", name="Move before").click()
    choose(page, "train/loss", "Taller")
    choose(page, "train/loss", "Hide outliers")
    choose(page, "train/loss", "Flush marks")
    page.get_by_label(re.compile("Search metrics")).fill("loss|acc|images")
    page.get_by_role("article", name="train/loss").scroll_into_view_if_needed()
    box = page.get_by_role("article", name="train/loss").get_by_role("img").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 60, steps=4)
    page.mouse.up()
    expect(page.get_by_role("button", name="Reset zoom")).to_be_visible()
    page.mouse.move(5, 5)
    named = "q sort cols hide select table x log smooth lines size order tall flushes pin closed metrics from to"
    expect(page).to_have_url(re.compile("".join(rf"(?=.*\b{name}=)" for name in named.split())))
    expect(page).to_have_url(re.compile(r"c\.train%2Floss=all"))
    assert_kept(page, another)
    page.get_by_role("button", name="Reset zoom").click()  # a run may be over before the stretch begins
    page.get_by_label("Group:").select_option("config.lr")
    expect(page.get_by_role("article", name="train/loss")).to_contain_text("2 groups")
    assert_kept(page, another)
    page.get_by_role("button", name="Select none").click()
    expect(page).not_to_have_url(re.compile("select="))


def test_a_width_that_this_browser_kept_is_in_the_address_of_other_projects_too(
    watched: Watched, server: Served, another: Page
) -> None:
    record(server, N="mine")
    record(server, N="other", P="speech")
    page = watched.open("/p/vision")
    page.get_by_role("separator", name="Width of the table").focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("table=496"))
    page.goto(f"{server.address}/p/speech")
    expect(page).to_have_url(re.compile(r"/p/speech\?table=496"))
    another.goto(page.url)
    expect(another.get_by_role("separator", name="Width of the table")).to_have_attribute("aria-valuenow", "496")


def test_a_place_far_down_and_a_run_shown_there_are_in_the_address(
    watched: Watched, server: Served, another: Page
) -> None:
    record_crowd(server, 150, lambda at: {"lr": at / 1000})
    page = watched.open("/p/sweep?sort=config.lr")
    expect(page.get_by_role("article", name="loss")).to_contain_text("20 runs")
    page.get_by_role("table", name="Runs").evaluate("node => (node.scrollTop = 130 * 44)")
    page.get_by_role("button", name="Lines of trial 140").click()
    expect(page.get_by_role("article", name="loss")).to_contain_text("21 runs")
    expect(page).to_have_url(re.compile(r"(?=.*show=crowd140)(?=.*row=1\d\d)"))
    assert_kept(page, another)
    page.get_by_role("table", name="Runs").evaluate("node => (node.scrollTop = 0)")
    expect(page).not_to_have_url(re.compile("row="))
    # The part of the table with that run is not loaded any more after this.
    page.reload()
    expect(page.get_by_role("article", name="loss")).to_contain_text("21 runs")


def test_a_search_in_a_log_is_in_its_address(watched: Watched, server: Served, another: Page) -> None:
    found = record_talk(server, N="talk")
    page = watched.open(f"/p/talk/r/{found}/logs")
    page.get_by_label("Search the log").fill("needle")
    expect(page.get_by_role("search")).to_contain_text("1 of 2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("search")).to_contain_text("2 of 2")
    page.get_by_role("button", name="Times").click()
    expect(page).to_have_url(re.compile(r"\?find=needle&times=0#L\d+$"))
    for opened in (page, another):
        opened.goto(page.url)
        opened.reload()
        expect(opened.get_by_label("Search the log")).to_have_value("needle")
        expect(opened.get_by_role("search")).to_contain_text("2 of 2")
        expect(opened.locator(".chosen")).to_contain_text("line 201 of the loss")
        expect(opened.locator(".chosen .hit")).to_have_text("Needle")
        expect(opened.get_by_role("button", name="Times")).to_have_attribute("aria-pressed", "false")


def test_what_is_opened_and_searched_on_other_pages_is_in_their_addresses(
    watched: Watched, server: Served, another: Page
) -> None:
    found = [record(server, N=name, RAISE="no such file") for name in ("first", "second")]
    page = watched.open("/p/vision/crashes")
    page.get_by_role("button", name=re.compile("Uncaught exception")).click()
    expect(page.get_by_role("region", name=re.compile("By cause")).get_by_role("link", name="second")).to_be_visible()
    assert_kept(page, another)
    page.goto(f"{server.address}/p/vision/compare?runs={','.join(found)}")
    page.get_by_role("button", name="Also show equal ones").click()
    page.get_by_label(re.compile("Search metrics")).fill("^val")
    expect(page.get_by_role("article")).to_have_count(1)
    assert_kept(page, another)
