"""Comparing runs, deaths by cause, settings."""

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.axe import serious_findings
from tests.browser.training import begin, record
from tests.browser.watched import Watched
from tests.e2e.programs import data_directory
from tests.e2e.servers import Served


def test_compare_shows_what_differs_and_curves_over_each_other(
    watched: Watched, server: Served, take: Callable[[str], None]
) -> None:
    one = record(server, N="one", LR="0.1")
    two = record(server, N="two", LR="0.3", KILL="1")
    page = watched.open(f"/p/vision/compare?runs={one}")
    page.get_by_label("Add a run").select_option(two)
    expect(page).to_have_url(re.compile(f"runs={one}.*{two}"))
    config = page.get_by_role("table").first
    expect(config.get_by_role("row")).to_have_count(2)
    expect(config).to_contain_text("lr")
    expect(config).not_to_contain_text("model.layers")
    page.get_by_role("button", name="Also show equal ones").click()
    expect(config).to_contain_text("model.layers")
    summary = page.get_by_role("table").nth(1)
    expect(summary.get_by_role("row").filter(has_text="train/loss")).to_contain_text(re.compile(r"[+−].*%"))
    expect(page.get_by_role("article", name="train/loss")).to_contain_text("2 runs")
    take("compare")
    assert serious_findings(page) == []
    page.get_by_role("button", name="Leave one out").click()
    expect(page).not_to_have_url(re.compile(one))


def test_crashes_are_grouped_by_cause_and_place_and_grow_by_themselves(
    watched: Watched, server: Served, take: Callable[[str], None]
) -> None:
    for name in ("first", "second"):
        record(server, N=name, RAISE="no such file")
    record(server, N="killed", KILL="1")
    page = watched.open("/p/vision/crashes")
    groups = page.get_by_role("main").get_by_role("button", name=re.compile("lost"))
    expect(groups).to_have_count(2)
    expect(groups.filter(has_text="Uncaught exception")).to_contain_text("2 runs")
    groups.filter(has_text="Uncaught exception").click()
    expect(page.get_by_role("region", name=re.compile("By cause")).get_by_role("link", name="second")).to_be_visible()
    take("crashes")
    assert serious_findings(page) == []
    program, _ = begin(N="killed too")
    with program:
        page.wait_for_timeout(500)
        program.kill()
    expect(groups.filter(has_text="Killed")).to_contain_text("2 runs")
    page.get_by_role("region", name=re.compile("By cause")).get_by_role("link", name="second").click()
    expect(page.get_by_role("heading", name="second")).to_be_visible()


def test_settings_make_a_key_once_and_take_it_back(watched: Watched, take: Callable[[str], None]) -> None:
    page = watched.open("/settings")
    page.get_by_role("button", name="New key…").click()
    page.get_by_role("textbox", name="Name").fill("<i>laptop</i>")
    page.get_by_role("button", name="Make").click()
    dialog = page.get_by_role("dialog", name="The new key")
    expect(dialog.locator("pre")).to_have_text(re.compile(r"^hk_\S+$"))
    dialog.get_by_role("button", name="Done").click()
    row = page.get_by_role("row").filter(has_text="<i>laptop</i>")
    expect(row).to_contain_text("write")
    take("settings")
    assert serious_findings(page) == []
    row.get_by_role("button", name="Revoke…").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)


def test_the_theme_is_chosen_in_the_settings(watched: Watched) -> None:
    page = watched.open("/settings")
    page.get_by_role("radio", name="Dark").check()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_settings_say_what_is_kept_and_how_to_make_room(watched: Watched) -> None:
    page = watched.open("/settings")
    kept = page.get_by_role("region", name="What is kept")
    expect(kept).to_contain_text("nothing is deleted automatically")
    expect(kept).to_contain_text(str(data_directory()))
    expect(kept.locator("pre")).to_contain_text("holter gc --older-than")


def test_no_page_is_cut_off_in_a_narrow_window(watched: Watched, server: Served, take: Callable[[str], None]) -> None:
    found = [record(server, N="a-run-with-quite-a-long-name", KILL="1"), record(server, N="other", RAISE="no file")]
    watched.page.set_viewport_size({"width": 390, "height": 800})
    paths = {
        "home": "/",
        "crashes": "/p/vision/crashes",
        "compare": f"/p/vision/compare?runs={','.join(found)}",
        "settings": "/settings",
    }
    for name, path in paths.items():
        page = watched.open(path)
        expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
        page.wait_for_timeout(400)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        take(f"{name}-narrow")


def test_who_wants_no_motion_gets_none(watched: Watched, server: Served) -> None:
    record(server, N="quick")
    moving = """() => [...document.querySelectorAll("*")].filter((node) => {
      const style = getComputedStyle(node);
      return style.transitionDuration.split(", ").concat(style.animationDuration.split(", "))
        .some((each) => parseFloat(each) > 0.01);
    }).map((node) => node.outerHTML.slice(0, 80))"""
    for path in ("/", "/p/vision", "/settings"):
        page = watched.open(path)
        expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
        assert page.evaluate(moving) == []
