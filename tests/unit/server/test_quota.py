"""A little that unpacks to very much does not fill the server's disk."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard

from holter.errors import Refused
from holter.server.api.batches import AskedBatch, receive_batches
from holter.server.domain.services import ServerSettings, Services
from holter.server.ingest.quota import Unpacking
from holter.server.security.access import Visitor
from holter.server.security.gate import ZSTD
from holter.server.transport.routing import Visit
from holter.storage.places import Places
from holter.wire.batches import Head, Range, encode_batch

MIB = 1 << 20


def message(size: int) -> bytes:
    each = Range(kind="text", name="output.log", offset=0, count=size)
    return zstandard.compress(encode_batch(Head(id="1", ranges=[each]), [bytes(size)]), 3)


def test_sixteen_messages_of_two_kilobytes_do_not_write_a_gigabyte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holter.server.api.ingest.time", SimpleNamespace(monotonic=lambda: 0.0))
    services = Services(ServerSettings(data=str(tmp_path), places=Places.at("memory:"), token="t"), {})
    who = Visitor(id="k", name="ada", scope="write")
    told = []
    for data in (message(60 * MIB), message(15 * MIB)):
        assert len(data) < 6_000
        for number in range(16):
            visit = Visit(services=services, visitor=who, data=data, headers={"content-type": ZSTD})
            told += receive_batches([(visit, AskedBatch(run=f"r{number}"))])
    services.close()
    written = sum(path.stat().st_size for path in (tmp_path / "runs").rglob("*") if path.is_file())
    assert written == 4 * 15 * MIB
    statuses = [answer.status for answer in told if isinstance(answer, Refused)]
    assert statuses == [413] * 16 + [429] * 12


def test_who_waits_as_told_may_go_on() -> None:
    unpacking = Unpacking()
    for _ in range(4):
        unpacking.spend("k", 0.0, packed=0, unpacked=16 * MIB)
    with pytest.raises(Refused) as told:
        unpacking.spend("k", 0.0, packed=0, unpacked=16 * MIB)
    assert (told.value.status, told.value.retry_s) == (429, 15)
    unpacking.spend("k", 15.0, packed=0, unpacked=16 * MIB)
    unpacking.spend("another", 0.0, packed=0, unpacked=16 * MIB)


def test_what_packs_as_usual_is_never_counted() -> None:
    unpacking = Unpacking()
    for _ in range(1000):
        unpacking.spend("k", 0.0, packed=70_000, unpacked=4 * MIB)
        unpacking.spend("k", 0.0, packed=20, unpacked=200_000)
