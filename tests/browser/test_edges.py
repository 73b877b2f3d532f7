"""Where a page has nothing to show: the server is away, the project is unknown, a log was not kept."""

import re

from playwright.sync_api import expect

from tests.browser.axe import serious_findings
from tests.browser.training import begin, record
from tests.browser.watched import GONE, Watched
from tests.e2e.servers import Served, ui


def test_a_page_that_is_opened_while_the_server_is_away_says_so_and_comes_by_itself(watched: Watched) -> None:
    watched.expect_errors(*GONE)
    server, page = watched.server, watched.page
    assert server is not None
    found = record(server, N="before")
    project = page.get_by_role("main").get_by_role("link", name=re.compile("vision"))
    project.click()
    expect(page.get_by_role("table", name="Runs")).to_contain_text("before")
    page.go_back()
    expect(project).to_be_visible()
    port = server.address.rpartition(":")[2]
    server.kill()
    # Its code was never here.
    page.get_by_role("link", name="Settings").click()
    away = page.get_by_role("main").get_by_role("alert")
    expect(away).to_contain_text("The server does not answer")
    expect(page.get_by_role("main")).not_to_contain_text("TypeError")
    assert serious_findings(page) == []
    with ui("--port", port) as again:
        expect(page.get_by_role("heading", name="Settings")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        page.goto(f"{again.address}/p/vision/r/{found}/overview")
        expect(page.get_by_role("heading", name="Configuration")).to_be_visible()
        again.kill()
        # Its code is here, what it shows is not.
        page.get_by_role("navigation", name="Parts of the run").get_by_role("link", name="Files").click()
        expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("the server does not answer")
    with ui("--port", port):
        expect(page.get_by_role("region", name="output.log")).to_contain_text(f"id {found}")
        expect(page.get_by_role("alert")).to_have_count(0)


def test_an_unknown_project_is_said_with_those_there_are_and_comes_with_its_first_run(
    watched: Watched, server: Served
) -> None:
    record(server, N="one", P="speech")
    page = watched.open("/p/spech?sort=name")
    main = page.get_by_role("main")
    expect(main.get_by_role("heading", name="There is no project spech")).to_be_visible()
    expect(main.get_by_role("link", name=re.compile("speech"))).to_be_visible()
    assert serious_findings(page) == []
    watched.open("/p/spech/crashes")
    expect(main.get_by_role("heading", name="There is no project spech")).to_be_visible()
    watched.open("/p/spech")
    expect(main.get_by_role("heading", name="There is no project spech")).to_be_visible()
    program, _ = begin(P="spech", N="first")
    with program:
        expect(page.get_by_role("table", name="Runs")).to_contain_text("first")
        program.kill()
    page.get_by_role("navigation", name="Where you are").get_by_role("link", name="holter").click()
    expect(main.get_by_role("link", name=re.compile("spech"))).to_be_visible()
