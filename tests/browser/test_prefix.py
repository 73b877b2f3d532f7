"""The page below a prefix that only the proxy before it knows, and in a notebook's frame."""

import re

from playwright.sync_api import expect

from tests.browser.prefixing import PREFIX, prefixed
from tests.browser.training import begin, record
from tests.browser.watched import Watched
from tests.e2e.programs import wait_until
from tests.e2e.servers import Served


def test_everything_works_below_a_prefix_and_nothing_is_asked_for_above_it(stranger: Watched, server: Served) -> None:
    record(server, N="quick")
    killed = record(server, N="killed", KILL="1")
    with prefixed(server.address) as proxy:
        page = stranger.page
        page.goto(f"{proxy.address}/?token={server.key}")
        page.get_by_role("link", name=re.compile("vision")).click()
        expect(page).to_have_url(f"{proxy.address}/p/vision")
        expect(page.get_by_role("article", name="train/loss")).to_contain_text("2 runs")
        page.get_by_role("link", name="killed", exact=True).click()
        expect(page.get_by_role("region", name=re.compile("SIGKILL"))).to_be_visible()
        page.reload()
        expect(page.get_by_role("region", name=re.compile("SIGKILL"))).to_be_visible()
        page.goto(f"{proxy.address}/p/vision/r/{killed}/files")
        download = page.get_by_role("region", name="output.log").get_by_role("link", name="Download")
        assert (download.get_attribute("href") or "").startswith(f"{proxy.address}/api/v1/")
        page.goto(f"{proxy.address}/p/vision/compare?runs={killed}")
        expect(page.get_by_role("article", name="train/loss")).to_be_visible()
        page.go_back()
        expect(page).to_have_url(re.compile(f"{PREFIX}/p/vision/r/{killed}/files"))
        program, _ = begin(N="later")
        with program:
            page.goto(f"{proxy.address}/p/vision")
            expect(page.get_by_role("row").filter(has_text="later")).to_contain_text("Running")
            program.kill()
        expect(page.get_by_role("row").filter(has_text="later")).to_contain_text("Crashed")
        page.get_by_role("button", name="Menu of later").click()
        page.get_by_role("menuitem", name="Mark as failed…").click()
        page.get_by_label("Reason").fill("through a proxy")
        page.get_by_role("button", name="Mark as failed").click()
        expect(page.get_by_role("row").filter(has_text="later")).to_contain_text("Failed")
        assert proxy.strays == []


def test_a_notebooks_frame_may_have_the_page_in_it(stranger: Watched, server: Served) -> None:
    found = record(server, N="quick")
    with prefixed(server.address) as proxy:
        page = stranger.page
        page.goto(f"{proxy.address}/?token={server.key}")
        expect(page.get_by_role("link", name=re.compile("vision"))).to_be_visible()
        page.goto(proxy.frame)
        framed = page.frame_locator("iframe")
        framed.get_by_role("link", name=re.compile("vision")).click()
        framed.get_by_role("link", name="quick", exact=True).click()
        expect(framed.get_by_role("article", name="train/loss")).to_be_visible()
        wait_until(lambda: any(frame.url.endswith(f"/p/vision/r/{found}") for frame in page.frames))
        assert page.url == proxy.frame
