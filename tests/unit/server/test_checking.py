"""`holter server check` finds what is not as it was written, and nothing else."""

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from holter.model.state import Lateness
from holter.server.domain.checking import Check, Checked
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.uploads import name_upload
from holter.storage.opening import Storage, open_storage
from tests.clocks import FakeClock
from tests.unit.server.remote import RemoteJournal, send


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    """Two runs: `ended` is settled and has a file, `going` is being written."""
    clock = FakeClock(time.time_ns())
    opened = open_storage(f"sqlite:{tmp_path / 'data' / 'index'}")
    ingest = Ingest(str(tmp_path / "data"), opened, clock=clock)
    for run in ("ended", "going"):
        journal = RemoteJournal(tmp_path / run, run, clock=clock)
        journal.describe()
        journal.log(5_000)
        if run == "ended":
            journal.finish()
        send(ingest, journal)
    data = b"weights" * 1000
    digest = hashlib.sha256(data).hexdigest()
    opened.blobs.stage(digest, data, offset=0)
    opened.blobs.seal(digest)
    name_upload(str(tmp_path / "data" / "runs" / "ended"), "model.bin", digest=digest)
    opened.blobs.attach("ended", {"model.bin": digest})
    ingest.catch_up()
    clock.advance(60)
    ingest.catch_up()
    ingest.close()
    row = opened.runs.get("ended")
    assert row is not None
    assert row.seen_ns
    yield opened
    opened.close()


def check(tmp_path: Path, storage: Storage) -> tuple[list[str], Checked]:
    checking = Check(str(tmp_path / "data"), storage, lateness=Lateness())
    return [f"{each.run}: {each.what}" for each in checking.run_all()], checking.checked


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_all_is_well_where_nothing_has_changed(tmp_path: Path, storage: Storage) -> None:
    found, checked = check(tmp_path, storage)
    assert found == []
    assert (checked.runs, checked.files, checked.compared) == (2, 1, 1)
    assert checked.journal_bytes > 100_000


def test_one_flipped_bit_of_a_journal_is_found(tmp_path: Path, storage: Storage) -> None:
    (segment,) = (tmp_path / "data" / "runs" / "going").glob("*.seg")
    flip(segment, 40_000)
    found, _ = check(tmp_path, storage)
    assert len(found) == 1
    assert found[0].startswith(f"going: {segment.name}: ")
    assert "its checksum does not match" in found[0]


def test_one_flipped_bit_of_a_file_is_found(tmp_path: Path, storage: Storage) -> None:
    digest = storage.blobs.attached("ended")["model.bin"]
    (blob,) = [path for path in (tmp_path / "data" / "index").rglob("*") if path.name.endswith(digest[2:])]
    flip(blob, 100)
    assert check(tmp_path, storage)[0] == ["ended: the file 'model.bin' is not what was sent"]


def test_an_index_that_says_something_else_than_the_journals_is_found(tmp_path: Path, storage: Storage) -> None:
    row = storage.runs.get("ended")
    assert row is not None
    storage.runs.put([msgspec.structs.replace(row, name="another", version=row.version + 1)])
    storage.series.delete("ended")
    assert check(tmp_path, storage)[0] == [
        "ended: the table has another name than its journals",
        "ended: the series 'acc' differs from its journals",
        "ended: the series 'loss' differs from its journals",
    ]


def test_a_damaged_journal_is_not_a_reason_to_make_the_index_again(tmp_path: Path, storage: Storage) -> None:
    (segment,) = (tmp_path / "data" / "runs" / "ended").glob("*.seg")
    status = segment.stat()
    flip(segment, 40_000)
    os.utime(segment, ns=(status.st_atime_ns, status.st_mtime_ns))
    found, checked = check(tmp_path, storage)
    assert checked.compared == 0
    assert [text for text in found if "can't be read" not in text] == []
    assert len(found) == 1
