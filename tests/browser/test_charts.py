"""Charts that people arrange, read as tables, and see flush marks and crowds of runs on."""

import csv
import io
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import serious_findings
from tests.browser.crowds import record_crowd
from tests.browser.gallery import forget_settings, gallery_in
from tests.browser.training import record
from tests.browser.watched import Watched
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import Served

FLUSHING = """
import holter
run = holter.init(project="vision", name="careful")
print("id", run.id, flush=True)
for step in range(100):
    run.log({"loss": 1 / (step + 1)})
    if step % 25 == 24:
        run.flush()
"""
MANY = 104


def card(page: Page, metric: str) -> Locator:
    return page.get_by_role("article", name=metric, exact=True)


def shown_charts(page: Page, section: str) -> list[str]:
    return page.get_by_role("region", name=section, exact=True).get_by_role("heading", level=3).all_inner_texts()


def choose(page: Page, metric: str, item: str) -> None:
    page.get_by_role("button", name=f"Menu of {metric}", exact=True).click()
    page.get_by_role("menuitem", name=item).or_(page.get_by_role("menuitemcheckbox", name=item)).click()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        record(server, N="quick", LR="0.3")
        record(server, N="=slow", LR="0.01")
        yield server


@pytest.fixture
def workspace(stranger: Watched, gallery: Served) -> Page:
    stranger.come_to(gallery)
    forget_settings(gallery)
    page = stranger.open("/p/vision")
    expect(card(page, "train/loss")).to_contain_text("2 runs")
    return page


def test_a_chart_is_read_and_taken_along_as_a_table(workspace: Page, take: Callable[[str], None]) -> None:
    choose(workspace, "val/loss", "View as table")
    dialog = workspace.get_by_role("dialog", name="val/loss")
    expect(dialog.get_by_role("columnheader")).to_have_count(3)
    expect(dialog.get_by_role("row")).to_have_count(21)
    expect(dialog.get_by_role("rowheader").last).to_have_text("step 190")
    take("chart-table")
    assert serious_findings(workspace) == []
    workspace.context.grant_permissions(["clipboard-read", "clipboard-write"])
    dialog.get_by_role("button", name="Copy as CSV").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    rows = list(csv.reader(io.StringIO(workspace.evaluate("navigator.clipboard.readText()"))))
    assert sorted(rows[0]) == ["'=slow", "quick", "step"]
    assert [row[0] for row in rows[1:]] == [str(step) for step in range(0, 200, 10)]
    assert all(0.3 < float(value) < 4 for row in rows[1:] for value in row[1:])
    workspace.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(workspace.get_by_role("button", name="Menu of val/loss")).to_be_focused()


def test_charts_are_moved_by_keys_and_by_mouse_and_stay_in_the_link(workspace: Page) -> None:
    assert shown_charts(workspace, "train") == ["train/loss", "train/accuracy"]
    menu = workspace.get_by_role("button", name="Menu of train/accuracy", exact=True)
    menu.focus()
    workspace.keyboard.press("Enter")
    workspace.keyboard.type("m")
    expect(workspace.get_by_role("menuitem", name="Move")).to_be_focused()
    workspace.keyboard.press("ArrowRight")
    expect(workspace.get_by_role("menuitem", name="Move before")).to_be_focused()
    workspace.keyboard.press("Enter")
    expect(menu).to_be_focused()
    assert shown_charts(workspace, "train") == ["train/accuracy", "train/loss"]
    expect(workspace).to_have_url(re.compile("order=train%2Faccuracy"))
    workspace.reload()
    expect(card(workspace, "train/accuracy")).to_be_visible()
    assert shown_charts(workspace, "train") == ["train/accuracy", "train/loss"]
    title = card(workspace, "train/loss").get_by_role("heading")
    title.drag_to(card(workspace, "train/accuracy"))
    expect(workspace).not_to_have_url(re.compile("order="))
    assert shown_charts(workspace, "train") == ["train/loss", "train/accuracy"]


