"""Received runs that lie elsewhere, and their copies on the disks of two servers."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from holter.errors import StorageFailing
from holter.server.ingest import copying
from holter.server.ingest.copies import ADOPTED, CopiedRuns, adopt
from holter.server.ingest.copying import throw_away
from holter.server.ingest.leases import OnlyServer
from holter.server.migration import backup, backup_places
from holter.storage.journals import Answer, JournalStore, Part, offset_of
from holter.storage.opening import open_journals
from holter.storage.places import places_in
from tests.clocks import FakeClock
from tests.unit.server.remote import RemoteJournal


@pytest.fixture
def store(tmp_path: Path) -> JournalStore:
    return open_journals(str(tmp_path / "elsewhere"))


@pytest.fixture
def journal(tmp_path: Path) -> RemoteJournal:
    found = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    found.describe()
    found.log(3_000)
    return found


@pytest.fixture
def here(tmp_path: Path, store: JournalStore) -> Iterator[CopiedRuns]:
    opened = server(tmp_path / "here", store)
    yield opened
    opened.close()


@pytest.fixture
def there(tmp_path: Path, store: JournalStore) -> Iterator[CopiedRuns]:
    opened = server(tmp_path / "there", store)
    yield opened
    opened.close()


def server(data: Path, store: JournalStore, *, settled: tuple[str, ...] = ()) -> CopiedRuns:
    return CopiedRuns(str(data), store, is_settled=lambda run: run in settled)


def add(to: CopiedRuns, journal: RemoteJournal, start: int = 0, stop: int | None = None) -> int:
    data = journal.stream()[start:stop]
    return offset_of(to.accept_all([Part(run=journal.run, name=journal.id, offset=start, data=data)]))


def away(run: str) -> None:
    raise StorageFailing("it is away")


def copy_of(tmp_path: Path, server: str, name: str) -> bytes:
    opened = open_journals(str(tmp_path / server))
    try:
        return opened.read("r1", name, start=0, stop=1 << 40)
    finally:
        opened.close()


def test_what_one_server_is_sent_another_has_copied_with_its_next_look(
    tmp_path: Path, here: CopiedRuns, there: CopiedRuns, journal: RemoteJournal
) -> None:
    add(here, journal, 0, 5000)
    assert there.look(0.0)[0] == ["r1"]
    add(here, journal, 5000)
    here.accept_all([Part(run="r1", kind="text", name="output.log", offset=0, data=b"hello\n")])
    assert there.look(0.0)[0] == ["r1"]
    assert there.look(0.0)[0] == here.look(0.0)[0] == []
    assert copy_of(tmp_path, "there", journal.id) == copy_of(tmp_path, "here", journal.id) == journal.stream()
    assert copy_of(tmp_path, "there", "output.log") == b"hello\n"


def test_a_sender_goes_on_at_another_server_in_the_middle_of_a_segment(
    tmp_path: Path, here: CopiedRuns, there: CopiedRuns, journal: RemoteJournal
) -> None:
    add(here, journal, 0, 4000)
    assert add(there, journal, 4000) == len(journal.stream())
    assert copy_of(tmp_path, "there", journal.id) == b""  # what came before it is not there yet
    for each in (here, there):
        assert each.look(0.0)[0] == ["r1"]
    assert copy_of(tmp_path, "there", journal.id) == copy_of(tmp_path, "here", journal.id) == journal.stream()


def test_a_run_that_is_in_the_index_is_copied_when_somebody_wants_it(
    tmp_path: Path, store: JournalStore, here: CopiedRuns, journal: RemoteJournal
) -> None:
    add(here, journal, 0, 9000)
    late = server(tmp_path / "late", store, settled=("r1",))
    assert late.look(0.0)[0] == []
    assert late.there == {"r1"}
    assert not (tmp_path / "late" / "runs").exists()
    assert late.bring("r1")
    assert not late.bring("r1")
    assert copy_of(tmp_path, "late", journal.id) == journal.stream()[:9000]
    other = server(tmp_path / "other", store, settled=("r1",))
    assert other.look(0.0)[0] == []
    add(here, journal, 9000)  # it lives again
    assert other.look(0.0)[0] == ["r1"]
    assert copy_of(tmp_path, "other", journal.id) == journal.stream()


def test_what_was_written_beside_a_copy_reaches_the_others(
    tmp_path: Path, here: CopiedRuns, there: CopiedRuns, journal: RemoteJournal
) -> None:
    add(here, journal)
    there.look(0.0)
    said = RemoteJournal(tmp_path / "here" / "runs" / "r1", "r1", clock=FakeClock(), writer="command")
    said.log()
    here.send("r1")
    here.send("r1")
    assert there.look(0.0)[0] == ["r1"]
    assert copy_of(tmp_path, "there", said.id) == said.stream()


def test_a_run_that_another_server_deleted_goes_here_as_well(
    tmp_path: Path, here: CopiedRuns, there: CopiedRuns, journal: RemoteJournal
) -> None:
    add(here, journal)
    there.look(0.0)
    here.delete("r1")
    assert there.look(0.0)[0] == []
    assert there.there == set()
    assert not (tmp_path / "there" / "runs" / "r1").exists()


def test_a_copy_that_was_thrown_away_comes_again(
    tmp_path: Path, store: JournalStore, here: CopiedRuns, journal: RemoteJournal
) -> None:
    add(here, journal)
    here.close()
    shutil.rmtree(tmp_path / "here")
    again = server(tmp_path / "here", store)
    assert again.look(0.0)[0] == ["r1"]
    assert copy_of(tmp_path, "here", journal.id) == journal.stream()


def test_runs_that_were_here_before_are_moved_once(
    tmp_path: Path, store: JournalStore, here: CopiedRuns, journal: RemoteJournal
) -> None:
    shutil.copytree(journal.directory, tmp_path / "here" / "runs" / "r1")  # with the room that its writer reserved
    (tmp_path / "here" / "runs" / "r1" / "output.log").write_bytes(b"hello\n")
    add(here, journal, 0, 5000)  # a server that moved them was killed
    adopt(here)
    assert store.read("r1", journal.id, start=0, stop=1 << 40) == journal.stream()
    assert store.held("r1").texts == {"output.log": 6}
    store.delete("r1")
    adopt(here)
    assert store.held("r1").size == 0  # who deleted it elsewhere does not get it back


def test_runs_that_could_not_be_moved_are_moved_once_the_place_is_well(
    here: CopiedRuns, store: JournalStore, journal: RemoteJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(journal.directory, tmp_path / "here" / "runs" / "r1")

    def fail(parts: list[Part]) -> list[Answer]:
        return [StorageFailing("it is away") for _ in parts]

    with monkeypatch.context() as patched:
        patched.setattr(store, "accept_all", fail)
        with pytest.raises(StorageFailing):
            adopt(here)
    assert not (tmp_path / "here" / ADOPTED).exists()
    adopt(here)
    assert store.read("r1", journal.id, start=0, stop=1 << 40) == journal.stream()


def test_a_run_that_can_not_be_read_holds_up_no_other(
    here: CopiedRuns, there: CopiedRuns, store: JournalStore, journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = RemoteJournal(journal.directory.parent / "far2", "r2", clock=FakeClock())
    for each in (journal, other):
        add(here, each)
    said: list[str] = []
    there.complain = said.append
    read = store.read

    def fail(run: str, name: str, *, start: int, stop: int) -> bytes:
        if run == "r1":
            raise StorageFailing("an object is missing")
        return read(run, name, start=start, stop=stop)

    with monkeypatch.context() as patched:
        patched.setattr(store, "read", fail)
        assert there.look(0.0, begun=["r1"])[0] == ["r2"]
        assert said == ["run r1 can't be copied: an object is missing"]
        patched.setattr(store, "held", away)
        with pytest.raises(StorageFailing):  # where nothing answers all of them wait
            there.look(0.0)
    assert there.look(0.0)[0] == ["r1"]


def test_a_deletion_that_the_place_does_not_take_leaves_no_copy_behind(
    here: CopiedRuns, store: JournalStore, journal: RemoteJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(here, journal)
    monkeypatch.setattr(store, "delete", away)
    with pytest.raises(StorageFailing):
        here.delete("r1")
    assert not (tmp_path / "here" / "runs" / "r1").exists()
    assert here.look(0.0)[0] == ["r1"]  # it is there as before, and so it is copied again
    assert copy_of(tmp_path, "here", journal.id) == journal.stream()


class Elsewhere(OnlyServer):
    """Other servers digest all runs."""

    def numbers(self) -> Mapping[str, int]:
        return {}

    def take(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        return {}


@pytest.mark.parametrize("is_full", [False, True])
def test_a_copy_that_nobody_needs_is_thrown_away_and_made_again(
    tmp_path: Path, here: CopiedRuns, journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch, is_full: bool
) -> None:
    add(here, journal)
    copy = tmp_path / "here" / "runs" / "r1"
    assert throw_away(here) == []  # there is no other server
    here.leases = Elsewhere()
    assert throw_away(here) == []  # somebody may just have looked at it
    if is_full:
        monkeypatch.setattr(copying, "FULL", 0.0)
        monkeypatch.setattr(copying, "SOON_UNUSED_S", 0.0)
    else:
        monkeypatch.setattr(copying, "UNUSED_S", 0.0)
    assert throw_away(here) == ["r1"]
    assert not copy.exists()
    assert here.look(0.0)[0] == []  # as long as nobody asks
    assert here.bring("r1")
    assert copy_of(tmp_path, "here", journal.id) == journal.stream()
    monkeypatch.setattr(copying, "UNUSED_S", 600.0)
    monkeypatch.setattr(copying, "FULL", 1.0)
    assert throw_away(here) == []


def test_what_is_no_copy_is_not_thrown_away(
    tmp_path: Path, here: CopiedRuns, journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(here, journal)
    here.leases = Elsewhere()
    monkeypatch.setattr(copying, "UNUSED_S", 0.0)
    copy = tmp_path / "here" / "runs" / "r1"
    (copy / ".uploads.jsonl").write_bytes(b"{}\n")
    said = RemoteJournal(copy, "r1", clock=FakeClock(), writer="command")
    said.log()
    assert throw_away(here) == []  # it was written here, and is nowhere else
    here.send("r1")
    assert throw_away(here) == ["r1"]
    assert [each.name for each in copy.iterdir()] == [".uploads.jsonl"]


def test_a_full_disk_of_copies_refuses_nothing_and_is_made_up_for(
    tmp_path: Path, here: CopiedRuns, journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(parts: list[Part]) -> list[Answer]:
        return [StorageFailing("the disk is full") for _ in parts]

    with monkeypatch.context() as patched:
        patched.setattr(here._copies, "accept_all", full)
        assert add(here, journal) == len(journal.stream())
    assert here.look(0.0)[0] == ["r1"]
    assert copy_of(tmp_path, "here", journal.id) == journal.stream()


def test_what_can_not_be_thrown_away_is_not_first_for_ever(
    tmp_path: Path, here: CopiedRuns, journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(here, journal)
    here.leases = Elsewhere()
    left_over = tmp_path / "here" / "runs" / "a-run"
    left_over.mkdir()
    (left_over / ".uploads.jsonl").write_bytes(b"{}\n")
    monkeypatch.setattr(copying, "UNUSED_S", 0.0)
    monkeypatch.setattr(copying, "MOST_AT_ONCE", 1)
    assert [throw_away(here), throw_away(here)] == [[], ["r1"]]


def test_a_backup_has_all_runs_while_a_server_throws_copies_away(
    tmp_path: Path, here: CopiedRuns, journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(here, journal)
    here.leases = Elsewhere()
    monkeypatch.setattr(copying, "UNUSED_S", 0.0)
    thrown: list[str] = []
    keep_tree = backup_places.keep_tree

    def keep(copy: backup_places.Copy, source: str, target: str, *, leave: str = "") -> None:
        thrown.extend(throw_away(here))
        keep_tree(copy, source, target, leave=leave)

    monkeypatch.setattr(backup, "keep_tree", keep)
    data = tmp_path / "here"
    places = msgspec.structs.replace(places_in(str(data / "index")), journals=f"directory:{tmp_path / 'elsewhere'}")
    backup.make_backup(str(data), str(tmp_path / "copy"), environ={}, places=places)
    assert thrown == []
    assert copy_of(tmp_path, "copy", journal.id) == journal.stream()
    assert throw_away(here) == ["r1"]  # now nobody reads them
