"""What arrives is in the ports, once, in order, also after restarts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.catalog.change.deletions import Deletion, Deletions
from holter.console.files import STDERR, STDOUT
from holter.console.transcript import TranscriptWriter
from holter.errors import StorageFailing, StorageFull
from holter.model.clock import Clock
from holter.model.records import Alerted, Edited, Finished
from holter.model.state import Lateness
from holter.server.ingest.copies import CopiedRuns
from holter.server.ingest.followed_run import FollowedRun
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.rebuilding import rebuild
from holter.server.ingest.run_rows import Projected
from holter.storage.console import ConsoleRange
from holter.storage.opening import Storage, open_journals, open_storage
from holter.storage.runs import RunQuery
from holter.storage.series import Line
from tests.clocks import FakeClock
from tests.unit.catalog.journals import Journal, elsewhere, named
from tests.unit.server.remote import RemoteJournal, send


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    opened = open_storage(f"sqlite:{tmp_path / 'index'}")
    yield opened
    opened.close()


@pytest.fixture
def journal(tmp_path: Path) -> RemoteJournal:
    found = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    found.describe()
    return found


def open_ingest(tmp_path: Path, storage: Storage) -> Ingest:
    return Ingest(str(tmp_path / "data"), storage, clock=Clock())


def open_beside_others(tmp_path: Path, storage: Storage) -> tuple[Ingest, CopiedRuns]:
    """A server that keeps what it is sent where others have it, too."""
    data = str(tmp_path / "beside")
    copies = CopiedRuns(data, open_journals(str(tmp_path / "elsewhere")), is_settled=lambda run: False)
    return Ingest(data, storage, clock=Clock(), received=copies), copies


def states(storage: Storage) -> dict[str, str]:
    page = storage.runs.query(RunQuery(now_ns=Clock().now_ns(), lateness=Lateness()))
    return {row.id: row.state for row in page.runs}


def test_a_received_journal_becomes_a_run_with_its_points(
    tmp_path: Path, storage: Storage, journal: RemoteJournal
) -> None:
    ingest = open_ingest(tmp_path, storage)
    journal.log(10_000)
    journal.say(Alerted(at_ns=5, title="hot"))
    send(ingest, journal, piece=70_000)
    ingest.catch_up()
    points = storage.series.points(Line("r1", "loss"))
    assert points.steps.tolist() == list(range(10_000))
    assert points.values.tolist() == [step * 0.5 for step in range(10_000)]
    row = storage.runs.get("r1")
    assert row is not None
    assert (row.name, row.project, row.rows, row.steps, row.config) == ("far", "p", 10_000, 10_000, {"lr": 1})
    assert row.summary == {"loss": 4999.5, "acc": 9999.0}
    assert [event.kind for event in storage.console.events("r1")] == ["Alerted"]


@pytest.mark.parametrize("piece", [5_000, 150_000])
def test_a_server_that_is_killed_again_and_again_loses_and_doubles_nothing(
    tmp_path: Path, journal: RemoteJournal, piece: int
) -> None:
    journal.log(12_000)
    data = journal.stream()
    have = 0
    while have < len(data):
        storage = open_storage(f"sqlite:{tmp_path / 'index'}")
        ingest = open_ingest(tmp_path, storage)
        for _ in range(4):
            have = ingest.accept(journal.id, "r1", offset=have, data=data[have : have + piece])
            ingest.tick()
        storage.close()  # and nothing of the ingest: it dies here
    storage = open_storage(f"sqlite:{tmp_path / 'index'}")
    open_ingest(tmp_path, storage).catch_up()
    points = storage.series.points(Line("r1", "acc"))
    row = storage.runs.get("r1")
    storage.close()
    assert points.values.tolist() == [float(step) for step in range(12_000)]
    assert row is not None
    assert row.rows == 12_000


def test_local_runs_are_followed_while_they_are_written(
    tmp_path: Path, storage: Storage, journal: RemoteJournal
) -> None:
    local = RemoteJournal(tmp_path / "data" / "runs" / "here", "here", clock=FakeClock())
    local.describe()
    ingest = open_ingest(tmp_path, storage)
    seen = []
    for _ in range(5):
        local.log(700)
        ingest.tick()
        seen.append(len(storage.series.points(Line("here", "loss")).steps))
    assert seen == [700, 1400, 2100, 2800, 3500]


def test_what_a_sidecar_measured_is_apart_from_what_the_program_logged(
    tmp_path: Path, storage: Storage, journal: RemoteJournal
) -> None:
    ingest = open_ingest(tmp_path, storage)
    sidecar = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock(), writer="sidecar")
    assert sidecar.rows is not None
    sidecar.rows.append({"system/process/rss_bytes": 5}, 0, 2_000_000)
    journal.log(1)
    send(ingest, journal)
    send(ingest, sidecar)
    ingest.catch_up()
    assert [info.key for info in storage.series.list_series("r1")] == [
        "acc",
        "loss",
        "system/far-away/process/rss_bytes",
    ]
    assert storage.series.points(Line("r1", "system/far-away/process/rss_bytes")).steps.tolist() == [2]


def test_colours_of_the_console_are_kept_and_what_else_a_terminal_obeys_is_not(
    tmp_path: Path, storage: Storage
) -> None:
    directory = tmp_path / "data" / "runs" / "r1"
    Journal(directory, elsewhere()).say(named("n")).close()
    writer = TranscriptWriter(str(directory), "output", limit_bytes=1 << 20, clock=Clock())
    ingest = open_ingest(tmp_path, storage)
    writer.append(b"\x1b]0;title\x07\x1b[32mgreen\x1b[0m \x1b[2Jwords\n", STDOUT)
    ingest.catch_up()
    (line,) = storage.console.lines("r1", "output", wanted=ConsoleRange(9))
    assert line.text == "\x1b[32mgreen\x1b[0m words"


def test_the_console_comes_as_lines_with_times_and_streams(tmp_path: Path, storage: Storage) -> None:
    directory = tmp_path / "data" / "runs" / "r1"
    Journal(directory, elsewhere()).say(named("n")).close()
    writer = TranscriptWriter(str(directory), "output", limit_bytes=1 << 20, clock=Clock())
    ingest = open_ingest(tmp_path, storage)
    writer.append(b"hello\n 10%\r 50%\r100%\nwor", STDOUT)
    writer.append(b"oops\n", STDERR)
    ingest.catch_up()
    assert [line.text for line in storage.console.lines("r1", "output", wanted=ConsoleRange(9))] == [
        "hello",
        "100%",
        "woroops",
    ]
    writer.append(b"partial", STDOUT)
    again = open_ingest(tmp_path, storage)
    again.catch_up()
    assert storage.console.lines("r1", "output", wanted=ConsoleRange(1))[0].text == "partial"
    writer.append(b" and whole\n", STDOUT)
    open_ingest(tmp_path, storage).catch_up()
    assert storage.console.lines("r1", "output", wanted=ConsoleRange(1))[0].text == "partial and whole"


def test_the_index_can_be_made_again_from_the_journals(
    tmp_path: Path, storage: Storage, journal: RemoteJournal
) -> None:
    ingest = open_ingest(tmp_path, storage)
    journal.log(9_000)
    journal.finish()
    send(ingest, journal)
    ingest.catch_up()
    before = storage.runs.get("r1")
    ingest.close()
    storage.close()
    url = f"sqlite:{tmp_path / 'index'}"
    assert rebuild(str(tmp_path / "data"), url, clock=Clock()).runs == 1
    again = open_storage(url)
    assert again.runs.get("r1") == before
    assert len(again.series.points(Line("r1", "loss")).steps) == 9_000
    again.close()


def test_a_machine_that_is_slow_takes_every_run_in(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run for each tick is all that there is time for."""
    monkeypatch.setattr("holter.server.ingest.ingest.READ_S", 0.0)
    first = open_ingest(tmp_path, storage)
    for number in range(12):
        far = RemoteJournal(tmp_path / f"far{number}", f"r{number}", clock=FakeClock())
        far.describe()
        far.log(10)
        far.finish()
        send(first, far)
    open_ingest(tmp_path, storage).catch_up()
    assert states(storage) == dict.fromkeys([f"r{number}" for number in range(12)], "finished")
    assert [len(storage.series.points(Line(f"r{number}", "loss")).steps) for number in range(12)] == [10] * 12


