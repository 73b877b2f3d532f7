"""The table of runs: what its rows say, the baseline, what is searched, grouped and done to many at once."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import serious_findings
from tests.browser.crowds import write_dead, write_finished
from tests.browser.gallery import gallery_in
from tests.browser.watched import Watched
from tests.e2e.programs import data_directory, wait_until
from tests.e2e.servers import Served

LOSSES = {"fine": 1.25, "best of all": -3.5, "worse": 3.125, "odd": math.nan, "away": math.inf}


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def names(page: Page) -> list[str]:
    return page.get_by_role("row").get_by_role("link").all_inner_texts()


def choose(page: Page, name: str, item: str) -> None:
    page.get_by_role("button", name=f"Menu of {name}", exact=True).click()
    page.get_by_role("menuitem", name=item).click()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs to look at in the project `table`; who changes some has a project of their own."""
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        for at, (name, loss) in enumerate(LOSSES.items()):
            write_finished(
                f"run{at}",
                value=loss,
                config={"lr": 0.1 * at, "net": {"depth": at % 2}},
                project="table",
                name=name,
                tags=("sweep", f"tag{at}"),
                notes="the one that Ada asked for" if name == "worse" else "",
            )
        write_dead("dead", project="table")
        wait_until(lambda: server.get("/runs", project="table", filter="state != running")["total"] == 6)
        yield server


