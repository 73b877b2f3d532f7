"""A real Chromium on a real `holter ui` with real runs. A test fails on any error that the browser's console shows."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from holter.server.pages import PAGE
from tests.browser.chromium import chromium
from tests.browser.gallery import forget_settings
from tests.browser.watched import Watched
from tests.e2e.servers import Served, ui

SCREENSHOTS = Path(__file__).with_name("screenshots")
expect.set_options(timeout=60_000)


# Not for the whole session: as long as Playwright is there, no other test can have an event loop.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if not (PAGE / "index.html").exists():
        pytest.fail("the page is not built: python build_page.py")
    with chromium() as launched:
        yield launched


@pytest.fixture
def server() -> Iterator[Served]:
    with ui() as served:
        yield served


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light", reduced_motion="reduce")
    made.set_default_timeout(60_000)
    yield made
    made.close()


@pytest.fixture
def stranger(context: BrowserContext) -> Iterator[Watched]:
    """A page of somebody who has not logged in."""
    watched = Watched(context.new_page())
    yield watched
    assert watched.errors() == []


@pytest.fixture
def watched(stranger: Watched, server: Served) -> Watched:
    """A page of somebody who came with the token of `holter ui`, on Home."""
    stranger.come_to(server)
    forget_settings(server)
    return stranger


@pytest.fixture
def page(watched: Watched) -> Page:
    return watched.page


@pytest.fixture
def take(stranger: Watched) -> Callable[[str], None]:
    """Takes a picture of the page in both themes, for people who want to look at it (PICTURES=1)."""
    page = stranger.page

    def shoot(name: str) -> None:
        if not os.environ.get("PICTURES"):
            return
        SCREENSHOTS.mkdir(exist_ok=True)
        for theme in ("dark", "light"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_timeout(250)
            page.screenshot(path=SCREENSHOTS / f"{name}-{theme}.png")

    return shoot
