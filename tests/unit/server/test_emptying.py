"""What was deleted, and nobody had back in time, is gone for good, also where the server ended meanwhile."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from holter.catalog.change.trash import Trash
from holter.server.domain.emptying import empty_later
from holter.server.domain.services import ServerSettings, Services
from holter.storage.places import Places


class Timers(list[Callable[[], None]]):
    """Timers that a test lets go off."""

    def __call__(self, wait_s: float, work: Callable[[str], None], given: tuple[str]) -> "Timers":
        self.append(lambda: work(*given))
        return self

    def start(self) -> None:
        """Nothing happens by itself."""


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch) -> Timers:
    made = Timers()
    monkeypatch.setattr("holter.server.domain.emptying.threading", SimpleNamespace(Timer=made))
    monkeypatch.setattr("holter.server.domain.emptying._waiting", set())
    return made


def hidden(tmp_path: Path, run: str) -> None:
    (tmp_path / "runs" / run).mkdir(parents=True)
    Trash(str(tmp_path)).hide(run)


def test_many_deletions_wait_together(tmp_path: Path, timers: Timers, monkeypatch: pytest.MonkeyPatch) -> None:
    for run in ("r1", "r2"):
        hidden(tmp_path, run)
        empty_later(str(tmp_path))
    assert len(timers) == 1
    timers[0]()
    assert len(timers) == 2  # it was too early: both can still be had back
    monkeypatch.setattr("holter.catalog.change.trash.KEPT_S", 0.0)
    timers[1]()
    assert (list((tmp_path / "runs").iterdir()), len(timers)) == ([], 2)


def test_what_an_ended_server_left_is_removed_by_the_next_one(
    tmp_path: Path, timers: Timers, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden(tmp_path, "r1")
    services = Services(ServerSettings(data=str(tmp_path), places=Places.at("memory:"), token="t"), {})
    services.open()
    services.close()
    monkeypatch.setattr("holter.catalog.change.trash.KEPT_S", 0.0)
    for each in list(timers):
        each()
    assert list((tmp_path / "runs").iterdir()) == []