@pytest.fixture
def server(gallery: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setenv("HOLTER_DIR", gallery.home)
    return gallery


def test_rows_say_how_runs_ended_and_stand_beside_the_baseline(watched: Watched) -> None:
    page = watched.open("/p/table?cols=summary.loss,config.lr")
    expect(row(page, "dead")).to_contain_text("Failed")
    expect(row(page, "odd")).to_contain_text("NaN")
    expect(row(page, "away")).to_contain_text("Inf")
    expect(page.get_by_text("Showing 6 of 6")).to_be_visible()
    page.get_by_role("button", name="loss", exact=True).click()
    expect(page).to_have_url(re.compile(r"sort=summary\.loss"))
    wait_until(lambda: names(page)[:4] == ["best of all", "dead", "fine", "worse"])
    choose(page, "fine", "Set as baseline")
    expect(page).to_have_url(re.compile("baseline=run0"))
    expect(row(page, "fine")).to_contain_text("Baseline")
    wait_until(lambda: names(page)[:3] == ["fine", "best of all", "dead"])
    expect(row(page, "best of all").locator(".away")).to_have_text("−4.7500 to baseline")
    expect(row(page, "best of all").locator(".away")).to_have_class(re.compile("good"))
    expect(row(page, "worse").locator(".away")).to_have_text("+1.8750 to baseline")
    expect(row(page, "odd").locator(".away")).to_have_count(0)
    choose(page, "odd", "Pin to the top")
    wait_until(lambda: names(page)[:3] == ["fine", "odd", "best of all"])
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Highlight the best value").check()
    page.get_by_role("button", name="Done").click()
    expect(row(page, "best of all").locator(".best")).to_have_text("0.5000")
    expect(page.locator(".best")).to_have_count(1)
    assert serious_findings(page) == []
    page.reload()
    wait_until(lambda: names(page)[:3] == ["fine", "odd", "best of all"])
    expect(page.get_by_text("Showing 6 of 6")).to_be_visible()
    for key in ("j", "j", "j", "x"):
        page.keyboard.press(key)
    expect(page.get_by_label("Select best of all")).to_be_checked()
    choose(page, "fine", "Remove the baseline")
    expect(page.get_by_text("Baseline", exact=True)).to_have_count(0)


def test_words_search_and_conditions_become_chips(watched: Watched) -> None:
    page = watched.open("/p/table?cols=summary.loss")
    field = page.get_by_label("Search runs")
    for words, found in {
        "best": ["best of all"],
        "ADA": ["worse"],
        "tag3": ["odd"],
        "run0": ["fine"],
        '"best of"': ["best of all"],
        "0.4 away": ["away"],
    }.items():
        field.fill(words)
        expect(page.get_by_role("row").get_by_role("link")).to_have_text(found)
    expect(page.get_by_text("Showing 1 of 6")).to_be_visible()
    expect(page).to_have_url(re.compile("find=0.4"))
    page.reload()
    expect(field).to_have_value("0.4 away")
    wait_until(lambda: names(page) == ["away"])
    page.get_by_role("button", name="Clear the search").click()
    wait_until(lambda: len(names(page)) == 6)
    field.fill("dep")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value("config.net.depth ")
    assert serious_findings(page) == []
    page.get_by_role("option", name="= is", exact=True).click()
    page.get_by_role("option", name="1 2", exact=True).click()
    chip = page.get_by_role("button", name="net.depth = 1", exact=True)
    expect(chip).to_be_visible()
    expect(field).to_have_value("")
    wait_until(lambda: sorted(names(page)) == ["best of all", "odd"])
    field.fill("summary.loss < 100")
    page.keyboard.press("Enter")
    wait_until(lambda: names(page) == ["best of all"])
    expect(page.get_by_role("button", name="loss < 100", exact=True)).to_be_visible()
    page.get_by_role("button", name="Remove the filter config.net.depth = 1").click()
    wait_until(lambda: len(names(page)) == 4)
    page.get_by_role("button", name="loss < 100", exact=True).click()
    expect(field).to_have_value("summary.loss < 100")
    wait_until(lambda: len(names(page)) == 6)
    field.fill("")
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_role("listbox").get_by_role("option", name="state").click()
    page.get_by_role("option", name="= is", exact=True).click()
    page.get_by_role("option", name="failed 1").click()
    wait_until(lambda: names(page) == ["dead"])


def test_groups_open_and_say_the_mean_of_their_runs(watched: Watched) -> None:
    page = watched.open("/p/table?cols=summary.loss,config.net.depth&sort=summary.loss")
    page.get_by_label("Group:").select_option("config.net.depth")
    expect(page.get_by_role("button", name="Remove the grouping")).to_be_visible()
    groups = page.get_by_role("row").filter(has=page.get_by_role("button", expanded=False))
    # The mean of what is finite: 5.25 and 7.125 of depth 0, 0.5 of depth 1; the dead run has no depth.
    expect(groups).to_have_count(3)
    expect(groups.nth(0)).to_contain_text("2 runs")
    expect(groups.nth(0)).to_contain_text("0.5000")
    expect(groups.nth(1)).to_contain_text("none")
    expect(groups.nth(1)).to_contain_text("1 died")
    expect(groups.nth(2)).to_contain_text("3 finished")
    expect(groups.nth(2)).to_contain_text("6.1875")
    expect(groups.nth(2)).to_contain_text("± 0.9375")
    page.get_by_role("button", name="0", exact=True).click()
    wait_until(lambda: names(page) == ["fine", "worse", "away"])
    expect(page).to_have_url(re.compile("open=0"))
    assert serious_findings(page) == []
    page.reload()
    wait_until(lambda: names(page) == ["fine", "worse", "away"])
    page.get_by_label("Select all of 1").check()
    expect(page).to_have_url(re.compile(r"select=run1%2Crun3|select=run3%2Crun1"))
    page.get_by_role("table", name="Runs").focus()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    wait_until(lambda: names(page) == ["best of all", "odd", "fine", "worse", "away"])
    expect(page.get_by_label("Select best of all")).to_be_checked()
    page.get_by_role("button", name="Remove the grouping").click()
    wait_until(lambda: len(names(page)) == 6)
    page.get_by_label("Group:").select_option("tags")
    expect(page.get_by_role("row").filter(has=page.get_by_role("button", name="sweep"))).to_contain_text("5 runs")


def test_compared_runs_show_where_their_code_and_surroundings_differ(watched: Watched, server: Served) -> None:
    for at in range(2):
        write_finished(f"code{at}", value=at, config={"lr": at}, project="code")
        script = data_directory() / "runs" / f"code{at}" / "script.py"
        script.write_text(f"import holter\nrate = {at}\nprint('<b>same</b>')\n")
    wait_until(lambda: server.get("/runs", project="code", filter="state = finished")["total"] == 2)
    page = watched.open("/p/code/compare?runs=code0,code1")
    shown = page.get_by_role("region", name="Script")
    expect(shown).to_contain_text("code1: 1 line of script.py differs")
    expect(shown.get_by_role("row").filter(has_text="rate")).to_have_text("rate = 0rate = 1")
    expect(shown).to_contain_text("<b>same</b>")
    expect(page.get_by_role("region", name="Uncommitted changes")).to_contain_text("neither has a diff.patch")
    expect(page.get_by_role("region", name="Environment")).to_contain_text("are the same")
    expect(page.get_by_role("region", name="Packages")).to_contain_text("Nothing is known")
    page.get_by_role("button", name="Also show equal ones").click()
    expect(page.get_by_role("region", name="Environment")).to_contain_text("elsewhere")
    assert serious_findings(page) == []
    page.get_by_role("navigation", name="Parts of the comparison").get_by_role("button", name="Script").click()
    expect(page.get_by_role("heading", name="Script")).to_be_in_viewport()


def test_many_runs_are_changed_at_once(watched: Watched, server: Served, tmp_path: Path) -> None:
    for at in range(5):
        write_finished(f"bulk{at}", value=at, config={"lr": at}, project="bulk", name=f"trial {at}", tags=("old",))
    wait_until(lambda: server.get("/runs", project="bulk", filter="state = finished")["total"] == 5)
    page = watched.open("/p/bulk?sort=name&cols=tags")
    bar = page.get_by_role("toolbar", name="Selected runs")
    page.get_by_label("Select trial 1").click()
    page.get_by_label("Select trial 3").click(modifiers=["Shift"])
    expect(bar).to_contain_text("3 selected")
    assert serious_findings(page) == []
    bar.get_by_role("button", name="Tag").click()
    page.get_by_role("textbox", name="Tags").fill("best, new")
    page.get_by_role("button", name="Add", exact=True).click()
    for at in range(5):
        expect(row(page, f"trial {at}")).to_contain_text("old, best, new" if 1 <= at <= 3 else "old")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "trial 2")).not_to_contain_text("best")
    bar.get_by_role("button", name="Tag").click()
    page.get_by_role("textbox", name="Tags").fill("old")
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(row(page, "trial 2")).not_to_contain_text("old")
    with page.expect_download() as downloading:
        bar.get_by_role("button", name="Export").click()
        page.get_by_role("menuitem", name="CSV").click()
    downloading.value.save_as(tmp_path / "runs.csv")
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert (len(lines), lines[0].split(",")[-2:]) == (4, ["config.lr", "summary.loss"])
    bar.get_by_role("button", name="Hide").click()
    expect(page.get_by_role("button", name="Lines of trial 2")).to_have_attribute("aria-pressed", "false")
    bar.get_by_role("button", name="Show").click()
    expect(page.get_by_role("button", name="Lines of trial 2")).to_have_attribute("aria-pressed", "true")
    bar.get_by_role("button", name="Only selected").click()
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["trial 1", "trial 2", "trial 3"])
    expect(bar).to_have_count(0)
    page.get_by_label("Select all that match").click()
    expect(bar).to_contain_text("3 selected")
    bar.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog", name="Delete 3 runs").get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("No run matches this filter.")).to_be_visible()
    page.get_by_role("button", name=re.compile("Remove the filter id in")).click()
    expect(page.get_by_role("row").get_by_role("link")).to_have_text(["trial 0", "trial 4"])