@pytest.mark.parametrize("limit", ["READ_S", "ROWS_S"])
def test_a_machine_that_is_slow_goes_on_at_once_and_rests_when_every_run_had_its_turn(
    limit: str, tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"holter.server.ingest.ingest.{limit}", 0.0)
    for number in range(12):
        here = RemoteJournal(tmp_path / "data" / "runs" / f"r{number}", f"r{number}", clock=FakeClock())
        here.describe()
        here.log(10)
    ingest = open_ingest(tmp_path, storage)
    ticks = 1
    ingest.tick()
    while ingest.is_behind:
        ingest.tick()
        ticks += 1
        assert ticks <= 2 * 12  # once for what is there, and once to see that it is all
    assert storage.runs.query(RunQuery(now_ns=0)).total == 12


def test_a_run_that_is_written_whole_just_after_its_directory_was_read_is_taken_in(
    tmp_path: Path, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a look did not see must not count as seen, however soon after it came."""
    ingest = open_ingest(tmp_path, storage)
    directory = tmp_path / "data" / "runs" / "r1"
    directory.mkdir(parents=True)
    project = FollowedRun.project

    def write_then_project(followed: FollowedRun, now_ns: int, lateness: Lateness) -> Projected | None:
        if not any(directory.iterdir()):
            Journal(directory, elsewhere()).say(named("short"), Finished(at_ns=now_ns, exit_code=0)).close()
        return project(followed, now_ns, lateness)

    monkeypatch.setattr(FollowedRun, "project", write_then_project)
    for _ in range(3):
        ingest.tick()
    ingest.catch_up()
    assert states(storage) == {"r1": "finished"}


def test_a_run_whose_directory_is_gone_is_forgotten(tmp_path: Path, storage: Storage, journal: RemoteJournal) -> None:
    ingest = open_ingest(tmp_path, storage)
    journal.log(10)
    send(ingest, journal)
    ingest.catch_up()
    assert states(storage) == {"r1": "running"}
    for path in (tmp_path / "data" / "runs" / "r1").iterdir():
        path.unlink()
    (tmp_path / "data" / "runs" / "r1").rmdir()
    fresh = open_ingest(tmp_path, storage)
    fresh.tick()
    assert states(storage) == {}
    assert storage.series.list_series("r1") == []


def test_a_journal_with_damage_in_the_middle_gives_all_other_rows(tmp_path: Path, storage: Storage) -> None:
    directory = tmp_path / "data" / "runs" / "here"
    local = RemoteJournal(directory, "here", clock=FakeClock())
    local.describe()
    local.log(5_000)
    local.writer.close()
    [path] = directory.glob("*.seg")
    data = bytearray(path.read_bytes())
    data[100_000:100_010] = b"\xff" * 10
    path.write_bytes(data)
    ingest = open_ingest(tmp_path, storage)
    for _ in range(3):
        ingest.tick()
    steps = storage.series.points(Line("here", "loss")).steps
    assert 4_990 <= len(steps) < 5_000
    assert steps[-1] == 4_999


def test_what_people_call_a_run_holds_over_what_its_program_said(
    tmp_path: Path, storage: Storage, journal: RemoteJournal
) -> None:
    ingest = open_ingest(tmp_path, storage)
    person = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock(), writer="command")
    person.say(Edited(at_ns=9, by="me", name="better", tags=("best",), colour=5))
    journal.log(1)
    send(ingest, journal)
    send(ingest, person)
    ingest.catch_up()
    row = storage.runs.get("r1")
    assert row is not None
    assert (row.name, row.tags, row.project, row.colour) == ("better", ("best",), "p", 5)


def test_rows_that_came_before_the_storage_failed_are_told_once_it_is_well(
    tmp_path: Path, storage: Storage, journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(rows: object) -> None:
        raise StorageFull("the disk is full")

    ingest = open_ingest(tmp_path, storage)
    journal.log(10)
    send(ingest, journal)
    with monkeypatch.context() as patch:
        patch.setattr(storage.runs, "put", fail)
        with pytest.raises(StorageFull):
            ingest.tick()
    [change] = ingest.tick()
    assert (change.run, change.rows, change.has_row) == ("r1", 10, True)
    assert ingest.tick() == []


def test_runs_that_another_server_has_still_to_move_stay_in_the_index(
    tmp_path: Path, storage: Storage, journal: RemoteJournal
) -> None:
    first = open_ingest(tmp_path, storage)
    send(first, journal)
    first.catch_up()
    second, copies = open_beside_others(tmp_path, storage)
    copies.look(0.0)
    second.catch_up()
    assert states(storage) == {"r1": "running"}
    send(second, journal)  # it is moved
    copies.look(0.0)
    second.catch_up()
    copies.delete("r1")
    copies.look(0.0)
    second.catch_up()
    assert states(storage) == {}


def test_a_deleted_run_that_can_not_be_removed_now_keeps_no_other_from_being_taken_in(
    tmp_path: Path, storage: Storage, journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(run: str) -> None:
        raise StorageFailing("the object store is away")

    ingest, copies = open_beside_others(tmp_path, storage)
    send(ingest, journal)
    copies.look(0.0)
    ingest.catch_up()
    Deletions(str(tmp_path / "beside")).note("r1", Deletion(by="ada", at=1.0))
    copies.delete("r1")  # by another server
    copies.look(0.0)
    monkeypatch.setattr(copies, "delete", fail)
    with pytest.raises(StorageFailing):
        ingest.catch_up()
    other = RemoteJournal(tmp_path / "far2", "r2", clock=FakeClock())
    other.describe()
    send(ingest, other)
    ingest.catch_up()
    assert states(storage) == {"r2": "running"}
