"""A real Chromium for benchmarks: opened, led to a page of ours, its CPU time counted over all of its processes."""

import contextlib
import os
import shutil
from collections.abc import Iterator

import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.recorded_runs import Ui

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
VIEWPORT = {"width": 1600, "height": 1000}
PATIENCE_MS = 300_000


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's, or the one that CHROMIUM names. Raises FileNotFoundError."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if found is None:
        raise FileNotFoundError("there is no chromium here: install it, or name it with CHROMIUM=/path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def new_page(browser: Browser, *, script: str = "") -> Iterator[Page]:
    """A page with nothing in its caches; a script runs in it before anything else does."""
    context = browser.new_context(viewport={**VIEWPORT}, color_scheme="light", reduced_motion="reduce")  # type: ignore[arg-type]  # the same keys
    context.set_default_timeout(PATIENCE_MS)
    if script:
        context.add_init_script(script)
    try:
        yield context.new_page()
    finally:
        context.close()


def enter(page: Page, ui: Ui) -> None:
    """Take the token for a cookie, and be at home."""
    page.goto(f"{ui.address}/?token={ui.token}")
    page.wait_for_url(f"{ui.address}/")


def browser_cpu_s() -> float:
    """Of every process of the browsers that this process started, also of those that have ended."""
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "chrom" in process.name():
                total += sum(process.cpu_times()[:4])
    return total
