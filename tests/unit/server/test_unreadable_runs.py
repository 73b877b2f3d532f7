"""A run that can't be shown says so on its own row, and harms no other."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from holter.cli.main import main
from holter.errors import OffsetGap, StorageError, StorageFull
from holter.journal.frame import HEADER_SIZE, decode_header, encode_header
from holter.model.clock import Clock
from holter.model.run_row import RunRow
from holter.model.state import UNREADABLE
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.rebuilding import rebuild
from holter.storage.opening import Storage, open_storage
from holter.storage.runs import RunStore
from holter.storage.series import Line, SeriesBatch, SeriesStore
from tests.clocks import FakeClock
from tests.unit.server.remote import RemoteJournal, send


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    opened = open_storage(f"sqlite:{tmp_path / 'index'}")
    yield opened
    opened.close()


class Picky:
    """The real table, but for the rows of one run, which it refuses as SQLite refuses what has no place in it."""

    def __init__(self, runs: RunStore, refused: str) -> None:
        self._runs = runs
        self.refused = refused

    def put(self, rows: Sequence[RunRow]) -> None:
        self._runs.put([msgspec.structs.replace(row, rows=1 << 64) if self._hates(row) else row for row in rows])

    def _hates(self, row: RunRow) -> bool:
        return row.id == self.refused and row.state != UNREADABLE

    def __getattr__(self, name: str) -> object:
        return getattr(self._runs, name)


def far(tmp_path: Path, run: str, rows: int = 3) -> RemoteJournal:
    found = RemoteJournal(tmp_path / f"far-{run}", run, clock=FakeClock())
    found.describe()
    found.log(rows)
    return found


def local(tmp_path: Path, run: str, rows: int = 3) -> RemoteJournal:
    found = RemoteJournal(tmp_path / "data" / "runs" / run, run, clock=FakeClock())
    found.describe()
    found.log(rows)
    return found


def open_ingest(tmp_path: Path, storage: Storage) -> Ingest:
    return Ingest(str(tmp_path / "data"), storage, clock=Clock())


def row_of(storage: Storage, run: str) -> RunRow:
    row = storage.runs.get(run)
    assert row is not None
    return row


def with_base(journal: RemoteJournal, base: int) -> None:
    """Have the file of a journal say that it begins elsewhere."""
    journal.writer.close()
    [path] = journal.directory.glob("*.seg")
    data = path.read_bytes()
    path.write_bytes(encode_header(msgspec.structs.replace(decode_header(data), base=base)) + data[HEADER_SIZE:])


def test_the_largest_step_of_one_run_leaves_the_table_to_the_others(tmp_path: Path, storage: Storage) -> None:
    odd = far(tmp_path, "odd", 0)
    assert odd.rows is not None
    odd.rows.append({"v": 1.0}, (1 << 63) - 1, odd.clock.now_ns())
    ingest = open_ingest(tmp_path, storage)
    send(ingest, odd)
    send(ingest, far(tmp_path, "well"))
    ingest.catch_up()
    assert (row_of(storage, "well").rows, row_of(storage, "well").steps) == (3, 3)
    assert (row_of(storage, "odd").rows, row_of(storage, "odd").steps) == (1, (1 << 63) - 1)


def test_a_row_that_cannot_be_kept_is_said_on_it_and_heals(tmp_path: Path, storage: Storage) -> None:
    picky = Picky(storage.runs, "odd")
    picked = msgspec.structs.replace(storage, runs=picky)
    ingest = open_ingest(tmp_path, picked)
    for run in ("odd", "well"):
        send(ingest, far(tmp_path, run))
    ingest.catch_up()
    assert row_of(storage, "well").rows == 3
    assert row_of(storage, "odd").state == UNREADABLE
    assert "too large" in row_of(storage, "odd").because
    assert ingest.unreadable == {"odd": row_of(storage, "odd").because}
    picky.refused = ""
    healed = open_ingest(tmp_path, picked)
    healed.catch_up()
    assert (row_of(storage, "odd").state, row_of(storage, "odd").rows) == ("running", 3)
    assert healed.unreadable == {}


def test_a_row_that_could_be_kept_until_now_keeps_its_name(tmp_path: Path, storage: Storage) -> None:
    picky = Picky(storage.runs, "")
    ingest = open_ingest(tmp_path, msgspec.structs.replace(storage, runs=picky))
    odd = far(tmp_path, "odd")
    have = send(ingest, odd)
    ingest.catch_up()
    picky.refused = "odd"
    odd.log(4)
    have = send(ingest, odd, have=have)
    ingest.catch_up()
    assert (row_of(storage, "odd").state, row_of(storage, "odd").name) == (UNREADABLE, "far")
    picky.refused = ""
    odd.log(1)
    send(ingest, odd, have=have)
    ingest.catch_up()
    assert (row_of(storage, "odd").state, row_of(storage, "odd").rows) == ("running", 8)


@pytest.mark.parametrize("base", [1 << 63, (1 << 64) - 1])
def test_a_journal_that_cannot_be_taken_in_stops_no_other(tmp_path: Path, storage: Storage, base: int) -> None:
    with_base(local(tmp_path, "aaa"), base)
    local(tmp_path, "well")
    with_base(local(tmp_path, "zzz"), base)
    ingest = open_ingest(tmp_path, storage)
    ingest.catch_up()
    assert row_of(storage, "well").rows == 3
    assert len(storage.series.points(Line("well", "loss")).steps) == 3
    assert {row_of(storage, run).state for run in ("aaa", "zzz")} == {UNREADABLE}
    assert sorted(ingest.unreadable) == ["aaa", "zzz"]


def test_a_rebuilt_index_has_every_other_run_and_names_those_that_it_cannot_show(tmp_path: Path) -> None:
    with_base(local(tmp_path, "aaa"), (1 << 64) - 1)
    local(tmp_path, "well")
    rebuilt = rebuild(str(tmp_path / "data"), f"sqlite:{tmp_path / 'index'}", clock=Clock())
    assert (rebuilt.runs, list(rebuilt.unreadable)) == (2, ["aaa"])
    again = open_storage(f"sqlite:{tmp_path / 'index'}")
    assert row_of(again, "well").rows == 3
    again.close()


def test_the_command_that_rebuilds_names_what_it_cannot_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_base(local(tmp_path, "aaa"), (1 << 64) - 1)
    local(tmp_path, "well")
    assert main(["server", "rebuild", "--data", str(tmp_path / "data")]) == 0
    told = capsys.readouterr()
    assert "The index of 2 runs" in told.out
    assert told.err.startswith("holter: run aaa: holter can't show it (")
    assert "Traceback" not in told.err


def test_what_arrived_is_not_forgotten_when_the_directory_cannot_be_listed(tmp_path: Path, storage: Storage) -> None:
    ingest = Ingest(str(tmp_path / "data"), storage, clock=FakeClock())
    journal = far(tmp_path, "r1", 10)
    have = send(ingest, journal)
    ingest.tick()
    journal.log(10)
    send(ingest, journal, have=have)
    runs = tmp_path / "data" / "runs"
    runs.rename(tmp_path / "aside")
    runs.write_text("not a directory")
    with pytest.raises(NotADirectoryError):
        ingest.tick()
    runs.unlink()
    (tmp_path / "aside").rename(runs)
    ingest.tick()
    assert len(storage.series.points(Line("r1", "loss")).steps) == 20


class Failing:
    """The real series, but for the runs over which they fail."""

    def __init__(self, series: SeriesStore, error: StorageError) -> None:
        self._series = series
        self._error = error
        self.failing: frozenset[str] = frozenset()

    def append(self, batch: SeriesBatch) -> None:
        if batch.run in self.failing:
            raise self._error
        self._series.append(batch)

    def __getattr__(self, name: str) -> object:
        return getattr(self._series, name)


def test_a_journal_that_does_not_join_what_is_there_stops_no_other(tmp_path: Path, storage: Storage) -> None:
    series = Failing(storage.series, OffsetGap("it has come to 0", 0))
    series.failing = frozenset({"aaa"})
    ingest = Ingest(str(tmp_path / "data"), msgspec.structs.replace(storage, series=series), clock=FakeClock())
    for run in ("aaa", "well"):
        send(ingest, far(tmp_path, run, 10))
    ingest.tick()
    assert len(storage.series.points(Line("well", "loss")).steps) == 10
    series.failing = frozenset()
    ingest.catch_up()
    assert len(storage.series.points(Line("aaa", "loss")).steps) == 10


def test_what_arrived_is_not_forgotten_when_the_disk_is_full(tmp_path: Path, storage: Storage) -> None:
    series = Failing(storage.series, StorageFull("no room"))
    picked = msgspec.structs.replace(storage, series=series)
    ingest = Ingest(str(tmp_path / "data"), picked, clock=FakeClock())
    journals = [far(tmp_path, f"r{number}", 10) for number in range(3)]
    have = [send(ingest, journal) for journal in journals]
    ingest.tick()
    for journal, offset in zip(journals, have, strict=True):
        journal.log(10)
        send(ingest, journal, have=offset)
    series.failing = frozenset({"r0", "r1", "r2"})
    with pytest.raises(StorageFull):
        ingest.tick()
    series.failing = frozenset()
    ingest.tick()
    assert [len(storage.series.points(Line(f"r{number}", "loss")).steps) for number in range(3)] == [20, 20, 20]
