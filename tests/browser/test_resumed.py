"""What happened to runs is told on their curves: where they went on and what was lost, beside words about both."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from holter.catalog.change.command_journal import as_command, write_down
from holter.model.clock import Clock
from holter.model.warning_records import Warned
from tests.browser.axe import serious_findings
from tests.browser.crowds import write_finished, write_resumed, write_run
from tests.browser.drawn import SPY, drawn, words
from tests.browser.gallery import forget_settings, gallery_in
from tests.browser.training import begin
from tests.browser.watched import Watched
from tests.e2e.programs import data_directory, wait_until
from tests.e2e.servers import Served

PALE = 0.38


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        write_resumed("resumed", project="vision", attempts=[range(240), range(180, 400)])
        rows = [{"train/loss": 2.0 + step / 300, "train/acc": 0.2} for step in range(300)]
        write_run("dead", project="vision", config={"lr": 0.1, "net": "a"}, rows=rows, exit_code=1)
        write_run("other", project="vision", config={"lr": 0.2, "net": "b"}, rows=rows)
        for name in ("gone one", "gone two", "gone three"):
            write_finished(name.replace(" ", "-"), value=1.0, project="trash", name=name)
        wait_until(lambda: server.get("/runs", filter="state != running")["total"] == 6)
        wait_until(lambda: len(server.get("/keys", project="vision")["keys"]) == 2)
        yield server


@pytest.fixture
def open_page(stranger: Watched, gallery: Served) -> Callable[[str], Page]:
    stranger.page.add_init_script(SPY)
    stranger.come_to(gallery)
    forget_settings(gallery)
    return stranger.open


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Chart "))


def pale(page: Page, title: str) -> int:
    return sum(each["alpha"] == PALE for each in drawn(page, title, "stroke"))


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_the_bars_of_attempts_say_where_they_went_on_and_how_they_ended(
    open_page: Callable[[str], Page], stranger: Watched, gallery: Served, take: Callable[[str], None]
) -> None:
    [found] = gallery.get("/runs", project="vision", filter='name = "resumed"')["runs"]
    began = found["started_at"]

    def stretch(route: Route) -> None:
        """What takes a moment here takes hours elsewhere."""
        answer = route.fetch().json()
        for each, (since, until) in zip(answer["attempts"], [(0, 7440), (7920, 20400)], strict=True):
            each |= {"started_at": began + since, "ended_at": began + until}
        route.fulfill(json=answer)

    stranger.page.route(re.compile(rf"/api/v1/runs/{found['id']}(\?.*)?$"), stretch)
    page = open_page(f"/p/vision/r/{found['id']}/overview")
    attempts = page.get_by_role("region", name="Attempts")
    expect(attempts).to_contain_text("2 attempts · 60 steps trained twice · 8 min between them")
    bars = attempts.get_by_role("listitem")
    expect(bars.nth(0)).to_contain_text(re.compile(r"^Attempt 1 · 2 h 4 min\s*! Failed"))
    expect(bars.nth(1)).to_contain_text(re.compile(r"^Attempt 2 · from step 180 · 3 h 28 min\s*✓ Finished"))
    attempts.scroll_into_view_if_needed()
    take("attempts")
    assert serious_findings(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    # Where there is no room for the word, it is still there for who hears it.
    expect(bars.nth(0)).to_match_aria_snapshot("- listitem: /Attempt 1 · 2 h 4 min Failed/")
    take("attempts-narrow")
    assert serious_findings(page) == []


def test_a_resume_is_told_and_the_work_that_was_lost_is_drawn_pale(
    open_page: Callable[[str], Page], take: Callable[[str], None]
) -> None:
    page = open_page("/p/vision")
    wait_until(lambda: pale(page, "train/loss") == 1)
    page.goto(page.url.split("?")[0] + "?chart=train/loss")
    expect(panel(page).get_by_role("img")).to_be_visible()
    wait_until(
        lambda: {"Resumed at 180", "60 steps lost", "Nonzero exit", "step 299"} <= set(words(page, "train/loss"))
    )
    assert pale(page, "train/loss") == 1
    take("resumed")
    assert serious_findings(page) == []
    form = panel(page).get_by_role("form")
    form.get_by_role("switch", name="Work lost before a resume").uncheck()
    wait_until(lambda: pale(page, "train/loss") == 0)
    form.get_by_role("switch", name="Where runs died and resumed").uncheck()
    wait_until(lambda: "Resumed at 180" not in words(page, "train/loss"))
    expect(page).to_have_url(re.compile("quiet%2Cnewest"))


def test_what_was_lost_is_the_same_by_the_api(gallery: Served) -> None:
    found, other = gallery.get("/resumes", runs="resumed,other,nobody", keys="train/loss")["runs"]
    assert (other["run"], other["resumes"]) == ("other", [])
    [resume] = found["resumes"]
    lost = resume["lost"]["train/loss"]
    assert (found["run"], resume["attempt"], resume["step"], resume["steps_lost"]) == ("resumed", 2, 180, 60)
    assert (lost["steps"], set(lost["values"]), len(lost["times"])) == (list(range(180, 240)), {1.0}, 60)
    # Each attempt tells its own end, also an attempt of which another one made a run that finished.
    assert [each["state"] for each in gallery.get("/runs/resumed")["attempts"]] == ["failed", "finished"]
    [without] = gallery.get("/resumes", runs="resumed")["runs"]
    assert without["resumes"][0]["lost"] == {}


def test_a_metric_of_another_size_has_an_axis_of_its_own(open_page: Callable[[str], Page]) -> None:
    page = open_page("/p/vision?chart=train/loss&c.train/loss=m:train/acc,all")
    form = panel(page).get_by_role("form")
    title = "train/loss, train/acc"
    wait_until(lambda: "Resumed at 180" in words(page, title))
    assert "0.15" not in words(page, title)
    form.get_by_role("switch", name="Second axis for train/acc").check()
    wait_until(lambda: "0.15" in words(page, title))
    expect(page).to_have_url(re.compile("two"))
    # What the pointer reads is the value, and not the place on the other axis.
    panel(page).get_by_role("img").focus()
    page.keyboard.press("Home")
    expect(page.locator(".tip .entry").filter(has_text="train/acc · other")).to_contain_text("0.2")


def test_settings_of_a_chart_are_applied_to_others_and_that_is_undone(open_page: Callable[[str], Page]) -> None:
    page = open_page("/p/vision?chart=train/loss&c.train/loss=log,s:0.5,y:1..3")
    panel(page).get_by_role("button", name="Apply to…").click()
    page.get_by_role("menuitem", name="Charts of train").click()
    expect(page).to_have_url(re.compile(r"c\.train%2Facc=log%2Cs%3A0\.5(&|$)"))
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page).not_to_have_url(re.compile(r"c\.train%2Facc"))
    expect(page).to_have_url(re.compile(r"c\.train%2Floss=log"))


def test_deleted_runs_come_back(open_page: Callable[[str], Page], gallery: Served) -> None:
    page = open_page("/p/trash?select=gone-one,gone-two")
    page.get_by_role("toolbar", name="Selected runs").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog", name="Delete 2 runs").get_by_role("button", name="Delete", exact=True).click()
    expect(row(page, "gone one")).to_have_count(0)
    expect(row(page, "gone three")).to_have_count(1)
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(row(page, "gone one")).to_contain_text("Finished")
    expect(row(page, "gone two")).to_be_visible()
    # Its points are there as before.
    assert gallery.series(runs=["gone-one"], keys=["loss"])[0][0]["points"] == 5


def test_a_run_that_somebody_else_deletes_is_said_to_be_gone(
    open_page: Callable[[str], Page], gallery: Served, stranger: Watched
) -> None:
    stranger.expect_errors("/runs/gone-three")  # what was asked in the moment of its deletion
    page = open_page("/p/trash/r/gone-three/overview")
    expect(page.get_by_role("heading", name="gone three")).to_be_visible()
    assert gallery.http.delete("/runs/gone-three", params={"undo": "true"}).json() == {"is_kept": True}
    expect(page.get_by_role("main")).to_contain_text("gone three was deleted")
    assert gallery.http.post("/deletions/gone-three/undo", json={}).status_code == 200
    assert gallery.http.post("/deletions/gone-three/undo", json={}).status_code == 409


def test_a_colour_is_chosen_on_the_swatch_itself(open_page: Callable[[str], Page], gallery: Served) -> None:
    page = open_page("/p/vision")
    row(page, "other").get_by_role("button", name="Lines of other").click(button="right")
    page.get_by_role("dialog", name="Colour of the run").get_by_role("button", name="Amber").click()
    wait_until(lambda: gallery.get("/runs/other")["colour"] == 1)


def test_groups_have_the_same_colours_in_every_browser(open_page: Callable[[str], Page], gallery: Served) -> None:
    page = open_page("/p/vision?group=config.net")
    swatch = page.get_by_role("row").filter(has_text="1 run").locator(".swatch").first
    expect(swatch).to_be_visible()

    def colours() -> dict[str, int]:
        return dict(gallery.get("/views", project="vision")["colours"])

    wait_until(lambda: {'group "a"', 'group "b"'} <= set(colours()))
    told = colours()
    # Another one has chosen otherwise before: what holds is what everybody sees.
    other = {name: (slot + 1) % 8 for name, slot in told.items()}
    page.evaluate("own => localStorage.setItem('holter.colours', JSON.stringify(Object.entries(own)))", other)
    before = swatch.evaluate("node => getComputedStyle(node).getPropertyValue('--colour')")
    page.reload()
    expect(swatch).to_have_css("--colour", before)
    assert colours() == told
    refused = gallery.http.patch("/views", json={"project": "vision", "colours": {"group 1": 8}})
    assert refused.status_code == 400


def test_a_panel_whose_code_did_not_come_is_tried_again(open_page: Callable[[str], Page], stranger: Watched) -> None:
    stranger.expect_errors("net::ERR_FAILED")
    failed: list[str] = []

    def fail_once(route: Route) -> None:
        if failed:
            return route.continue_()
        failed.append(route.request.url)
        return route.abort()

    stranger.page.route(re.compile("PanelCard.*js"), fail_once)
    page = open_page("/p/vision?panels=1*value*of_summary.train/loss*how_least")
    expect(page.get_by_role("article", name="Lowest train/loss")).to_contain_text("among 3 runs")
    assert failed


def test_importance_says_that_it_looked_at_the_newest_runs_only(open_page: Callable[[str], Page]) -> None:
    page = open_page("/")
    answer: dict[str, Any] = {"problem": "", "total": 2500, "runs": 2000, "explained": 0.5, "constant": 0, "names": []}
    parameter = {"name": "config.lr", "share": 1.0, "is_clear": True, "correlation": 0.5, "values": 9, "runs": 2000}
    answer |= {"is_cut": False, "parameters": [parameter | {"same": []}]}
    page.route(re.compile("/importance"), lambda route: route.fulfill(body=json.dumps(answer)))
    page.goto(page.url.rstrip("/") + "/p/vision?panels=1*importance*of_summary.train/loss")
    expect(page.get_by_role("article", name="What matters for train/loss")).to_contain_text(
        "only the newest 2,000 of 2,500 runs are looked at"
    )


@pytest.mark.parametrize("width", [1440, 1920])
def test_the_tools_of_the_charts_stand_in_one_row(open_page: Callable[[str], Page], width: int) -> None:
    page = open_page("/")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(page.url.rstrip("/") + "/p/vision")
    bar = page.get_by_role("toolbar", name="Charts")
    expect(bar.get_by_role("button", name="+ Chart")).to_be_visible()
    box = bar.bounding_box()
    assert box is not None
    assert box["height"] < 44


def test_a_living_run_that_warns_says_so_in_its_row(
    open_page: Callable[[str], Page], gallery: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLTER_DIR", gallery.home)
    program, found = begin(N="alive", P="warned")
    with program:
        wait_until(lambda: gallery.state(found) == "running")
        page = open_page("/p/warned")
        expect(row(page, "alive")).to_contain_text("Running")
        text = "Memory will be full in about 6 min"
        warned = Warned(at_ns=Clock().now_ns(), guard="memory-forecast", text=text)
        assert write_down(str(data_directory() / "runs" / found), [warned], opened=as_command(found, 1))
        expect(row(page, "alive")).to_contain_text(f"▲Running, warns: {text}")
        expect(page.get_by_role("link", name="1 run warns")).to_have_attribute("href", f"/p/warned/r/{found}/health")
        silenced = gallery.http.post(f"/runs/{found}/silence", json={"guard": "memory-forecast"})
        assert silenced.status_code == 200
        expect(row(page, "alive")).not_to_contain_text(text)
        program.kill()
    expect(row(page, "alive")).to_contain_text("Killed")
