"""The embedded engine meets what files meet: death, damage, other versions, other processes, full disks."""

import contextlib
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.errors import NewerStorage, StorageDamaged, StorageFailing, StorageFull
from holter.model.clock import Clock
from holter.model.run_row import RunRow
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.rebuilding import rebuild
from holter.storage.embedded.database import SqliteDatabase
from holter.storage.opening import Storage, load_engine, open_storage
from holter.storage.runs import RunQuery
from holter.storage.series import Line
from tests.clocks import FakeClock
from tests.contract.writes import are_same, expected, long_journals, replay
from tests.unit.server.remote import RemoteJournal, send

MIB = 1 << 20

# Takes a journal in, piece by piece, and says after each piece what was acknowledged.
SERVER = """
import sys
from holter.model.clock import Clock
from holter.server.ingest.ingest import Ingest
from holter.storage.opening import Storage, open_storage
data, index, stream, journal = sys.argv[1:]
bytes_ = open(stream, "rb").read()
ingest = Ingest(data, open_storage(f"sqlite:{index}"), clock=Clock())
have = ingest.accept(journal, "r1", offset=0, data=b"")
while have < len(bytes_):
    have = ingest.accept(journal, "r1", offset=have, data=bytes_[have : have + 9_000])
    print(have, flush=True)
    ingest.tick()
"""


@pytest.fixture
def journal(tmp_path: Path) -> RemoteJournal:
    found = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    found.describe()
    found.log(15_000)
    return found


def test_a_server_that_is_killed_at_any_moment_has_all_that_it_acknowledged(
    tmp_path: Path, journal: RemoteJournal
) -> None:
    stream = tmp_path / "stream"
    stream.write_bytes(journal.stream())
    command = [sys.executable, "-c", SERVER, str(tmp_path / "data"), str(tmp_path / "index"), str(stream), journal.id]
    acknowledged = 0
    for answers in (3, 8, 14):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            for _ in range(answers):
                acknowledged = int(server.stdout.readline())
            server.kill()
        assert server.returncode == -signal.SIGKILL
        kept = sum(path.stat().st_size for path in (tmp_path / "data" / "runs" / "r1").glob("*.seg"))
        assert kept >= acknowledged
    storage = open_storage(f"sqlite:{tmp_path / 'index'}")
    ingest = Ingest(str(tmp_path / "data"), storage, clock=Clock())
    send(ingest, journal)
    ingest.catch_up()
    points = storage.series.points(Line("r1", "acc"))
    storage.close()
    assert points.values.tolist() == [float(step) for step in range(15_000)]


def test_another_process_sees_what_was_synced(tmp_path: Path) -> None:
    url, journals = f"sqlite:{tmp_path}", long_journals()
    storage = open_storage(url)
    replay(storage.series, "run", journals=journals)
    storage.series.sync()
    storage.runs.put([RunRow(id="run")])
    program = (
        "import sys; from holter.storage.opening import open_storage; from holter.storage.series import Line;"
        "s = open_storage(sys.argv[1]); print(len(s.series.points(Line('run', 'loss')).steps), s.runs.get('run').id)"
    )
    seen = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=True)
    storage.close()
    assert seen.stdout.split() == ["11000", "run"]


def test_an_old_schema_is_brought_forward_with_its_data(tmp_path: Path) -> None:
    first = "CREATE TABLE thing (name TEXT)"
    old = SqliteDatabase(str(tmp_path / "x.db"), [first])
    with old.write() as connection:
        connection.execute("INSERT INTO thing VALUES ('kept')")
    old.close()
    second = "ALTER TABLE thing ADD COLUMN size INTEGER DEFAULT 7; CREATE INDEX thing_size ON thing (size)"
    for _ in range(2):
        new = SqliteDatabase(str(tmp_path / "x.db"), [first, second])
        with new.read() as connection:
            assert connection.execute("SELECT name, size FROM thing").fetchall() == [("kept", 7)]
        new.close()
    with pytest.raises(NewerStorage, match="version 2"):
        SqliteDatabase(str(tmp_path / "x.db"), [first])


def test_a_migration_that_fails_leaves_the_old_schema(tmp_path: Path) -> None:
    first = "CREATE TABLE thing (name TEXT)"
    SqliteDatabase(str(tmp_path / "x.db"), [first]).close()
    with pytest.raises(Exception, match="nonsense"):
        SqliteDatabase(str(tmp_path / "x.db"), [first, "CREATE TABLE more (a TEXT); nonsense"])
    SqliteDatabase(str(tmp_path / "x.db"), [first, "CREATE TABLE more (a TEXT)"]).close()


