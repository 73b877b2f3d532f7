"""An index that is behind judges nobody: heard is when the wire heard."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holter.catalog.read.loaded_run import LoadedRun, put_together
from holter.journal.digest import Digest
from holter.model.state import Lateness
from holter.server.ingest import followed_run, ingest
from holter.server.ingest.backlog import Backlog, Lag
from holter.server.ingest.ingest import Ingest
from holter.storage.journals import Part
from holter.storage.opening import Storage, open_storage
from holter.storage.runs import RunQuery
from tests.clocks import FakeClock
from tests.unit.server.remote import RemoteJournal, send

LATENESS = Lateness(stale_s=15, crashed_s=60)


class Far:
    """Some runs far away, and a server that hears them; its index moves only when the test says so."""

    def __init__(self, folder: Path, runs: int = 1) -> None:
        self.clock = FakeClock()
        self.storage: Storage = open_storage("memory:")
        self.ingest = Ingest(str(folder / "data"), self.storage, clock=self.clock, lateness=LATENESS)
        self.runs = [RemoteJournal(folder / f"far{n}", f"r{n}", clock=self.clock) for n in range(runs)]
        self.have = [0] * runs
        for run in self.runs:
            run.describe()

    def send(self, rows: int = 1) -> None:
        for place, run in enumerate(self.runs):
            run.log(rows)
            self.have[place] = send(self.ingest, run, have=self.have[place])

    def read_all(self) -> None:
        self.ingest.tick()
        while self.ingest.is_behind:
            self.ingest.tick()

    def states(self) -> set[tuple[str, bool]]:
        query = RunQuery(now_ns=self.clock.ns, lateness=self.ingest.lateness)
        return {(each.state, each.is_stale) for each in self.storage.runs.query(query).runs}


def test_a_run_that_sends_is_alive_however_far_the_index_is_behind(tmp_path: Path) -> None:
    far = Far(tmp_path)
    far.send()
    far.read_all()
    for _ in range(60):
        far.clock.advance(5)
        far.send()
        assert far.states() == {("running", False)}
    assert far.ingest.lag.seconds == 295
    assert far.ingest.lag.messages == 60
    assert far.ingest.lag.bytes > 60 * 44
    far.read_all()
    assert (far.states(), far.ingest.lag) == ({("running", False)}, Lag())


def test_silence_counts_from_when_the_last_message_came_not_from_when_it_was_read(tmp_path: Path) -> None:
    far = Far(tmp_path)
    far.send()
    far.clock.advance(50)
    far.read_all()
    assert far.states() == {("running", True)}
    far.clock.advance(11)
    far.read_all()
    assert far.states() == {("crashed", False)}


def test_who_died_while_the_index_was_behind_is_late_when_it_has_caught_up(tmp_path: Path) -> None:
    far = Far(tmp_path)
    far.send()
    far.read_all()
    far.clock.advance(1)
    far.send()
    far.clock.advance(70)
    assert far.states() == {("running", False)}
    far.read_all()
    assert far.states() == {("crashed", False)}


def test_nothing_is_judged_while_the_index_is_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    far = Far(tmp_path, runs=20)
    far.send()
    far.read_all()
    judged: list[str] = []

    def noting(directory: str, found: Sequence[Digest], **rest: Any) -> LoadedRun | None:
        judged.append(directory)
        return put_together(directory, found, **rest)

    monkeypatch.setattr(followed_run, "put_together", noting)
    monkeypatch.setattr(ingest, "READ_S", -1.0)  # one run for each tick
    for _ in range(100):
        far.clock.advance(5)
        far.send()
        far.ingest.tick()
        assert far.states() == {("running", False)}
    assert far.ingest.is_behind
    assert judged == []


def test_what_could_not_be_read_waits_on(tmp_path: Path) -> None:
    backlog = Backlog()
    part = Part(run="a", name="0" * 32, offset=0, data=b"0123456789")
    backlog.add(part, 1_000_000_000)
    assert backlog.take() == {"a"}
    backlog.add(part, 2_000_000_000)
    backlog.put_back(["a"])
    assert backlog.lag(4_000_000_000) == Lag(seconds=3.0, messages=2, bytes=20)
    assert backlog.take() == {"a"}
    assert backlog.heard("a") == (2_000_000_000, [part, part])
    backlog.done("a")
    assert backlog.lag(4_000_000_000) == Lag()
