"""What is said to be all that there is to send really is, whatever the server keeps of it."""

from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import zstandard

from holter.errors import Refused
from holter.sidecar.sending import RunSender
from holter.wire.batches import Holdings, Kept, decode_batch
from holter.wire.connection import Answer, Connection
from tests.clocks import FakeClock
from tests.unit.server.remote import RemoteJournal

BATCH_BYTES = 200_000


class Keeper:
    """Keeps ranges as a server does; of each message it may keep some bytes less than it got."""

    def __init__(self, *, withheld: int = 0) -> None:
        self.kept: dict[str, bytes] = {}
        self.withheld = withheld
        self.largest = 0
        self.sent: list[list[str]] = []
        """The names in each message."""

    def ask(self, method: str, path: str, **sent: Any) -> Answer:
        if path.endswith("/claim"):
            raise Refused(404, "there is no such address")  # as servers that keep no owners
        if method == "GET":
            offsets = {name: len(data) for name, data in self.kept.items()}
            return Answer(200, msgspec.json.encode(Holdings(journals=offsets, transcripts={}, files={})))
        head, parts = decode_batch(zstandard.decompress(sent["data"]))
        self.largest = max(self.largest, sum(map(len, parts)))
        self.sent.append([each.name for each in head.ranges])
        for each, data in zip(head.ranges, parts, strict=True):
            have = self.kept.get(each.name, b"")
            if each.offset <= len(have):
                stop = len(data) - self.withheld if len(data) > self.withheld else len(data)
                self.kept[each.name] = max(have, have[: each.offset] + data[:stop], key=len)
        return Answer(200, msgspec.json.encode(Kept(id=head.id, offsets={n: len(d) for n, d in self.kept.items()})))


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RemoteJournal:
    """Several segments, more than one message can hold."""
    monkeypatch.setattr("holter.sidecar.sending.BATCH_BYTES", BATCH_BYTES)
    found = RemoteJournal(tmp_path / "run", "r1", clock=FakeClock())
    found.describe()
    found.log(8_000)
    return found


def send_all(sender: RunSender, *, most: int = 50) -> int:
    """Returns how many messages that took."""
    for count in range(1, most):
        if sender.send(is_final=True).is_all:
            return count
    raise AssertionError("it never ends")


def sender_to(keeper: Keeper, journal: RemoteJournal) -> RunSender:
    return RunSender(str(journal.directory), "r1", connection=cast("Connection", keeper))


@pytest.mark.parametrize("withheld", [0, 1, 63])
def test_all_is_sent_over_the_ends_of_segments(journal: RemoteJournal, withheld: int) -> None:
    keeper = Keeper(withheld=withheld)
    send_all(sender_to(keeper, journal))
    assert len(journal.stream()) > BATCH_BYTES
    assert keeper.kept[journal.id] == journal.stream()
    assert keeper.largest <= BATCH_BYTES


def test_a_server_that_lost_something_gets_it_again(journal: RemoteJournal) -> None:
    keeper = Keeper()
    sender = sender_to(keeper, journal)
    send_all(sender)
    keeper.kept[journal.id] = keeper.kept[journal.id][:100_000]  # as from a backup of last night
    journal.log()
    send_all(sender)
    assert keeper.kept[journal.id] == journal.stream()


class Refuser(Keeper):
    """Its disk takes nothing, and it does not say so."""

    def ask(self, method: str, path: str, **sent: Any) -> Answer:
        if method == "GET" or path.endswith("/claim"):
            return super().ask(method, path, **sent)
        head, _ = decode_batch(zstandard.decompress(sent["data"]))
        return Answer(200, msgspec.json.encode(Kept(id=head.id, offsets={each.name: 0 for each in head.ranges})))


def test_a_server_that_keeps_nothing_is_not_asked_for_ever(journal: RemoteJournal) -> None:
    assert send_all(sender_to(Refuser(), journal)) == 1


def test_heartbeats_travel_ahead_of_rows_that_wait(journal: RemoteJournal) -> None:
    """However many processes have however much to send."""
    for _ in range(3):
        RemoteJournal(journal.directory, "r1", clock=journal.clock, writer="worker").log(8_000)
    sidecar = RemoteJournal(journal.directory, "r1", clock=journal.clock, writer="sidecar")
    keeper = Keeper()
    sender = sender_to(keeper, journal)
    for _ in range(3):
        sidecar.beat()
        assert not sender.send().is_all
        assert keeper.kept[sidecar.id] == sidecar.stream()
    assert [names[0] for names in keeper.sent] == [sidecar.id] * 3


class Slow(Keeper):
    """At the other end of a bad line: a message takes as long as it is large."""

    now = 0.0

    def ask(self, method: str, path: str, **sent: Any) -> Answer:
        answer = super().ask(method, path, **sent)
        self.now += self.largest_sent(sent.get("data", b"")) / 10_000
        return answer

    def largest_sent(self, data: bytes) -> int:
        return sum(map(len, decode_batch(zstandard.decompress(data))[1])) if data[:4] == b"\x28\xb5\x2f\xfd" else 0


def test_over_a_slow_line_messages_get_smaller_so_that_heartbeats_come_in_time(
    journal: RemoteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holter.sidecar.sending.LEAST_BATCH_BYTES", 10_000)
    slow = Slow()
    monkeypatch.setattr("holter.sidecar.sending.time.monotonic", lambda: slow.now)
    sender = sender_to(slow, journal)
    took = []
    for _ in range(8):
        before = slow.now
        sender.send()
        took.append(slow.now - before)
    assert took[0] > 9
    assert max(took[4:]) < 5
    while not sender.send(is_final=True).is_all:
        pass
    assert slow.kept[journal.id] == journal.stream()
