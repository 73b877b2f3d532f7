"""Bytes of the index that rot: the server starts, says so where it notices, and makes it again from the runs."""

import contextlib
import hashlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.errors import StorageDamaged
from holter.model.clock import Clock
from holter.server.domain.services import ServerSettings, Services
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.rebuilding import rebuild
from holter.server.ingest.uploads import name_upload
from holter.storage.opening import open_storage
from holter.storage.runs import RunQuery
from holter.storage.series import Line
from tests.clocks import FakeClock
from tests.unit.server.remote import RemoteJournal, send

FILES = ("runs.db", "series.db", "console.db", "blobs.db")
BLOB = b"weights"
DIGEST = hashlib.sha256(BLOB).hexdigest()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with its index."""
    place = tmp_path_factory.mktemp("sound")
    data = place / "data"
    storage = open_storage(f"sqlite:{data / 'index'}")
    ingest = Ingest(str(data), storage, clock=Clock())
    for number in range(5):
        journal = RemoteJournal(place / f"far{number}", f"r{number}", clock=FakeClock())
        journal.describe()
        journal.log(20)
        journal.finish()
        send(ingest, journal)
    ingest.catch_up()
    storage.blobs.stage(DIGEST, BLOB, offset=0)
    storage.blobs.seal(DIGEST)
    storage.blobs.attach("r1", {"model.bin": DIGEST})
    name_upload(str(data / "runs" / "r1"), "model.bin", digest=DIGEST)
    ingest.close()
    storage.close()
    return data


@pytest.fixture
def data(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "data")


def use(data: Path) -> None:
    """Start a server and look at everything; damage that is noticed only then is told as such."""
    services = Services(ServerSettings(data=str(data), kind="server"), {})
    try:
        with contextlib.suppress(StorageDamaged):
            services.follower._tick()
            services.storage.runs.query(RunQuery(now_ns=Clock().now_ns()))
            for number in range(5):
                services.storage.series.points(Line(f"r{number}", "loss"))
                services.storage.console.events(f"r{number}")
                services.storage.blobs.attached(f"r{number}")
    finally:
        with contextlib.suppress(StorageDamaged):
            services.close()


def is_whole(data: Path) -> bool:
    storage = open_storage(f"sqlite:{data / 'index'}")
    try:
        return (
            sorted(storage.runs.seen()) == [f"r{number}" for number in range(5)]
            and all(len(storage.series.points(Line(f"r{number}", "loss")).steps) == 20 for number in range(5))
            and storage.blobs.attached("r1").get("model.bin") == DIGEST
        )
    finally:
        storage.close()


def spoil_schema(raw: bytearray) -> None:
    at = raw.index(b"CREATE ")
    raw[at : at + 20] = b"\xff\xfe" * 10


def spoil_name_of_table(raw: bytearray) -> None:
    at = raw.index(b"CREATE TABLE ") + len(b"CREATE TABLE ")
    raw[at] = 0x98


def spoil_texts(raw: bytearray) -> None:
    for text in (b"far", b"loss", b"model.bin", b"Finished"):
        at = raw.find(text)
        if at >= 0:
            raw[at : at + 3] = b"\xff\xff\xff"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("spoil", [spoil_schema, spoil_name_of_table, spoil_texts])
def test_texts_that_are_none_end_neither_a_start_nor_a_rebuild(
    data: Path, name: str, spoil: Callable[[bytearray], None]
) -> None:
    path = data / "index" / name
    raw = bytearray(path.read_bytes())
    spoil(raw)
    path.write_bytes(raw)
    use(data)
    use(data)  # what was noticed by then is made again
    path.write_bytes(raw)
    rebuild(str(data), f"sqlite:{data / 'index'}", clock=Clock())
    assert is_whole(data)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", FILES)
def test_bits_that_flip_end_neither_a_start_nor_a_rebuild(data: Path, name: str, seed: int) -> None:
    chance = random.Random(seed)
    path = data / "index" / name
    raw = bytearray(path.read_bytes())
    for _ in range(8):
        # Not the version: one that is higher may be a newer holter's, and then nothing is discarded.
        at = chance.choice([place for place in range(len(raw)) if raw[place] and not 60 <= place < 64])
        raw[at] ^= 1 << chance.randrange(8)
    path.write_bytes(raw)
    use(data)
    path.write_bytes(raw)
    rebuild(str(data), f"sqlite:{data / 'index'}", clock=Clock())
    assert is_whole(data)