@pytest.mark.parametrize("name", ["runs.db", "series.db", "console.db", "blobs.db"])
def test_damage_is_told_and_the_index_can_be_made_again(tmp_path: Path, journal: RemoteJournal, name: str) -> None:
    url, data = f"sqlite:{tmp_path / 'index'}", str(tmp_path / "data")
    storage = open_storage(url)
    ingest = Ingest(data, storage, clock=Clock())
    send(ingest, journal)
    ingest.catch_up()
    storage.close()
    path = tmp_path / "index" / name
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    path.write_bytes(b"\xa5" * path.stat().st_size)
    with pytest.raises(StorageDamaged, match="rebuild"):
        open_storage(url)
    assert rebuild(data, url, clock=Clock()).runs == 1
    again = open_storage(url)
    assert len(again.series.points(Line("r1", "loss")).steps) == 15_000
    assert again.runs.query(RunQuery(now_ns=Clock().now_ns())).total == 1
    again.close()


def test_a_chunk_that_rots_is_told_and_remembered(tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:{tmp_path}")
    put_in(storage, "run")
    storage.close()
    connection = sqlite3.connect(tmp_path / "series.db")
    [(number, data)] = connection.execute("SELECT id, vals FROM chunk LIMIT 1").fetchall()
    connection.execute("UPDATE chunk SET vals = ? WHERE id = ?", (data[:50] + b"\xff\xff" + data[52:], number))
    connection.commit()
    connection.close()
    storage = open_storage(f"sqlite:{tmp_path}")
    with pytest.raises(StorageDamaged):
        [storage.series.points(Line("run", key)) for key in ("loss", "acc")]
    storage.close()
    # Such damage is not seen when a file is opened; but it was seen.
    with pytest.raises(StorageDamaged, match="rebuild"):
        open_storage(f"sqlite:{tmp_path}")
    load_engine("sqlite:").discard_index(f"sqlite:{tmp_path}")
    open_storage(f"sqlite:{tmp_path}").close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid():
        pytest.skip("not on this platform: only root may mount a small disk")
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(path)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"not on this platform: mount failed: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def take_in_until_full(ingest: Ingest, journal: RemoteJournal, stream: bytes) -> int:
    """Returns what was acknowledged."""
    have = 0
    while have < len(stream):
        try:
            have = ingest.accept(journal.id, "r1", offset=have, data=stream[have : have + 20_000])
            ingest.tick()
        except StorageFull:
            break
    return have


def fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def put_in(storage: Storage, run: str) -> None:
    replay(storage.series, run, journals=long_journals())
    storage.series.sync()


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path, small_disk: Path) -> None:
    journal = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    journal.log(60_000)
    stream = journal.stream()
    storage = open_storage(f"sqlite:{small_disk / 'index'}")
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(MIB // 2))
    ingest = Ingest(str(small_disk / "data"), storage, clock=Clock())
    have = take_in_until_full(ingest, journal, stream)
    assert 0 < have < len(stream)
    assert len(storage.series.list_series("r1")) == 2  # reads go on
    ballast.unlink()
    ingest.catch_up()
    kept = sum(path.stat().st_size for path in (small_disk / "data" / "runs" / "r1").glob("*.seg"))
    points = storage.series.points(Line("r1", "acc"))
    storage.close()
    assert kept >= have
    assert points.values.tolist() == [float(step) for step in range(len(points.steps))]
    assert len(points.steps) * 44 > have - 100_000  # a row has 44 bytes, and the beginnings of segments come on top


def test_a_full_disk_leaves_what_is_sealed_as_it_was(tmp_path: Path, small_disk: Path) -> None:
    storage = open_storage(f"sqlite:{small_disk}")
    journals = long_journals()
    put_in(storage, "run")
    ballast = small_disk / "ballast"
    fill(ballast)
    with pytest.raises(StorageFull):
        put_in(storage, "other")
    assert are_same(storage.series.points(Line("run", "loss")), expected(journals, "loss"))
    ballast.unlink()
    put_in(storage, "other")
    assert are_same(storage.series.points(Line("other", "loss")), expected(journals, "loss"))
    storage.close()


def test_a_disk_that_fails_is_told_as_such_and_not_as_full(tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:{tmp_path}")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, usual[1]))  # the system refuses writes beyond, with EFBIG
        with pytest.raises(StorageFailing, match=r"I/O error, SQLITE_IOERR_\w+.*the disk or its mount fails"):
            storage.runs.put([RunRow(id="r", notes="x" * 100_000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    storage.runs.put([RunRow(id="r", notes="x" * 100_000)])
    storage.close()


def test_settings_outlive_a_rebuild_and_a_file_of_them_that_rots_is_told(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'index'}"
    storage = open_storage(url)
    storage.settings.merge("vision", "ada", changes={"now": {"sort": "name"}})
    storage.settings.merge("vision", "bob", changes={"now": {"sort": "id"}})
    storage.close()
    rebuild(str(tmp_path), url, clock=Clock())
    storage = open_storage(url)
    assert storage.settings.get("vision", "ada") == {"now": {"sort": "name"}}
    [rotten] = [path for path in (tmp_path / "index" / "settings").glob("*.json") if b'"ada"' in path.read_bytes()]
    rotten.write_bytes(rotten.read_bytes()[:-9])
    with pytest.raises(StorageFailing, match="restore it, or remove it"):
        storage.settings.merge("vision", "ada", changes={"now": {"x": "time"}})
    assert storage.settings.get("vision", "bob") == {"now": {"sort": "id"}}
    storage.close()
