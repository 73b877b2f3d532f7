"""Where a page has nothing to show: the server is away, the project is unknown, a log was not kept."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.axe import serious_findings
from tests.browser.crowds import write_finished
from tests.browser.fates import ECC, GPU_MEMORY, MISSING, Fate, suffer
from tests.browser.talking import TALK
from tests.browser.training import begin, record
from tests.browser.watched import GONE, Watched
from tests.e2e.programs import run, start, wait_until
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


@pytest.mark.parametrize("is_sooner", [False, True], ids=["after the page knew of none", "while it asked"])
def test_a_first_run_that_is_over_in_a_moment_has_its_charts(watched: Watched, server: Served, is_sooner: bool) -> None:
    def answer_late(route: Route) -> None:
        answer = route.fetch()
        if is_sooner and not server.state("first"):
            write_finished("first", value=0.5, project="brief")
            wait_until(lambda: server.state("first") == "finished", within_s=60)
        time.sleep(1.0)  # by then all is told that is told live
        route.fulfill(response=answer)

    page = watched.page
    page.route(re.compile(r"/runs\?project=brief&limit=1$"), answer_late)
    # However slow this machine is: for the page all of it is one moment, in which no answer is too old to be shown.
    page.clock.set_fixed_time(time.time())
    watched.open("/p/brief")
    expect(page.get_by_role("heading", name="There is no project brief")).to_be_visible()
    if not is_sooner:
        write_finished("first", value=0.5, project="brief")
    expect(page.get_by_role("article", name="loss", exact=True)).to_be_visible()
    expect(page.get_by_role("columnheader", name="loss")).to_be_visible()


def test_a_run_that_is_configured_long_before_it_logs_gets_its_columns(
    watched: Watched, server: Served, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    source = """
        import os, time, holter
        run = holter.init(project="brief", name="one", config={"lr": 0.1})
        print(run.id, flush=True)
        while not os.path.exists(os.environ["GO"]): time.sleep(0.05)
        for step in range(200):
            run.log({"loss": 1 / (step + 1)})
            time.sleep(0.05)
    """
    with start(source, GO=str(go)) as program:
        assert program.stdout is not None
        found = program.stdout.readline().strip()
        wait_until(lambda: server.state(found) == "running")
        page = watched.open("/p/brief")
        expect(page.get_by_role("columnheader", name="lr")).to_be_visible()
        go.touch()
        expect(page.get_by_role("article", name="loss", exact=True)).to_be_visible()
        expect(page.get_by_role("columnheader", name="loss")).to_be_visible()
        program.kill()


def test_a_log_whose_middle_was_not_kept_says_so_and_numbers_its_lines_truly(stranger: Watched) -> None:
    printed = run(TALK, TALK_LINES="20000", HOLTER_CONSOLE_LIMIT="65536").stdout.split()[1]
    # From here on: whoever saw all of it while it was printed has all of it.
    with ui() as server:
        stranger.come_to(server)
        page = stranger.open(f"/p/talk/r/{printed}/logs")
        # Five lines are printed before the first that says its number.
        expect(page.locator("#L20005")).to_contain_text("line 19999 of the loss")
        expect(page.get_by_role("toolbar", name="Log")).to_contain_text(
            re.compile(r"20.?005 lines · 1\d.?\d{3} not kept")
        )
        page.get_by_role("searchbox").fill("line 10000 of the loss")
        expect(page.get_by_role("search")).to_contain_text("not in what was kept")
        page.get_by_role("searchbox").fill("line 19998 of the loss")
        expect(page.locator("#L20004.chosen")).to_be_in_viewport()
        stranger.open(f"/p/talk/r/{printed}/logs#L10000")
        page.reload()
        gap = page.get_by_role("note")
        expect(gap).to_be_in_viewport()
        expect(gap).to_contain_text(
            re.compile(r"1\d.?\d{3} lines \(\d+ KiB\) not kept: HOLTER_CONSOLE_LIMIT keeps more")
        )
        before, after = gap.locator("xpath=preceding-sibling::*[1]"), gap.locator("xpath=following-sibling::*[1]")
        for row in (before, after):
            expect(row).to_contain_text("of the loss")
            number = int(row.locator(".number").inner_text())
            expect(row.locator(".text")).to_have_text(f"line {number - 6} of the loss")
        assert serious_findings(page) == []


def test_an_empty_log_says_why(watched: Watched, server: Served) -> None:
    run("import holter\nwith holter.init(name='says nothing') as run:\n  run.log({'loss': 1})")
    command = [sys.executable, "-m", "holter", "run", "--", "echo", "nobody reads this"]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=60)
    wait_until(lambda: server.get("/runs")["total"] == 2, within_s=60)
    wait_until(lambda: {run["state"] for run in server.get("/runs")["runs"]} == {"finished"}, within_s=60)
    for found in server.get("/runs")["runs"]:
        page = watched.open(f"/p/{found['project']}/r/{found['id']}/logs")
        log = page.get_by_role("region", name="What the run printed")
        if found["name"] == "says nothing":
            expect(log).to_contain_text("It printed nothing that was kept.")
            expect(log).to_contain_text("Only what Python prints is kept")
        else:
            expect(log).to_contain_text("What it printed was not kept.")
            expect(log).to_contain_text("stdout: it is a device such as /dev/null")


def test_crashes_of_all_projects_are_a_page_from_everywhere(watched: Watched, server: Served) -> None:
    now, week = time.time(), 7 * 86400.0
    fates = [
        Fate("ecc-1", "vision", "gpu-07", now, 5.0, ECC),
        Fate("ecc-2", "speech", "gpu-07", now - 9 * week, 6.0, ECC),
        Fate("memory", "vision", "gpu-02", now - week, 20.0, GPU_MEMORY),
        Fate("missing", "speech", "gpu-02", now - 30 * week, 3.0, MISSING),
        Fate("fine", "vision", "gpu-02", now, 2.0),
    ]
    for fate in fates:
        suffer(fate)
    wait_until(lambda: server.get("/deaths", weeks=52)["deaths"] == 4, within_s=60)
    page = watched.open("/settings")
    pages = page.get_by_role("navigation", name="Pages")
    pages.get_by_role("link", name="Crashes").click()
    expect(page).to_have_url(re.compile(r"/crashes$"))
    said = page.get_by_role("region", name="GPU out of memory costs the most: 20 h of 31 h")
    expect(said).to_contain_text("2 hardware faults on gpu-07; without them, 11 h would have been kept.")
    expect(said).to_contain_text("of 4 runs that ended, 75 %")
    causes = page.get_by_role("region", name="Causes").get_by_role("row")
    expect(causes).to_have_count(3)
    expect(causes.nth(1)).to_contain_text("GPU out of memory20 h65 %1new")
    expect(causes.nth(2)).to_contain_text("GPU fault11 h35 %2−17 %")
    expect(page.get_by_role("img", name=re.compile("Hours lost per week: .* 20 h, .* 5 h"))).to_be_visible()
    expect(page.get_by_role("region", name="Newest deaths").get_by_role("listitem")).to_have_count(3)
    hosts = page.get_by_role("region", name="Hosts with hardware faults").get_by_role("listitem")
    expect(hosts).to_have_count(1)
    expect(hosts).to_contain_text(re.compile(r"gpu-07\s*2 of 2 deaths.*GPU fault × 2"))
    assert serious_findings(page) == []
    page.get_by_label("Time").select_option("Last 52 weeks")
    expect(page).to_have_url(re.compile("weeks=52"))
    expect(causes).to_have_count(4)
    page.get_by_role("button", name="By host").click()
    expect(page.get_by_role("region", name="Hosts", exact=True).get_by_role("row").nth(1)).to_contain_text(
        "gpu-0223 h68 %2"
    )
    page.get_by_label("Project").select_option("speech")
    expect(page).to_have_url(re.compile(r"/p/speech/crashes\?weeks=52&by=host"))
    expect(page.get_by_role("region", name="GPU fault costs the most: 6 h of 9 h")).to_be_visible()
    page.get_by_label("Time").select_option("This week")
    expect(page.get_by_role("region", name="No run has died in this time")).to_be_visible()
    assert serious_findings(page) == []


EDGES = "node => { const box = node.getBoundingClientRect(); return [Math.round(box.left), Math.round(box.right)]; }"


def test_where_memory_is_not_the_story_the_code_is_shown(watched: Watched, server: Served) -> None:
    raised, fault = record(server, N="raised", RAISE="no file"), record(server, N="fault", FAULT="1")
    page = watched.open(f"/p/vision/r/{raised}")
    code = page.get_by_role("region", name="The line that raised")
    expect(code.locator("[aria-current=true]")).to_have_text('16    raise ValueError(os.environ["RAISE"])')
    expect(code).to_contain_text("<string>:16 in <module>")
    expect(page.get_by_role("region", name="Last words")).to_be_visible()
    expect(page.locator("canvas")).to_have_count(0)
    assert serious_findings(page) == []
    code.get_by_role("link", name="whole script").click()
    expect(page.get_by_role("region", name="script.py")).to_contain_text("raise ValueError")
    watched.open(f"/p/vision/r/{fault}")
    expect(page.get_by_role("region", name="Where it was")).to_contain_text("in string_at")
    expect(page.locator("canvas")).to_have_count(0)


def test_a_run_has_one_width_in_the_middle_and_its_tabs_stay_where_they_are(watched: Watched, server: Served) -> None:
    found = record(server, N="a-run-with-quite-a-long-name", RAISE="no file")
    page = watched.open(f"/p/vision/r/{found}")
    page.set_viewport_size({"width": 1920, "height": 900})
    expect(page.get_by_role("region", name="Last words")).to_be_visible()
    for part in (page.locator("header.head .inner"), page.locator(".diagnosis")):
        assert part.evaluate(EDGES) == [240, 1680]
    tabs = page.get_by_role("navigation", name="Parts of the run").get_by_role("link")
    places = [tab.evaluate(EDGES) for tab in tabs.all()]
    tabs.filter(has_text="Overview").click()
    expect(page.get_by_role("heading", name="Environment")).to_be_visible()
    assert [tab.evaluate(EDGES) for tab in tabs.all()] == places
    page.set_viewport_size({"width": 390, "height": 800})
    for name in ("Overview", "System", "Logs", "Files", "Diagnosis"):
        tabs.filter(has_text=name).click()
        expect(tabs.filter(has_text=name)).to_have_attribute("aria-current", "page")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        assert tabs.filter(has_text=name).evaluate(EDGES)[1] <= 390, name


def test_a_runs_overview_begins_with_its_figures_attempts_and_changes(watched: Watched, server: Served) -> None:
    found = record(server, N="again")
    record(server, HOLTER_RUN_ID=found, HOLTER_RESUME="allow", N="again", STEPS="300")
    page = watched.open(f"/p/vision/r/{found}/overview")
    figures = page.get_by_role("region", name="Figures")
    expect(figures).to_contain_text(re.compile(r"val/loss\s*0\.\d+\s*train/loss\s*0\.\d+"))
    expect(figures).to_contain_text("step 499")
    for at in (0, 1):  # those of the losses; of the memory there may be one measurement
        expect(figures.locator("path").nth(at)).to_have_attribute("d", re.compile(".{20,}"))
    attempts = page.get_by_role("region", name="Attempts")
    expect(attempts).to_contain_text(re.compile(r"2 attempts · .* between them"))
    expect(attempts.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("region", name="Git")).to_contain_text(re.compile(r"commit \w{7}|outside a git work tree"))
    expect(page.locator("header.head")).to_contain_text("resumed once, attempt 2")
    assert serious_findings(page) == []
