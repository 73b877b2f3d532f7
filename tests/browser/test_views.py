"""The workspace stays as its person left it, and can be saved under a name."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.axe import serious_findings
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


def size(page: Page, name: str) -> Locator:
    """Of all charts; sections have sizes of their own."""
    return page.get_by_role("toolbar", name="Charts").get_by_role("button", name=name, exact=True)


def kept(server: Served) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = server.get("/views", project="vision")["edits"]
    return found


def test_a_workspace_is_there_again_when_it_is_opened_bare(page: Page, server: Served, elsewhere: Page) -> None:
    page.get_by_label("Group:").select_option("config.lr")
    size(page, "Large").click()
    expect(page).to_have_url(re.compile(r"\?group=config.lr&size=l$"))
    wait_until(lambda: kept(server) == {"": {"group": "config.lr", "size": "l"}})
    elsewhere.goto(f"{server.address}/p/vision")
    expect(elsewhere.get_by_label("Group:")).to_have_value("config.lr")
    expect(size(elsewhere, "Large")).to_have_attribute("aria-pressed", "true")
    expect(elsewhere).to_have_url(re.compile(r"\?group=config.lr&size=l$"))
    # What stands in the address wins, and does not change what was kept.
    elsewhere.goto(f"{server.address}/p/vision?size=s")
    expect(size(elsewhere, "Small")).to_have_attribute("aria-pressed", "true")
    expect(elsewhere.get_by_label("Group:")).to_have_value("")
    # The way to the workspace leads to it as it was; a step back to where one was.
    elsewhere.get_by_role("link", name="Workspace", exact=True).click()
    expect(elsewhere.get_by_label("Group:")).to_have_value("config.lr")
    elsewhere.go_back()
    expect(elsewhere.get_by_label("Group:")).to_have_value("")
    expect(size(elsewhere, "Small")).to_have_attribute("aria-pressed", "true")
    assert kept(server) == {"": {"group": "config.lr", "size": "l"}}


def test_a_step_back_undoes_a_change_and_that_is_kept_too(page: Page, server: Served) -> None:
    page.get_by_label("Group:").select_option("config.lr")
    wait_until(lambda: kept(server) == {"": {"group": "config.lr"}})
    page.go_back()
    expect(page).to_have_url(re.compile("/p/vision$"))
    expect(page.get_by_label("Group:")).to_have_value("")
    wait_until(lambda: kept(server) == {})


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=re.compile(f"^View {name}"))


def choose(page: Page, item: str) -> None:
    page.get_by_role("button", name=re.compile("^View ")).click()
    page.get_by_role("dialog", name="Views").get_by_role("button", name=item).click()


def save_as(page: Page, name: str, *, is_team: bool = False) -> None:
    choose(page, "Save as a new view…")
    page.get_by_role("textbox", name="Name").fill(name)
    if is_team:
        page.get_by_label("For the team").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(button(page, name)).to_be_visible()


def names(server: Served) -> list[str]:
    return [view["name"] for view in server.get("/views", project="vision")["views"]]


def test_a_view_is_saved_edited_reset_renamed_and_deleted(
    page: Page, server: Served, elsewhere: Page, take: Callable[[str], None]
) -> None:
    expect(button(page, "My workspace")).to_be_visible()
    page.get_by_label("Group:").select_option("config.lr")
    save_as(page, "By rate")
    expect(page.get_by_text("Edited", exact=True)).to_have_count(0)
    size(page, "Large").click()
    expect(page.get_by_text("Edited", exact=True)).to_be_visible()
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved “By rate”.")).to_be_visible()
    expect(page.get_by_text("Edited", exact=True)).to_have_count(0)
    page.get_by_label("Group:").select_option("")
    expect(page.get_by_text("Edited", exact=True)).to_be_visible()
    page.get_by_role("button", name=re.compile("^View ")).click()
    expect(page.get_by_label("Find a view")).to_be_focused()
    assert serious_findings(page) == []
    take("views")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Views")).to_have_count(0)
    # What was not saved stays with the view, also while another one is looked at.
    choose(page, "My workspace")
    expect(page.get_by_label("Group:")).to_have_value("config.lr")
    choose(page, "By rate")
    expect(page.get_by_label("Group:")).to_have_value("")
    wait_until(lambda: sorted(edits["group"] for edits in kept(server).values()) == ["", "config.lr"])
    elsewhere.goto(f"{server.address}/p/vision")
    expect(button(elsewhere, "By rate")).to_be_visible()
    expect(elsewhere.get_by_label("Group:")).to_have_value("")
    expect(size(elsewhere, "Large")).to_have_attribute("aria-pressed", "true")
    choose(page, "Reset to the saved view")
    expect(page.get_by_label("Group:")).to_have_value("config.lr")
    expect(page.get_by_text("Edited", exact=True)).to_have_count(0)
    choose(page, "Rename…")
    page.get_by_role("textbox", name="Name").fill("By learning rate")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(button(page, "By learning rate")).to_be_visible()
    # The same person elsewhere hears of all of it.
    expect(button(elsewhere, "By learning rate")).to_be_visible()
    expect(elsewhere.get_by_label("Group:")).to_have_value("config.lr")
    choose(page, "Duplicate")
    expect(button(page, "Copy of By learning rate")).to_be_visible()
    assert names(server) == ["By learning rate", "Copy of By learning rate"]
    choose(page, "Delete…")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(button(page, "My workspace")).to_be_visible()
    wait_until(lambda: names(server) == ["By learning rate"])


def test_a_view_of_the_team_is_a_short_link_and_the_default(page: Page, server: Served, elsewhere: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_label("Group:").select_option("config.lr")
    save_as(page, "For all", is_team=True)
    choose(page, "Set as the project's default")
    wait_until(lambda: server.get("/views", project="vision")["default"] != "")
    choose(page, "Copy link to this view")
    expect(page.get_by_text("Link copied.")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"/p/vision\?view=\w{8}$", link)
    elsewhere.goto(link)
    expect(button(elsewhere, "For all")).to_be_visible()
    expect(elsewhere.get_by_label("Group:")).to_have_value("config.lr")
    size(page, "Large").click()
    expect(page.get_by_text("Edited", exact=True)).to_be_visible()
    choose(page, "Copy link to this view")
    wait_until(lambda: "size=l" in page.evaluate("navigator.clipboard.readText()"))
    elsewhere.goto(f"{server.address}/p/vision?view=no-such")
    expect(elsewhere.get_by_text("This view is not there")).to_be_visible()
    expect(button(elsewhere, "My workspace")).to_be_visible()


def test_two_tabs_merge_what_they_change_and_each_hears_of_the_other(
    page: Page, server: Served, elsewhere: Page
) -> None:
    elsewhere.goto(f"{server.address}/p/vision")
    expect(elsewhere.get_by_role("article", name="train/loss")).to_contain_text("2 runs")
    page.get_by_label("Group:").select_option("config.lr")
    expect(elsewhere.get_by_label("Group:")).to_have_value("config.lr")
    expect(elsewhere.get_by_text("Changed elsewhere: grouping.")).to_be_visible()
    size(elsewhere, "Large").click()
    expect(size(page, "Large")).to_have_attribute("aria-pressed", "true")
    wait_until(lambda: kept(server) == {"": {"group": "config.lr", "size": "l"}})
    # The later change of the same setting holds, and can be taken back where it came as a surprise.
    elsewhere.get_by_label("Group:").select_option("")
    expect(page.get_by_label("Group:")).to_have_value("")
    page.get_by_role("status").filter(has_text="grouping").get_by_role("button", name="Undo").last.click()
    expect(page.get_by_label("Group:")).to_have_value("config.lr")
    expect(elsewhere.get_by_label("Group:")).to_have_value("config.lr")
    wait_until(lambda: kept(server) == {"": {"group": "config.lr", "size": "l"}})


def test_what_was_changed_is_undone_and_redone_by_keys(page: Page, server: Served) -> None:
    page.get_by_label("Group:").select_option("config.lr")
    size(page, "Large").click()
    wait_until(lambda: kept(server) == {"": {"group": "config.lr", "size": "l"}})
    page.keyboard.press("Control+z")
    expect(size(page, "Middle")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Control+z")
    expect(page.get_by_label("Group:")).to_have_value("")
    wait_until(lambda: kept(server) == {})
    page.keyboard.press("Control+z")
    expect(page.get_by_text("Nothing to undo.")).to_be_visible()
    page.keyboard.press("Control+Shift+z")
    page.keyboard.press("Control+y")
    expect(page.get_by_label("Group:")).to_have_value("config.lr")
    expect(size(page, "Large")).to_have_attribute("aria-pressed", "true")
    wait_until(lambda: kept(server) == {"": {"group": "config.lr", "size": "l"}})
    # In a field the browser undoes what was typed there.
    page.get_by_label("Search metrics").focus()
    page.keyboard.type("loss")
    page.keyboard.press("Control+z")
    expect(page.get_by_label("Group:")).to_have_value("config.lr")


def test_a_view_that_is_too_long_for_an_address_stays_all_the_same(page: Page, server: Served, elsewhere: Page) -> None:
    order = ",".join(f"metric-{number}" for number in range(1000))
    server.http.patch("/views", json={"project": "vision", "edits": {"": {"order": order, "size": "l"}}})
    expect(size(page, "Large")).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("/p/vision$"))
    page.reload()
    expect(size(page, "Large")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="quick", exact=True).click()
    expect(page).to_have_url(re.compile("/r/"))
    page.go_back()
    expect(size(page, "Large")).to_have_attribute("aria-pressed", "true")
    choose(page, "Copy link to this view")
    expect(page.get_by_text("too long for a link")).to_be_visible()
    assert kept(server)[""]["order"] == order


def test_an_answer_that_comes_late_changes_nothing_on_the_next_page(page: Page, server: Served) -> None:
    held: list[Route] = []
    page.route(
        re.compile(r"/views(\?|$)"),
        lambda route: held.append(route) if route.request.method == "PATCH" else route.continue_(),
    )

    def is_held() -> bool:
        page.wait_for_timeout(20)  # only then does Playwright hand it over
        return bool(held)

    size(page, "Large").click()
    wait_until(is_held)
    page.get_by_role("link", name="quick", exact=True).first.click()
    expect(page.get_by_role("heading", name="quick", exact=True)).to_be_visible()
    with page.expect_response(re.compile(r"/views(\?|$)")):
        held[0].continue_()
    wait_until(lambda: kept(server).get("", {}).get("size") == "l")
    page.wait_for_timeout(100)
    assert "size=" not in page.url
    expect(page.get_by_text("Changed elsewhere")).to_have_count(0)
