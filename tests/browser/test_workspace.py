"""The workspace of a project, while its runs go on, die, and are marked."""

import contextlib
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.axe import serious_findings
from tests.browser.gallery import gallery_in
from tests.browser.training import begin, record
from tests.browser.watched import GONE, Watched
from tests.e2e.programs import data_directory, run, wait_until
from tests.e2e.servers import Served, ui
from tests.unit.catalog.journals import Journal, dead, named

HOSTILE = '<img src=x onerror="document.title=1">'


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def chart(page: Page, metric: str) -> Locator:
    return page.get_by_role("article", name=metric).get_by_role("img")


def names(page: Page) -> list[str]:
    return page.get_by_role("row").get_by_role("link").all_inner_texts()


def read_end(page: Page, metric: str) -> int:
    """The last step that a chart has, as it is read aloud once the chart is drawn."""
    said = page.locator('[aria-live="polite"]').filter(has_text=metric)
    steps: list[str] = []

    def reads() -> list[str]:
        chart(page, metric).focus()
        page.keyboard.press("End")
        steps[:] = re.findall(r"step ([\d\u202f]+)", " ".join(said.all_inner_texts()))
        return steps

    wait_until(reads)
    return int(steps[0].replace("\u202f", ""))


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Four runs to look at in the project `vision`: who changes one needs another, in a project of its own."""
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        for name, environment in {
            "quick": {"LR": "0.3"},
            "slow": {"LR": "0.01"},
            "broken": {"LR": "0.1", "RAISE": "boom"},
            "killed": {"LR": "0.2", "KILL": "1"},
        }.items():
            record(server, N=name, **environment)
        yield server


@pytest.fixture
def server(gallery: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """That of the gallery; what is recorded now is seen there."""
    monkeypatch.setenv("HOLTER_DIR", gallery.home)
    return gallery


@pytest.fixture
def project(request: pytest.FixtureRequest) -> str:
    """One of its own for each test."""
    return str(request.node.name.partition("[")[0])


@pytest.fixture
def workspace(watched: Watched) -> Page:
    page = watched.open("/p/vision")
    expect(page.get_by_role("row")).to_have_count(5)
    expect(chart(page, "train/loss")).to_be_visible()
    return page


@pytest.fixture
def killed(watched: Watched, server: Served, project: str) -> Page:
    """One run, in a workspace of its own."""
    record(server, N="killed", KILL="1", P=project)
    page = watched.open(f"/p/{project}")
    expect(row(page, "killed")).to_contain_text("Crashed")
    return page


def test_runs_and_charts_are_there(workspace: Page, take: Callable[[str], None]) -> None:
    expect(row(workspace, "killed")).to_contain_text("Crashed")
    expect(row(workspace, "broken")).to_contain_text("Failed")
    expect(workspace.get_by_role("article", name="train/loss")).to_contain_text("4 runs")
    expect(workspace.get_by_role("region", name="perf")).to_contain_text("perf/images_per_s")
    take("workspace")
    box = chart(workspace, "train/loss").bounding_box()
    assert box is not None
    workspace.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(workspace.locator(".tip")).to_contain_text("step")
    take("workspace-hover")


def test_sorting_and_filtering_are_in_the_address(workspace: Page) -> None:
    workspace.get_by_role("button", name="Run", exact=True).click()
    expect(workspace).to_have_url(re.compile("sort=name"))
    workspace.wait_for_function("() => document.querySelector('[role=row] a')?.innerText === 'broken'")
    assert names(workspace) == ["broken", "killed", "quick", "slow"]
    workspace.get_by_label("Search runs").fill("state = failed or config.lr < 0.05")
    workspace.keyboard.press("Enter")
    expect(workspace.get_by_role("row")).to_have_count(3)
    workspace.reload()
    expect(workspace.get_by_role("row")).to_have_count(3)
    assert names(workspace) == ["broken", "slow"]
    expect(workspace.get_by_role("article", name="train/loss")).to_contain_text("2 runs")


def test_a_wrong_filter_points_at_the_place(workspace: Page, watched: Watched, take: Callable[[str], None]) -> None:
    watched.expect_errors("400")
    workspace.get_by_label("Search runs").fill("state = crashed and")
    workspace.keyboard.press("Enter")
    wrong = workspace.get_by_role("alert")
    expect(wrong).to_contain_text("expected the name of a field")
    take("wrong-filter")
    workspace.get_by_label("Search runs").fill("state = crashed")
    workspace.keyboard.press("Enter")
    expect(wrong).to_have_count(0)
    expect(workspace.get_by_role("row")).to_have_count(2)


def test_a_run_that_goes_on_grows_and_its_death_is_seen(watched: Watched, project: str) -> None:
    program, _ = begin(N="alive", P=project)
    with program:
        page = watched.open(f"/p/{project}")
        expect(row(page, "alive")).to_contain_text("Running")
        expect(chart(page, "train/loss")).to_be_visible()
        before = read_end(page, "train/loss")
        wait_until(lambda: read_end(page, "train/loss") > before)
        program.kill()
        expect(row(page, "alive")).to_contain_text("Crashed")


def test_charts_go_on_after_the_server_was_killed_and_started_again(stranger: Watched) -> None:
    stranger.expect_errors(*GONE)
    program, _ = begin(N="alive")
    with program, ui() as server:
        stranger.come_to(server)
        page = stranger.open("/p/vision")
        expect(chart(page, "train/loss")).to_be_visible()
        port = server.address.rpartition(":")[2]
        server.kill()
        banner = page.get_by_role("alert").filter(has_text="does not answer")
        expect(banner).to_be_visible()
        before = read_end(page, "train/loss")
        with ui("--port", port):
            expect(banner).to_have_count(0)
            wait_until(lambda: read_end(page, "train/loss") > before + 20, within_s=60)
            program.kill()
            expect(row(page, "alive")).to_contain_text("Crashed")


def test_a_run_is_marked_by_mouse_and_the_mark_taken_back(killed: Page, take: Callable[[str], None]) -> None:
    killed.get_by_role("button", name="Menu of killed").click()
    killed.get_by_role("menuitem", name="Mark as failed…").click()
    dialog = killed.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the disk was full, I saw it")
    take("mark")
    dialog.get_by_role("button", name="Mark as failed").click()
    expect(row(killed, "killed")).to_contain_text("Failed")
    killed.get_by_role("button", name="Undo").click()
    expect(row(killed, "killed")).to_contain_text("Crashed")


def test_a_dialog_stays_with_its_run_while_rows_move(watched: Watched, server: Served, project: str) -> None:
    record(server, N="old", KILL="1", P=project)
    page = watched.open(f"/p/{project}")
    page.get_by_role("button", name="Menu of old").click()
    page.get_by_role("menuitem", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Everything about old")
    record(server, N="new", KILL="1", P=project)
    expect(page.locator("[aria-rowindex='2'] a")).to_have_text("new")
    expect(dialog).to_contain_text("Everything about old")
    dialog.get_by_role("button", name="Delete").click()
    expect(row(page, "old")).to_have_count(0)
    expect(row(page, "new")).to_be_visible()


def test_nothing_of_another_project_is_asked_for(watched: Watched, server: Served) -> None:
    record(server, N="other", P="speech")
    asked: list[str] = []
    watched.page.on("request", lambda request: asked.append(request.url))
    page = watched.open("/p/vision")
    expect(row(page, "quick")).to_be_visible()
    tables = [url for url in asked if "/api/v1/runs?" in url]
    assert tables
    assert [url for url in tables if "project=vision" not in url] == []


def test_charts_come_while_new_runs_keep_coming(watched: Watched, project: str) -> None:
    with contextlib.ExitStack() as stack:
        page = watched.open(f"/p/{project}")
        for number in range(6):
            program, _ = begin(N=f"run {number}", P=project)
            stack.enter_context(program)
            stack.callback(program.kill)
        expect(page.get_by_role("article", name="train/loss")).to_contain_text("6 runs")
        expect(chart(page, "train/loss")).to_be_visible()
        row(page, "run 0").get_by_role("button", name="Lines of run 0").click()
        expect(page.get_by_role("article", name="train/loss")).to_contain_text("5 runs")
        row(page, "run 0").get_by_role("button", name="Lines of run 0").click()
        expect(page.get_by_role("article", name="train/loss")).to_contain_text("6 runs")


def test_a_run_is_marked_by_keys(killed: Page) -> None:
    killed.keyboard.press("j")
    killed.keyboard.press("m")
    expect(killed.get_by_role("menuitem", name="Mark as failed…")).to_be_focused()
    killed.keyboard.press("Enter")
    expect(killed.get_by_label("Reason")).to_be_focused()
    killed.keyboard.type("by keys")
    killed.keyboard.press("Tab")
    killed.keyboard.press("Tab")
    killed.keyboard.press("Enter")
    expect(row(killed, "killed")).to_contain_text("Failed")


def test_keys_select_hide_and_compare(workspace: Page, take: Callable[[str], None]) -> None:
    for key in ("j", "x", "j", "x"):
        workspace.keyboard.press(key)
    expect(workspace.get_by_text("2 selected")).to_be_visible()
    workspace.keyboard.press(" ")
    expect(workspace.get_by_role("article", name="train/loss")).to_contain_text("3 runs")
    expect(workspace).to_have_url(re.compile("hide="))
    workspace.keyboard.press("?")
    expect(workspace.get_by_role("dialog", name="Keys")).to_be_visible()
    take("keys")
    workspace.keyboard.press("Escape")
    workspace.keyboard.press("c")
    expect(workspace).to_have_url(re.compile(r"/p/vision/compare\?runs=\w+,\w+"))


def test_keys_lead_to_the_fields_and_to_runs(workspace: Page) -> None:
    workspace.keyboard.press("/")
    expect(workspace.get_by_label("Search metrics")).to_be_focused()
    workspace.keyboard.press("Escape")
    workspace.get_by_role("table", name="Runs").focus()
    workspace.keyboard.press("f")
    expect(workspace.get_by_label("Search runs")).to_be_focused()
    workspace.keyboard.press("Escape")
    for key in ("j", "j", "k", "j"):
        workspace.keyboard.press(key)
    second = names(workspace)[1]
    workspace.keyboard.press("Enter")
    expect(workspace.get_by_role("heading", name=second, exact=True)).to_be_visible()


def test_a_run_keeps_its_colour(workspace: Page) -> None:
    def colours() -> dict[str, str]:
        swatches = workspace.get_by_role("row").locator("button.lines")
        told = "all => all.map((each) => [each.ariaLabel, each.style.getPropertyValue('--colour')])"
        return dict(swatches.evaluate_all(told))

    before = colours()
    assert len(set(before.values())) == 4
    workspace.get_by_label("Search runs").fill("name in (slow, quick)")
    workspace.keyboard.press("Enter")
    expect(workspace.get_by_role("row")).to_have_count(3)
    assert colours() == {name: before[name] for name in ("Lines of slow", "Lines of quick")}
    workspace.reload()
    expect(workspace.get_by_role("row")).to_have_count(3)
    assert colours() == {name: before[name] for name in ("Lines of slow", "Lines of quick")}


def test_a_run_has_the_same_colour_for_everybody_and_another_can_be_chosen(
    watched: Watched, server: Served, browser: Browser
) -> None:
    for name in ("one", "other"):
        Journal(data_directory() / "runs" / f"colour-{name}", dead()).say(named(name, "colours")).log(range(3)).close()
    wait_until(lambda: server.get("/runs", project="colours")["total"] == 2)
    page = watched.open("/p/colours")
    context = browser.new_context(reduced_motion="reduce")
    context.add_cookies(page.context.cookies())  # type: ignore[arg-type]  # as they were read
    elsewhere = context.new_page()
    elsewhere.goto(f"{server.address}/p/colours?q=name = one")

    def colour(of: Page, name: str) -> str:
        swatch = of.get_by_label(f"Lines of {name}", exact=True)
        return str(swatch.evaluate("each => each.style.getPropertyValue('--colour')"))

    before = colour(page, "one")
    assert colour(elsewhere, "one") == before != colour(page, "other")
    page.get_by_role("button", name="Menu of one").click()
    page.get_by_role("menuitem", name="Colour…").click()
    swatches = page.get_by_role("dialog", name="Colour of the run").get_by_role("group").get_by_role("button")
    expect(swatches).to_have_count(8)
    assert serious_findings(page) == []
    swatches.and_(page.locator("[aria-pressed=false]")).first.click()
    wait_until(lambda: colour(page, "one") != before)
    wait_until(lambda: colour(elsewhere, "one") == colour(page, "one"))
    page.get_by_role("button", name="Undo").click()
    wait_until(lambda: colour(page, "one") == colour(elsewhere, "one") == before)
    context.close()


def test_dragging_zooms_all_charts_and_escape_takes_it_back(workspace: Page) -> None:
    box = chart(workspace, "train/loss").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    workspace.mouse.move(box["x"] + box["width"] * 0.4, middle)
    workspace.mouse.down()
    workspace.mouse.move(box["x"] + box["width"] * 0.7, middle, steps=4)
    workspace.mouse.up()
    expect(workspace).to_have_url(re.compile(r"from=[\d.]+&to=[\d.]+"))
    expect(workspace.get_by_role("button", name="Reset zoom")).to_be_visible()
    assert 100 < read_end(workspace, "train/accuracy") < 160
    workspace.keyboard.press("Escape")
    expect(workspace).not_to_have_url(re.compile("from="))


def test_groups_smoothing_axes_and_search_are_in_the_address(workspace: Page, take: Callable[[str], None]) -> None:
    workspace.get_by_label("Group:").select_option("config.lr")
    expect(workspace.get_by_role("article", name="train/loss")).to_contain_text("4 groups")
    workspace.get_by_label("x:").select_option("relative")
    workspace.get_by_role("button", name="Log y").click()
    workspace.get_by_label("Smoothing").fill("0.8")
    workspace.get_by_label(re.compile("Search metrics")).fill("^train/(loss|acc)")
    expect(workspace.get_by_role("article")).to_have_count(2)
    expect(workspace).to_have_url(re.compile(r"(?=.*group=config\.lr)(?=.*x=relative)(?=.*log=1)(?=.*smooth=0\.8)"))
    workspace.reload()
    expect(workspace.get_by_role("article")).to_have_count(2)
    expect(workspace.get_by_role("article", name="train/loss")).to_contain_text("4 groups")
    take("workspace-grouped")


def test_columns_are_chosen(workspace: Page, take: Callable[[str], None]) -> None:
    workspace.get_by_role("button", name="Columns").click()
    workspace.get_by_label("Search columns").fill("layers")
    workspace.get_by_label("config.model.layers").check()
    take("columns")
    workspace.get_by_role("button", name="Done").click()
    expect(workspace.get_by_role("columnheader", name="model.layers")).to_be_visible()
    expect(row(workspace, "quick")).to_contain_text("4")


def test_hostile_names_are_only_text(watched: Watched, server: Served, project: str) -> None:
    record(server, N=HOSTILE, TAGS=HOSTILE, RAISE=HOSTILE, P=project)
    page = watched.open(f"/p/{project}")
    expect(page.get_by_role("link", name=HOSTILE)).to_be_visible()
    assert page.locator("img[src]").count() == 0
    assert page.title() == f"{project} · Holter"


def test_a_narrow_window_has_everything_below_each_other(workspace: Page, take: Callable[[str], None]) -> None:
    workspace.set_viewport_size({"width": 420, "height": 900})
    expect(row(workspace, "quick")).to_be_visible()
    assert workspace.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take("workspace-narrow")
    workspace.get_by_role("button", name="Pages").click()
    workspace.get_by_role("menuitem", name="Sweeps").click()
    expect(workspace).to_have_url(re.compile("/p/vision/sweeps"))


@pytest.mark.parametrize("path", ["/", "/p/vision"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_screen_readers_and_weak_eyes_find_nothing_serious(watched: Watched, path: str, theme: str) -> None:
    watched.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]  # the names are literals there
    page = watched.open(path)
    expect(page.get_by_text("killed").first).to_be_visible()
    if path != "/":
        expect(chart(page, "train/loss")).to_be_visible()
    assert serious_findings(page) == []


def test_metrics_that_come_while_the_view_is_on_its_way_are_shown(watched: Watched, server: Served) -> None:
    found = run("import holter; print('id', holter.init(project='late').id)").stdout.split()[1]
    wait_until(lambda: server.http.get(f"/runs/{found}").status_code == 200)
    held: list[Route] = []
    page = watched.page

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile(r"/views\?"), hold)
    with page.expect_response(re.compile("/fields")):
        watched.open("/p/late")
    with page.expect_response(re.compile("/fields")):  # once more, as there are rows
        run("import holter; run = holter.init(project='late'); run.log({'loss': 1.0})")
    held[0].continue_()
    expect(chart(page, "loss")).to_be_visible()
    expect(page.get_by_role("columnheader", name="loss", exact=True)).to_be_visible()
