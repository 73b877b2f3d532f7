"""The page of one run: alive, dying, dead, marked, and with everything hostile that a run may carry."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import serious_findings
from tests.browser.crowds import write_notebook, write_vanished
from tests.browser.gallery import gallery_in
from tests.browser.talking import HOSTILE, begin_talk, record_talk
from tests.browser.training import begin, record
from tests.browser.watched import Watched
from tests.e2e.programs import data_directory, wait_until
from tests.e2e.servers import Served

TABS = ("overview", "charts", "system", "logs", "files", "diagnosis")


def badge(page: Page, word: str) -> Locator:
    return page.locator("header.head .badge").filter(has_text=word)


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("navigation", name="Parts of the run").get_by_role("link", name=name)


def is_known(server: Served, run: str) -> bool:
    return server.http.get(f"/runs/{run}").status_code == 200


class Gallery(NamedTuple):
    """Runs to look at in the project `vision`: who changes one needs another, in a project of its own."""

    server: Served
    killed: str
    finished: str
    talk: str


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        killed = record(server, N="killed", KILL="1", PAUSE="0.01")
        finished = record(server, N="fine", PAUSE="0.02")
        yield Gallery(server, killed, finished, record_talk(server, N="files"))


@pytest.fixture
def server(gallery: Gallery, monkeypatch: pytest.MonkeyPatch) -> Served:
    """That of the gallery; what is recorded now is seen there."""
    monkeypatch.setenv("HOLTER_DIR", gallery.server.home)
    return gallery.server


@pytest.fixture
def killed(server: Served) -> str:
    """A run that may be changed, of the project `own`."""
    return record(server, N="killed", KILL="1", P="own")


def test_a_dead_run_opens_on_its_diagnosis_and_a_finished_one_on_its_charts(watched: Watched, gallery: Gallery) -> None:
    page = watched.open(f"/p/vision/r/{gallery.killed}")
    expect(tab(page, "Diagnosis")).to_have_attribute("aria-current", "page")
    page = watched.open(f"/p/vision/r/{gallery.finished}")
    expect(tab(page, "Charts")).to_have_attribute("aria-current", "page")
    expect(page.get_by_role("article", name="train/loss")).to_be_visible()


def test_the_trail_and_the_title_have_the_runs_name(watched: Watched, killed: str) -> None:
    page = watched.open(f"/p/own/r/{killed}")
    expect(page).to_have_title("killed · own · Holter")
    trail = page.get_by_role("navigation", name="Where you are")
    expect(trail).to_have_text(re.compile(r"^\s*holter\s*/\s*own\s*/\s*runs\s*/\s*killed\s*$"))
    page.get_by_role("button", name="Menu of killed").click()
    page.get_by_role("menuitem", name="Rename…").click()
    page.get_by_role("textbox", name="Name").fill("brave new name")
    page.get_by_role("button", name="Save").click()
    expect(trail).to_contain_text("brave new name")
    expect(page).to_have_title("brave new name · own · Holter")


def test_the_diagnosis_says_why_how_sure_what_to_do_and_what_it_was_not(watched: Watched, gallery: Gallery) -> None:
    page = watched.open(f"/p/vision/r/{gallery.killed}/diagnosis")
    verdict = page.get_by_role("region", name=re.compile("SIGKILL"))
    expect(verdict).to_contain_text(re.compile(r"(Very likely|Almost certain) · \d signals? agree"))
    verdict.get_by_text("why?").click()
    expect(verdict).to_contain_text("exit status")
    words = page.get_by_role("region", name="Last words")
    expect(words).to_contain_text(re.compile(r"SIGKILL ended process \d+, no Python traceback"))
    expect(words).to_contain_text("all 200 rows kept")
    expect(page.get_by_role("region", name="Try this")).to_contain_text(f"HOLTER_RUN_ID={gallery.killed}")
    expect(page.get_by_role("region", name="What happened").get_by_role("listitem").first).to_contain_text("started")
    expect(page.get_by_role("region", name="Not the cause")).to_contain_text("Host out of memory")
    expect(page.get_by_role("region", name="The same cause")).to_contain_text("it is the first")


def test_the_diagnosis_of_a_notebook_shows_the_cell_in_which_it_ended(watched: Watched, server: Served) -> None:
    write_notebook("book0001", project="books", cell="for batch in loader:\n    train(batch)  # <b>")
    wait_until(lambda: is_known(server, "book0001"))
    page = watched.open("/p/books/r/book0001/diagnosis")
    cell = page.get_by_role("region", name=re.compile(r"^Cell In\[12\], after "))
    expect(cell.locator("pre")).to_have_text("for batch in loader:\n    train(batch)  # <b>")


def test_the_diagnosis_of_a_native_crash_shows_where_it_was(watched: Watched, server: Served) -> None:
    page = watched.open(f"/p/own/r/{record(server, N='faults', FAULT='1', P='own')}/diagnosis")
    stack = page.get_by_role("region", name="Where it was")
    expect(stack).to_contain_text(re.compile(r"line \d+ in string_at\s+File \"<string>\", line \d+ in <module>"))
    expect(stack).not_to_contain_text("way_back")


def test_the_same_cause_in_another_run_is_a_link_away(watched: Watched, server: Served, killed: str) -> None:
    record(server, N="killed too", KILL="1", P="own")
    page = watched.open(f"/p/own/r/{killed}")
    page.get_by_role("region", name="The same cause").get_by_role("link", name="killed too").click()
    expect(page.get_by_role("heading", name="killed too")).to_be_visible()
    expect(tab(page, "Diagnosis")).to_have_attribute("aria-current", "page")


def test_a_healthy_run_says_its_closest_call(watched: Watched, gallery: Gallery) -> None:
    page = watched.open(f"/p/vision/r/{gallery.finished}/diagnosis")
    expect(page.get_by_role("region", name="Finished normally.")).to_contain_text(re.compile("Closest call: .*limit"))
    expect(page.get_by_role("region", name="Try this")).to_have_count(0)


def test_where_the_cause_is_unknown_it_says_what_is_known(
    watched: Watched, server: Served, take: Callable[[str], None]
) -> None:
    write_vanished("vanished", project="own")
    wait_until(lambda: server.http.get("/runs/vanished").json().get("cause") == "unknown", within_s=60)
    page = watched.open("/p/own/r/vanished")
    verdict = page.get_by_role("region", name="Cause unknown: Why process 100 ended is unclear")
    expect(verdict).to_contain_text("It may have been killed or killed by SIGTERM.")
    expect(verdict).to_contain_text("This is all that is known; nothing is made up.")
    expect(verdict).not_to_contain_text(re.compile("likely|certain", re.IGNORECASE))
    expect(page.get_by_role("region", name="What could not be seen").get_by_role("listitem").first).to_be_visible()
    expect(page.get_by_role("region", name="Last words")).to_contain_text("all 5 rows kept")
    expect(page.get_by_role("region", name="The same cause")).to_have_count(0)
    take("run-unknown")
    assert serious_findings(page) == []
    verdict.get_by_role("button", name="Do you know?").click()
    dialog = page.get_by_role("dialog", name="What was it?")
    expect(dialog).to_contain_text("Holter does not know. Your word will stand beside that")
    expect(dialog.get_by_role("option").first).to_contain_text("Killed")
    expect(dialog.get_by_role("option").nth(1)).to_contain_text("Killed by SIGTERM")


def test_the_overview_has_all_that_was_given_and_came_out(watched: Watched, server: Served) -> None:
    found = record(server, N="first try", LR="0.25", TAGS="best", P="own")
    record(server, HOLTER_RUN_ID=found, HOLTER_RESUME="allow", N="first try", LR="0.25", STEPS="300", P="own")
    page = watched.open(f"/p/own/r/{found}/overview")

    def part(name: str) -> Locator:
        return page.get_by_role("region", name=re.compile(f"^{name}"))

    expect(part("Configuration").get_by_role("row").filter(has_text="lr")).to_contain_text("0.25")
    expect(part("Configuration").get_by_role("row").filter(has_text="model.layers")).to_contain_text("4")
    expect(part("Summary").get_by_role("row").filter(has_text="val/loss")).to_have_count(1)
    expect(part("Environment")).to_contain_text(re.compile(r"Python.*3\.\d+"))
    expect(part("Command")).to_contain_text("python")
    expect(part("Git")).to_contain_text(re.compile(r"commit|outside a git work tree", re.IGNORECASE))
    expect(part("Packages")).to_contain_text(re.compile(r"· \d+"))
    expect(part("Run")).to_contain_text(found)
    attempts = part("Attempts").get_by_role("row")
    expect(attempts).to_have_count(3)
    expect(attempts.nth(2)).to_contain_text("Finished")
    search = page.get_by_label("Search in summary")
    if search.count():
        search.fill("val/")
        expect(part("Summary").get_by_role("row")).to_have_count(1)


def test_a_death_appears_with_its_cause_on_an_open_page(watched: Watched, server: Served) -> None:
    program, found = begin(N="doomed", P="own")
    with program:
        wait_until(lambda: is_known(server, found), within_s=60)
        page = watched.open(f"/p/own/r/{found}")
        expect(badge(page, "Running")).to_be_visible()
        expect(page.get_by_role("article", name="train/loss")).to_be_visible()
        program.kill()
        note = page.get_by_role("status").filter(has_text="SIGKILL")
        expect(note).to_be_visible()
        expect(badge(page, "Crashed")).to_be_visible()
    expect(tab(page, "Charts")).to_have_attribute("aria-current", "page")
    note.get_by_role("link", name="Diagnosis").click()
    expect(page.get_by_role("region", name=re.compile("SIGKILL"))).to_be_visible()


def test_mark_as_failed_by_keyboard_and_take_it_back(watched: Watched, killed: str) -> None:
    page = watched.open(f"/p/own/r/{killed}/diagnosis")
    expect(badge(page, "Crashed")).to_be_visible()
    page.keyboard.press("m")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="How did it end?")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Reason").focus()
    page.keyboard.type("the disk was bad")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(badge(page, "Failed")).to_be_visible()
    mark = page.get_by_role("region", name="Mark")
    expect(mark).to_contain_text("the disk was bad")
    expect(mark).to_contain_text("Holter's own verdict is crashed")
    mark.get_by_role("button", name="Remove the mark").click()
    expect(badge(page, "Crashed")).to_be_visible()
    expect(mark).to_have_count(0)


def test_mark_as_failed_by_mouse_and_undo(watched: Watched, killed: str) -> None:
    page = watched.open(f"/p/own/r/{killed}")
    page.get_by_role("button", name="Menu of killed").click()
    page.get_by_role("menuitem", name="Mark as failed…").click()
    page.get_by_label("Reason").fill("bad batch")
    page.get_by_role("button", name="Mark as failed").click()
    expect(badge(page, "Failed")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(badge(page, "Crashed")).to_be_visible()


def test_who_knows_better_says_so_by_keyboard_and_takes_it_back(
    watched: Watched, killed: str, take: Callable[[str], None]
) -> None:
    page = watched.open(f"/p/own/r/{killed}/diagnosis")
    verdict = page.get_by_role("region", name=re.compile("SIGKILL"))
    verdict.get_by_role("button", name="Wrong?").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="What was it?")
    expect(dialog.get_by_role("combobox", name="Cause")).to_be_focused()
    expect(dialog).to_contain_text("Holter says: Killed.")
    expect(dialog.get_by_role("option", name=re.compile("^Killed (?!by)"))).to_have_count(0)
    take("run-wrong-form")
    page.keyboard.type("gpu mem")
    expect(dialog.get_by_role("option").first).to_contain_text("GPU out of memory")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(verdict.get_by_role("button", name="Wrong?")).to_be_focused()
    page.keyboard.press("w")
    page.keyboard.type("gpu mem")
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("How do you know?")).to_be_focused()
    page.keyboard.type("nvidia-smi showed <b>79</b> of 80 GB")
    take("run-wrong-filled")
    assert serious_findings(page) == []
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    word = verdict.get_by_role("complementary", name="What a person says")
    expect(word).to_contain_text(re.compile(r"\w+ says: GPU out of memory\s+nvidia-smi showed <b>79</b> of 80 GB"))
    expect(verdict).to_contain_text(re.compile("Very likely|Almost certain"))
    expect(verdict.get_by_role("button", name="Wrong?")).to_have_count(0)
    take("run-wrong-said")
    assert serious_findings(page) == []
    tab(page, "Charts").click()
    expect(page.get_by_role("status").filter(has_text="SIGKILL")).to_contain_text("says: GPU out of memory")
    tab(page, "Diagnosis").click()
    word.get_by_role("button", name="Take back").click()
    expect(word).to_have_count(0)
    expect(verdict.get_by_role("button", name="Wrong?")).to_be_visible()


def test_a_word_that_is_not_whole_or_not_taken_is_not_lost(
    watched: Watched, killed: str, take: Callable[[str], None]
) -> None:
    watched.page.set_viewport_size({"width": 400, "height": 800})
    watched.expect_errors("503")
    page = watched.open(f"/p/own/r/{killed}/diagnosis")
    page.get_by_role("button", name="Wrong?").click()
    dialog = page.get_by_role("dialog", name="What was it?")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_have_text(
        ["Choose a cause, or “Something else”", "Say how you know, for those who wonder later"]
    )
    expect(dialog.get_by_role("combobox")).to_be_focused()
    take("run-wrong-missing-narrow")
    dialog.get_by_role("combobox").fill("gremlins")
    expect(dialog).to_contain_text("No cause has that in its name.")
    dialog.get_by_role("option", name=re.compile("^Something else")).click()
    dialog.get_by_label("How do you know?").fill("a cleaning robot pulled the plug")
    broken = {"error": {"what": "it could not be written down", "why": "the disk is full", "do": "make room"}}
    page.route("**/marks", lambda route: route.fulfill(status=503, json=broken))
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("it could not be written down")
    take("run-wrong-refused-narrow")
    page.unroute("**/marks")
    dialog.get_by_role("button", name="Save").click()
    word = page.get_by_role("complementary", name="What a person says")
    expect(word).to_contain_text("says: something else")
    take("run-wrong-said-narrow")
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_every_tab_has_an_address_of_its_own(watched: Watched, gallery: Gallery) -> None:
    for name in TABS:
        page = watched.open(f"/p/vision/r/{gallery.killed}/{name}")
        expect(tab(page, name.capitalize())).to_have_attribute("aria-current", "page")
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile("/health$"))
    guards = page.get_by_role("region", name="Guards")
    expect(guards).to_contain_text("10 watched this run")
    expect(guards.get_by_role("row", name=re.compile("GPU"))).to_contain_text(["– No GPU", "– No GPU"])
    page.go_back()
    expect(tab(page, "Diagnosis")).to_have_attribute("aria-current", "page")


def test_names_tags_logs_and_files_stay_inert(watched: Watched, server: Served, take: Callable[[str], None]) -> None:
    found = record_talk(server, N=HOSTILE, TAG=HOSTILE, RAISE=HOSTILE)
    directory = data_directory() / "runs" / found
    (directory / "report.html").write_text(
        "<script>document.title = 'framed'; parent.document.title = 'out'</script>hi"
    )
    (directory / "image.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=1"/>')
    (directory / f"{HOSTILE.replace('/', '')}.txt").write_text(HOSTILE)
    for name in TABS:
        page = watched.open(f"/p/talk/r/{found}/{name}")
        expect(page.get_by_role("heading", name=HOSTILE, exact=True)).to_be_visible()
        expect(page.locator("main img, main script, main b")).to_have_count(0)
        assert page.title().endswith("Holter")
    take("hostile-diagnosis")
    watched.expect_errors("sandboxed", "Content Security Policy", "Blocked script execution")
    for file in ("report.html", "image.svg"):
        page = watched.open(f"/p/talk/r/{found}/files?file={file}")
        expect(page.get_by_role("region", name=file)).to_be_visible()
        page.wait_for_timeout(300)
        assert page.title().endswith("Holter")


def test_files_are_shown_the_logs_first_and_can_be_saved(watched: Watched, gallery: Gallery, tmp_path: Path) -> None:
    page = watched.open(f"/p/talk/r/{gallery.talk}/files")
    names = page.get_by_role("navigation", name="Files").get_by_role("button")
    for place, name in enumerate(("output.log", "debug.log", "debug-internal.log")):
        expect(names.nth(place)).to_contain_text(name)
    shown = page.get_by_role("region", name="output.log")
    expect(shown).to_contain_text("<b>not bold</b>")
    expect(shown).to_contain_text("progress 100 %")
    expect(shown).not_to_contain_text("progress  50 %")
    with page.expect_download() as saved:
        shown.get_by_role("link", name="Download").click()
    saved.value.save_as(tmp_path / "saved.log")
    assert b"line 299 of the loss" in (tmp_path / "saved.log").read_bytes()


def test_every_tab_in_both_themes_is_open_to_everyone(
    watched: Watched, gallery: Gallery, take: Callable[[str], None]
) -> None:
    findings = {}
    for name in TABS:
        page = watched.open(f"/p/vision/r/{gallery.killed}/{name}")
        expect(tab(page, name.capitalize())).to_have_attribute("aria-current", "page")
        page.wait_for_timeout(700)
        take(f"run-{name}")
        for theme in ("dark", "light"):
            page.emulate_media(color_scheme=theme)
            findings[f"{name} {theme}"] = serious_findings(page)
    assert {name: each for name, each in findings.items() if each} == {}


def test_in_a_narrow_window_nothing_is_cut_off(watched: Watched, gallery: Gallery, take: Callable[[str], None]) -> None:
    watched.page.set_viewport_size({"width": 420, "height": 860})
    for name in TABS:
        page = watched.open(f"/p/vision/r/{gallery.killed}/{name}")
        expect(tab(page, name.capitalize())).to_have_attribute("aria-current", "page")
        page.wait_for_timeout(400)
        assert page.evaluate("document.documentElement.scrollWidth") <= 420, name
    take("run-diagnosis-narrow")


def test_a_run_that_is_not_there_is_said(watched: Watched) -> None:
    watched.expect_errors("404")
    page = watched.open("/p/vision/r/nothere0")
    expect(page.get_by_role("alert")).to_contain_text("nothere0")


def test_notes_are_written_and_kept(watched: Watched, killed: str) -> None:
    page = watched.open(f"/p/own/r/{killed}/overview")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Notes").last.fill("<b>check</b> the cooling")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("<b>check</b> the cooling")).to_be_visible()
    page.reload()
    expect(page.get_by_text("<b>check</b> the cooling")).to_be_visible()


def test_a_living_run_shows_its_newest_lines_and_steps(watched: Watched, server: Served) -> None:
    program, found = begin_talk(N="alive")
    with program:
        wait_until(lambda: is_known(server, found), within_s=60)
        page = watched.open(f"/p/talk/r/{found}/logs")
        expect(page.get_by_text(re.compile("still here")).last).to_be_visible()
        before = page.locator(".line .number").last.inner_text()
        expect(page.locator(".line .number").last).not_to_have_text(before)
        expect(page.get_by_role("button", name="● Following")).to_be_visible()
        program.kill()
    expect(badge(page, "Crashed")).to_be_visible()
