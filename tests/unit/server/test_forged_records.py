"""Every field of every record at its extremes: no forged run harms another, and none ends in a traceback."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holter.cli.main import main
from holter.model.clock import Clock
from holter.model.state import UNREADABLE
from holter.server.domain.services import ServerSettings, Services
from holter.server.ingest.rebuilding import rebuild
from holter.storage.opening import open_storage
from holter.storage.runs import PLAIN_FIELDS
from tests.unit.server.asking_all import Page
from tests.unit.server.forged_data import ForgedData, forge, is_well

HOUR_NS = 3600 * 1_000_000_000


class Later(Clock):
    """An hour on: everybody who is late is so by then."""

    def now_ns(self) -> int:
        return super().now_ns() + HOUR_NS


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> ForgedData:
    return forge(tmp_path_factory.mktemp("forged"), every=4)


@pytest.fixture(scope="module")
def services(forged: ForgedData) -> Iterator[Services]:
    found = Services(ServerSettings(data=forged.data, kind="server"), {})
    found.follower._tick()
    while found.ingest.is_behind:
        found.follower._tick()
    yield found
    found.close()


def test_there_are_enough_kinds(forged: ForgedData) -> None:
    assert forged.kinds >= 500
    assert forged.refused == 0


def test_what_is_taken_in_beside_them_is_exact(services: Services) -> None:
    assert is_well(services.storage)


def test_what_cannot_be_shown_says_so_and_there_is_little_of_it(services: Services, forged: ForgedData) -> None:
    kinds = {each.run: each.kinds[0] for each in forged.runs}
    unreadable = {kinds[run].partition("=")[0] for run in services.ingest.unreadable}
    assert {each.partition(".")[0] for each in unreadable} == {"Opened", "header"}
    assert len(services.ingest.unreadable) < len(forged.runs) * 0.1
    for run, because in services.ingest.unreadable.items():
        row = services.storage.runs.get(run)
        assert row is not None
        assert (row.state, row.because) == (UNREADABLE, because)


def test_the_page_says_why_a_run_cannot_be_shown(services: Services) -> None:
    page = Page(services)
    of_all = {route.path: route for route in page.of_all}
    of_a_run = {route.path: route for route in page.of_a_run}
    told = msgspec.json.decode(page.ask(of_all["/info"]))["unreadable"]
    assert told == dict(list(services.ingest.unreadable.items())[:100])
    listed = msgspec.json.decode(page.ask(of_all["/runs"], query={"filter": "state = unreadable", "limit": "1000"}))
    assert {run["id"]: run["trouble"] for run in listed["runs"]} == services.ingest.unreadable
    for run, because in told.items():
        shown = msgspec.json.decode(page.ask(of_a_run["/runs/{run}"], run=run))
        assert (shown["state"], shown["trouble"], shown["because"]) == (UNREADABLE, because, because)


def test_an_index_made_again_has_all_of_them(forged: ForgedData, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'index'}"
    rebuilt = rebuild(forged.data, url, clock=Later())
    storage = open_storage(url)
    assert is_well(storage)
    # A writer that nobody knows is no program, and without one there is no run yet.
    assert {each.run for each in forged.runs if "Opened.writer" not in each.kinds[0]} <= storage.runs.seen().keys()
    assert rebuilt.runs == len(storage.runs.seen())
    storage.close()


def test_the_page_shows_each_of_them(services: Services, forged: ForgedData) -> None:
    page = Page(services)
    for place, each in enumerate(forged.runs):
        for route in page.of_a_run:
            # A verdict takes some milliseconds; the verdicts is asked for all of them elsewhere.
            if not route.path.endswith("/verdict") or place % 8 == 0:
                page.ask(route, run=each.run)
        page.draw(each.run, ("step", "time", "relative", "v")[place % 4], group="config.x" if place % 8 > 3 else "")


def test_the_page_shows_all_of_them_together(services: Services, forged: ForgedData) -> None:
    page = Page(services)
    for route in page.of_all:
        page.ask(route)
    table = next(route for route in page.of_all if route.path == "/runs")
    for field in (*PLAIN_FIELDS, "config.x", "summary.v"):
        said = page.ask(table, query={"sort": f"-{field}", "limit": "10000", "columns": "config,summary"})
        runs = {run["id"] for run in msgspec.json.decode(said)["runs"]}
        assert len(runs) == len(services.storage.runs.seen())
        assert "well" in runs


def test_the_command_line_lists_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = forge(tmp_path, every=40)  # of those that died, it writes down what is missing
    monkeypatch.setenv("HOLTER_DIR", forged.data)
    assert main(["ls", "-n", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[1:] and "well" in line for line in lines)
    assert len(lines) > len(forged.runs) * 0.9
    assert main(["ls", "--json"]) == 0