def test_a_taller_and_a_pinned_chart_are_in_the_link(workspace: Page) -> None:
    before = card(workspace, "train/loss").bounding_box()
    choose(workspace, "train/loss", "Taller")
    choose(workspace, "perf/images_per_s", "Pin to the top")
    expect(workspace).to_have_url(re.compile(r"(?=.*tall=train%2Floss)(?=.*pin=perf)"))
    workspace.reload()
    expect(card(workspace, "train/loss")).to_be_visible()
    assert shown_charts(workspace, "Pinned") == ["perf/images_per_s"]
    after = card(workspace, "train/loss").bounding_box()
    assert before is not None
    assert after is not None
    assert after["height"] > before["height"] * 1.5


def test_flush_marks_are_shown_on_request(watched: Watched, server: Served, take: Callable[[str], None]) -> None:
    found = run(FLUSHING).stdout.split()[1]
    # They come with the pieces of the journal that the server has read so far.
    wait_until(lambda: [each["total"] for each in server.get("/flushes", runs=found)["runs"]] == [4], within_s=60)
    [told] = server.get("/flushes", runs=found)["runs"]
    assert told["steps"] == [24, 49, 74, 99]
    page = watched.open("/p/vision")
    expect(card(page, "loss")).to_be_visible()
    note = page.get_by_role("status").filter(has_text="flush()")
    expect(note).to_have_count(0)
    choose(page, "loss", "Flush marks")
    expect(note).to_contain_text("4 calls of flush()")
    expect(page).to_have_url(re.compile("flushes=1"))
    take("flush-marks")
    assert serious_findings(page) == []
    page.goto(f"{server.address}/p/vision/r/{found}/charts?flushes=1")
    expect(note).to_contain_text("4 calls of flush()")
    note.get_by_role("button", name="Hide").click()
    expect(note).to_have_count(0)


def test_more_runs_than_lines_are_drawn_in_groups_and_it_is_said(
    watched: Watched, server: Served, take: Callable[[str], None]
) -> None:
    optimizers = ["adam", "sgd", "lion"]
    record_crowd(server, MANY, lambda at: {"lr": at / 1000, "seed": at % 4, "optimizer": optimizers[at % 3]})
    page = watched.open("/p/sweep")
    note = page.get_by_role("status").filter(has_text="Drawn:")
    expect(note).to_contain_text(f"20 of {MANY} runs")
    expect(card(page, "loss")).to_contain_text("20 runs")
    note.get_by_role("button", name="All, in groups").click()
    expect(note).to_contain_text(f"all {MANY} runs, as means by optimizer, the setting that splits them best")
    expect(card(page, "loss")).to_contain_text("3 groups")
    expect(page).to_have_url(re.compile("lines=all"))
    expect(page.get_by_role("list", name="Groups by optimizer").get_by_role("listitem")).to_have_count(3)
    take("crowd")
    assert serious_findings(page) == []
    page.get_by_label("Group:").select_option("config.seed")
    expect(card(page, "loss")).to_contain_text("4 groups")
    expect(note).to_contain_text("as means by seed;")
    note.get_by_role("button", name="The first 100 as lines").click()
    page.get_by_label("Group:").select_option("")
    expect(card(page, "loss")).to_contain_text("100 runs")
    expect(note).to_contain_text(f"100 of {MANY} runs")


def test_a_crowd_that_no_setting_splits_is_cut_off_and_it_is_said(watched: Watched, server: Served) -> None:
    record_crowd(server, MANY, lambda at: {"lr": at / 1000, "seed": at % 4})
    page = watched.open("/p/sweep?lines=all")
    expect(card(page, "loss")).to_contain_text("100 runs")
    expect(page.get_by_role("status").filter(has_text="Drawn:")).to_contain_text(
        f"the first 100 of {MANY} runs. No setting splits the rest"
    )


def test_the_settings_show_how_others_see_the_lines(workspace: Page, take: Callable[[str], None]) -> None:
    workspace.goto(workspace.url.replace("/p/vision", "/settings"))
    page = workspace
    for sight in ("All cones", "protanopia", "deuteranopia", "tritanopia"):
        expect(page.get_by_role("img", name=re.compile(sight))).to_be_visible()
    closest = page.get_by_text(re.compile(r"the closest two are \d+× the least visible difference")).all_inner_texts()
    assert len(closest) == 4
    assert all(int(re.findall(r"\d+", text)[0]) >= 5 for text in closest)
    take("palette")
    assert serious_findings(page) == []
