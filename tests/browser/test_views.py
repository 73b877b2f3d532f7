"""The workspace stays as its person left it, and can be saved under a name."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.gallery import gallery_in
from tests.browser.training import record
from tests.browser.watched import Watched
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        record(server, N="quick", LR="0.3")
        record(server, N="slow", LR="0.01")
        yield server


@pytest.fixture
def server(gallery: Served) -> Served:
    return gallery


@pytest.fixture
def elsewhere(browser: Browser, server: Served) -> Iterator[Page]:
    """The same person at another machine."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    watched = Watched(context.new_page())
    watched.come_to(server)
    yield watched.page
    assert watched.errors() == []
    context.close()


@pytest.fixture
def page(watched: Watched) -> Page:
    found = watched.open("/p/vision")
    expect(found.get_by_role("article", name="train/loss")).to_contain_text("2 runs")
    return found


def kept(server: Served) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = server.get("/views", project="vision")["edits"]
    return found


def test_a_workspace_is_there_again_when_it_is_opened_bare(page: Page, server: Served, elsewhere: Page) -> None:
    page.get_by_label("Group:").select_option("config.lr")
    page.get_by_role("button", name="Large", exact=True).click()
    expect(page).to_have_url(re.compile(r"\?group=config.lr&size=l$"))
    wait_until(lambda: kept(server) == {"": {"group": "config.lr", "size": "l"}})
    elsewhere.goto(f"{server.address}/p/vision")
    expect(elsewhere.get_by_label("Group:")).to_have_value("config.lr")
    expect(elsewhere.get_by_role("button", name="Large", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(elsewhere).to_have_url(re.compile(r"\?group=config.lr&size=l$"))
    # What stands in the address wins, and does not change what was kept.
    elsewhere.goto(f"{server.address}/p/vision?size=s")
    expect(elsewhere.get_by_role("button", name="Small", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(elsewhere.get_by_label("Group:")).to_have_value("")
    # The way to the workspace leads to it as it was; a step back to where one was.
    elsewhere.get_by_role("navigation", name="Project").get_by_role("link", name="Workspace").click()
    expect(elsewhere.get_by_label("Group:")).to_have_value("config.lr")
    elsewhere.go_back()
    expect(elsewhere.get_by_label("Group:")).to_have_value("")
    expect(elsewhere.get_by_role("button", name="Small", exact=True)).to_have_attribute("aria-pressed", "true")
    assert kept(server) == {"": {"group": "config.lr", "size": "l"}}


def test_a_step_back_undoes_a_change_and_that_is_kept_too(page: Page, server: Served) -> None:
    page.get_by_label("Group:").select_option("config.lr")
    wait_until(lambda: kept(server) == {"": {"group": "config.lr"}})
    page.go_back()
    expect(page).to_have_url(re.compile("/p/vision$"))
    expect(page.get_by_label("Group:")).to_have_value("")
    wait_until(lambda: kept(server) == {})
