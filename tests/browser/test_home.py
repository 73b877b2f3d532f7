"""The way in: the first run, the list of projects, logging in, a server that goes and comes back."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import serious_findings
from tests.browser.crowds import write_dead, write_silent
from tests.browser.training import begin, record
from tests.browser.watched import GONE, Watched
from tests.e2e.programs import start, wait_until
from tests.e2e.servers import Served, ui

WARNING = """
import time, holter
run = holter.init(project="vision", name="worried")
run.alert("the disk fills up", "in an hour", level="WARN")
for step in range(100_000):
    run.log({"loss": 1})
    time.sleep(0.1)
"""


def test_before_the_first_run_the_page_says_what_to_paste_and_comes_alive_by_itself(
    page: Page, server: Served, take: Callable[[str], None]
) -> None:
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    expect(page.locator("pre").first).to_contain_text("holter.init(")
    expect(page.get_by_role("status").filter(has_text="Waiting")).to_contain_text(server.address)
    take("first-run")
    program, _ = begin(P="speech")
    with program:
        expect(page.get_by_role("link", name=re.compile("speech"))).to_be_visible()
        program.kill()


def test_home_shows_projects_and_who_needs_attention(page: Page, server: Served, take: Callable[[str], None]) -> None:
    record(server, N="fine", P="speech")
    record(server, N="broken", P="vision", RAISE="no such file")
    needy = page.get_by_role("region", name=re.compile("Needs attention"))
    expect(needy.get_by_role("listitem")).to_have_count(1)
    expect(needy).to_contain_text("broken")
    expect(needy).to_contain_text("Uncaught exception")
    expect(page.get_by_role("link", name=re.compile("speech"))).to_contain_text("1 run")
    take("home")
    page.get_by_role("link", name=re.compile("vision")).click()
    expect(page).to_have_url(f"{server.address}/p/vision")


def test_home_names_who_warned_and_who_is_late(stranger: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_STALE_AFTER", "1")
    monkeypatch.setenv("HOLTER_CRASHED_AFTER", "600")
    with ui() as server, start(WARNING) as program:
        write_silent("silent", project="speech")
        stranger.page.goto(f"{server.address}/?token={server.key}")
        needy = stranger.page.get_by_role("region", name=re.compile("Needs attention"))
        warned = needy.get_by_role("listitem").filter(has_text="worried")
        expect(warned).to_contain_text("the disk fills up")
        late = needy.get_by_role("listitem").filter(has_text="silent")
        expect(late).to_contain_text("its heartbeats are late")
        expect(late.locator(".badge")).to_contain_text("Stale")
        program.kill()
        expect(warned).to_contain_text("Killed")


def test_a_list_of_those_in_need_that_is_long_opens_on_request(watched: Watched, server: Served) -> None:
    for number in range(14):
        write_dead(f"dead{number:02}", project="vision")
    wait_until(lambda: len(server.get("/attention")["runs"]) == 14, within_s=60)
    page = watched.open("/")
    listed = page.get_by_role("region", name=re.compile("Needs attention")).get_by_role("listitem")
    expect(listed).to_have_count(12)
    page.get_by_role("button", name="Show all 14").click()
    expect(listed).to_have_count(14)
    page.reload()
    expect(listed).to_have_count(14)


def test_without_a_token_people_log_in(stranger: Watched, server: Served) -> None:
    stranger.expect_errors("401")
    page = stranger.page
    page.goto(f"{server.address}/p/vision")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known here")
    page.get_by_label("Token").fill(server.key)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="There is no project vision")).to_be_visible()


def test_the_theme_is_the_systems_until_people_choose(page: Page) -> None:
    root = page.locator("html")
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitem", name="Light").click()
    expect(root).to_have_attribute("data-theme", "light")
    page.reload()
    expect(root).to_have_attribute("data-theme", "light")


def test_a_server_that_is_gone_is_said_and_found_again(watched: Watched) -> None:
    watched.expect_errors(*GONE)
    server, page = watched.server, watched.page
    assert server is not None
    record(server, N="before")
    expect(page.get_by_role("link", name=re.compile("vision"))).to_be_visible()
    port = server.address.rpartition(":")[2]
    server.kill()
    banner = page.get_by_role("alert").filter(has_text="does not answer")
    expect(banner).to_contain_text("old")
    expect(page.get_by_role("link", name=re.compile("vision"))).to_be_visible()
    with ui("--port", port) as again:
        expect(banner).to_have_count(0)
        record(again, N="after", P="speech")
        expect(page.get_by_role("link", name=re.compile("speech"))).to_be_visible()


def test_addresses_that_lead_nowhere_say_so(watched: Watched) -> None:
    page = watched.open("/no/such/page")
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()


def test_a_few_letters_lead_anywhere(watched: Watched, server: Served, take: Callable[[str], None]) -> None:
    record(server, N="gallant otter", P="vision")
    found = record(server, N='odd "name', P="speech")
    page = watched.open("/p/vision")
    page.get_by_label("Search runs").focus()
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog", name="Go to")
    expect(dialog.get_by_role("combobox")).to_be_focused()
    expect(dialog.get_by_role("option", name="gallant otter")).to_be_visible()
    take("search")
    assert serious_findings(page) == []
    page.keyboard.type('odd "na')
    expect(dialog.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.address}/p/speech/r/{found}")
    page.get_by_role("button", name="search").click()
    expect(dialog.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("crashes")
    page.keyboard.press("ArrowDown")
    expect(dialog.get_by_role("option", selected=True)).to_have_text(re.compile("Crashes of"))
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
