"""NaN and the infinities are values: they are shown as such, and never as if nothing had been logged."""

import math
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from holter.model.records import Finished
from tests.browser.gallery import forget_settings, gallery_in
from tests.browser.watched import Watched
from tests.e2e.programs import data_directory, wait_until
from tests.e2e.servers import Served
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead, named

LOSSES = {"low": 0.25, "nan": math.nan, "up": math.inf, "down": -math.inf, "high": 4.0, "never": None}


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs that have ended, with the last loss of each."""
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        for name, loss in LOSSES.items():
            journal = Journal(data_directory() / "runs" / f"run-{name}", dead()).say(named(name, "odd"))
            journal.log([0], loss=1.0) if loss is not None else journal.log([0], other=1.0)
            journal.log([1], loss=loss) if loss is not None else None
            journal.say(Finished(at_ns=BEGAN_NS + 10_000_000_000, exit_code=0)).close()
        wait_until(lambda: server.get("/runs", project="odd")["total"] == len(LOSSES))
        yield server


@pytest.fixture
def visitor(stranger: Watched, gallery: Served) -> Watched:
    stranger.come_to(gallery)
    forget_settings(gallery)
    return stranger


def losses(page: Page) -> list[tuple[str, str]]:
    rows = page.get_by_role("row").filter(has=page.get_by_role("link"))
    return [(name.strip(), loss.strip()) for name, loss in (_cells(each) for each in rows.all())]


def _cells(row: Locator) -> list[str]:
    return [row.get_by_role("link").inner_text(), row.get_by_role("cell").nth(2).inner_text()]


@pytest.mark.parametrize(("sort", "finite"), [("", ["low", "high"]), ("-", ["high", "low"])], ids=["up", "down"])
def test_the_table_shows_them_behind_all_that_can_be_compared(
    visitor: Watched, *, sort: str, finite: list[str], take: Callable[[str], None]
) -> None:
    page = visitor.open(f"/p/odd?cols=summary.loss&sort={sort}summary.loss")
    expect(page.get_by_role("row")).to_have_count(len(LOSSES) + 1)
    infinite = [("down", "−Inf"), ("up", "Inf")]
    wanted = [(name, {"low": "0.2500", "high": "4.0000"}[name]) for name in finite]
    assert losses(page) == [*wanted, *(infinite if not sort else infinite[::-1]), ("nan", "NaN"), ("never", "–")]
    odd = page.locator(".odd")
    expect(odd).to_have_count(3)
    plain = page.get_by_role("cell", name="0.25").evaluate("each => getComputedStyle(each).color")
    assert odd.first.evaluate("each => getComputedStyle(each).color") != plain
    take("odd-numbers-table")


def test_a_run_shows_them_in_its_overview(visitor: Watched) -> None:
    for name, text in (("nan", "NaN"), ("up", "Inf"), ("down", "−Inf")):
        page = visitor.open(f"/p/odd/r/run-{name}/overview")
        row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="loss", exact=True))
        expect(row.get_by_role("cell")).to_have_text(text)
        expect(row.locator(".odd")).to_have_count(1)


def test_compared_runs_show_them_apart_from_what_was_never_logged(
    visitor: Watched, take: Callable[[str], None]
) -> None:
    chosen = ",".join(f"run-{name}" for name in ("low", "nan", "up", "down", "never"))
    page = visitor.open(f"/p/odd/compare?runs={chosen}&all=1")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="loss", exact=True)).first
    expect(row.get_by_role("cell")).to_have_text(["0.25", "NaN", "Inf", "−Inf", "–"])
    take("odd-numbers-compare")
