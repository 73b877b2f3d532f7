"""The menu of a run: what people do to it, by mouse and by keys."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.gallery import gallery_in
from tests.browser.training import record
from tests.browser.watched import Watched
from tests.e2e.programs import start, wait_until
from tests.e2e.servers import Served

STOPPABLE = """
import os, time, holter
run = holter.init(project=os.environ["P"], name="patient", settings={"allow_stop": True})
print("id", run.id, flush=True)
for step in range(100_000):
    run.log({"loss": 1 / (step + 1)})
    time.sleep(0.05)
"""


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def choose(page: Page, name: str, item: str) -> None:
    page.get_by_role("button", name=f"Menu of {name}", exact=True).click()
    page.get_by_role("menuitem", name=item).click()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        yield server


@pytest.fixture
def server(gallery: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """One for all tests, each of which has a project of its own."""
    monkeypatch.setenv("HOLTER_DIR", gallery.home)
    return gallery


@pytest.fixture
def project(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@pytest.fixture
def killed(server: Served, project: str) -> str:
    return record(server, N="killed", KILL="1", P=project)


def test_a_dead_run_is_marked_as_any_dead_state(watched: Watched, killed: str, project: str) -> None:
    page = watched.open(f"/p/{project}")
    for state, glyph in (("Preempted", "⏏"), ("Finished", "✓"), ("Crashed", "✕")):
        choose(page, "killed", "Mark as failed…")
        dialog = page.get_by_role("dialog", name="How did it end?")
        dialog.get_by_label(state).check()
        dialog.get_by_label("Reason").fill(f"I say {state}")
        dialog.get_by_role("button", name=re.compile("^Mark as")).click()
        expect(dialog).to_have_count(0)
        expect(row(page, "killed").locator(".state")).to_have_text(re.compile(rf"{glyph}\s*{state}"))
    choose(page, "killed", "Remove the mark")
    expect(page.get_by_role("status").filter(has_text="The mark is removed")).to_be_visible()
    page.get_by_role("button", name="Menu of killed").click()
    expect(page.get_by_role("menuitem", name="Remove the mark")).to_have_count(0)


def test_a_run_is_tagged_and_found_by_its_tag(watched: Watched, server: Served, killed: str, project: str) -> None:
    record(server, N="other", P=project)
    page = watched.open(f"/p/{project}?cols=state,tags")
    choose(page, "killed", "Tags…")
    page.get_by_role("textbox", name="Tags").fill("best, <b>of all</b>")
    page.get_by_role("button", name="Save").click()
    expect(row(page, "killed")).to_contain_text("best, <b>of all</b>")
    page.get_by_label("Search runs").fill("tags = best")
    page.keyboard.press("Enter")
    expect(page.get_by_role("row")).to_have_count(2)


def test_a_link_and_an_id_are_copied(watched: Watched, server: Served, killed: str, project: str) -> None:
    page = watched.open(f"/p/{project}?sort=name")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    choose(page, "killed", "Copy link")
    expect(page.get_by_text("The link is copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"{server.address}/p/{project}/r/{killed}"
    choose(page, "killed", "Copy id")
    page.wait_for_function("async (id) => (await navigator.clipboard.readText()) === id", arg=killed)


def test_the_command_that_resumes_a_run_is_there_to_copy(watched: Watched, killed: str, project: str) -> None:
    page = watched.open(f"/p/{project}/r/{killed}")
    choose(page, "killed", "Resume command…")
    dialog = page.get_by_role("dialog", name="Resume the run")
    expect(dialog.locator("pre")).to_contain_text(f"HOLTER_RUN_ID={killed} HOLTER_RESUME=allow")
    expect(dialog.locator("pre")).to_contain_text("python")


def test_a_run_is_deleted_from_its_own_page(watched: Watched, server: Served, killed: str, project: str) -> None:
    page = watched.open(f"/p/{project}/r/{killed}/logs")
    choose(page, "killed", "Delete…")
    dialog = page.get_by_role("dialog", name="Delete the run")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    choose(page, "killed", "Delete…")
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{server.address}/p/{project}")
    wait_until(lambda: server.http.get(f"/runs/{killed}").status_code == 404)


def test_a_living_run_that_allows_it_is_stopped_and_cannot_be_deleted(
    watched: Watched, server: Served, project: str
) -> None:
    with start(STOPPABLE, P=project) as program:
        assert program.stdout is not None
        found = program.stdout.readline().split()[1]
        wait_until(lambda: server.http.get(f"/runs/{found}").status_code == 200, within_s=60)
        page = watched.open(f"/p/{project}/r/{found}")
        page.get_by_role("button", name="Menu of patient").click()
        expect(page.get_by_role("menuitem", name="Delete…")).to_be_disabled()
        page.get_by_role("menuitem", name="Stop…").click()
        dialog = page.get_by_role("dialog", name="Stop the run")
        dialog.get_by_role("textbox").fill("it diverges")
        dialog.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("patient is asked to stop")).to_be_visible()
        program.wait(30)
        expect(page.locator("header.head .badge")).not_to_contain_text("Running")
