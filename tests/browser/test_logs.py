"""The log of a run: colours, search, links to lines, more lines than a page can hold."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.gallery import gallery_in
from tests.browser.talking import record_talk
from tests.browser.watched import Watched
from tests.e2e.servers import Served

MANY = 100_000  # benchmarks/page_log.py has a million
IN_SIGHT = "([where, text]) => document.querySelector(where)?.textContent.includes(text)"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """A run that several tests look at."""
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        yield server, record_talk(server, N="talk")


@pytest.fixture
def talk(stranger: Watched, gallery: tuple[Served, str]) -> str:
    """The address of its log."""
    server, found = gallery
    stranger.come_to(server)
    return f"/p/talk/r/{found}/logs"


def test_colours_are_colours_and_markup_is_text(watched: Watched, server: Served) -> None:
    found = record_talk(server, N="talk", TALK_LINES="5")
    page = watched.open(f"/p/talk/r/{found}/logs")
    green = page.locator("span.bold", has_text="green words")
    expect(green).to_be_visible()
    assert green.evaluate("node => getComputedStyle(node).color") == "rgb(28, 122, 62)"
    expect(page.get_by_text("<b>not bold</b>")).to_be_visible()
    expect(page.get_by_text("after the title no link")).to_be_visible()
    expect(page.get_by_text("progress 100 %")).to_be_visible()
    expect(page.get_by_text("progress  99 %")).to_have_count(0)


def test_search_goes_from_hit_to_hit(stranger: Watched, talk: str, take: Callable[[str], None]) -> None:
    page = stranger.open(talk)
    expect(page.get_by_text("line 299 of the loss")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("needle")
    page.keyboard.press("Enter")
    hit = page.locator(".chosen")
    expect(hit).to_contain_text("line 17 of the loss")
    expect(page.get_by_role("search")).to_contain_text("1 of 2")
    page.keyboard.press("Enter")
    expect(hit).to_contain_text("line 201 of the loss")
    expect(hit.locator(".hit")).to_have_text("Needle")
    take("log-search")
    page.get_by_role("button", name="Previous hit").click()
    expect(hit).to_contain_text("line 17 of the loss")
    expect(page).to_have_url(re.compile(r"#L\d+$"))
    page.get_by_label("Search the log").fill("nowhere to be found")
    expect(page.get_by_role("search")).to_contain_text("nothing found")


def test_the_next_hit_comes_with_its_neighbours_and_behind_the_last_comes_the_first(
    gallery: tuple[Served, str],
) -> None:
    server, found = gallery
    first, second = (line["n"] for line in server.get(f"/runs/{found}/console", search="needle")["lines"])

    def ask(after: int, text: str = "needle") -> tuple[int | None, list[int]]:
        answer = server.get(f"/runs/{found}/console", search=text, after=after, around=2)
        return answer["hit"], [line["n"] for line in answer["lines"]]

    assert ask(0) == (first, list(range(first - 2, first + 3)))
    assert ask(first + 1) == (second, list(range(second - 2, second + 3)))
    assert ask(second + 1) == (first, list(range(first - 2, first + 3)))
    assert ask(0, "green words") == (1, [0, 1, 2, 3])
    assert ask(5, "nowhere to be found") == (None, [])


def test_a_text_that_is_in_every_line_is_gone_through_one_by_one(watched: Watched, server: Served) -> None:
    found = record_talk(server, N="talk", TALK_LINES="2500")
    page = watched.open(f"/p/talk/r/{found}/logs#L2000")
    expect(page.locator("#L2000.chosen")).to_be_in_viewport()
    chosen = page.locator(".chosen .number")
    page.get_by_label("Search the log").fill("of the loss")
    expect(page.get_by_role("search")).to_contain_text("one of 1,000+")
    first = int(chosen.inner_text())
    assert 1900 < first < 2010
    for line in (first + 1, first + 2):
        page.keyboard.press("Enter")
        expect(chosen).to_have_text(str(line))
    page.get_by_role("button", name="To the end").click()
    page.get_by_label("Search the log").fill("line 2499 of the loss")
    expect(page.get_by_role("search")).to_contain_text("1 of 1")
    page.get_by_role("button", name="Next hit").click()
    expect(page.locator(".chosen")).to_contain_text("line 2499 of the loss")


def test_a_link_to_a_line_leads_to_it(stranger: Watched, talk: str) -> None:
    page = stranger.open(f"{talk}#L120")
    chosen = page.locator("#L120.chosen")
    expect(chosen).to_be_in_viewport()
    page.locator("#L125 .number").click()
    expect(page).to_have_url(re.compile(r"#L125$"))
    expect(page.locator("#L125.chosen")).to_be_visible()
    expect(chosen).to_have_count(0)


def test_a_moment_of_the_diagnosis_leads_to_its_place_in_the_log(watched: Watched, server: Served) -> None:
    found = record_talk(server, N="talk", RAISE="at last")
    page = watched.open(f"/p/talk/r/{found}")
    timeline = page.get_by_role("region", name="What happened")
    timeline.get_by_role("listitem").filter(has_text="at last").first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/logs\?at="))
    expect(page.locator(".chosen")).to_be_in_viewport()


def test_a_log_longer_than_any_page_opens_at_its_end_and_is_searched(watched: Watched, server: Served) -> None:
    found = record_talk(server, N="long", TALK_LINES=str(MANY))
    page = watched.open(f"/p/talk/r/{found}/overview")
    expect(page.get_by_role("heading", name="Configuration")).to_be_visible()
    page.get_by_role("navigation", name="Parts of the run").get_by_role("link", name="Logs").click()
    page.wait_for_function(IN_SIGHT, arg=[".rows", f"line {MANY - 1} of the loss"])
    page.get_by_label("Search the log").fill("line 50000 of")
    page.keyboard.press("Enter")
    page.wait_for_function(IN_SIGHT, arg=[".chosen", "line 50000 of the loss"])
    assert page.locator(".rows .line").count() < 200
