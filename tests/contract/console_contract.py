"""What every engine promises about consoles, events and blobs, as tests."""

import contextlib
import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.errors import DigestMismatch, NoBlob, OffsetGap, UsageError
from holter.storage.console import ConsoleBatch, ConsoleLine, ConsoleRange, Event, Gap
from holter.storage.opening import Storage, open_storage
from holter.storage.places import Places
from tests.contract.port_contract import PROPERTY, RUN, PortContract


def batch(start: int, texts: list[str], *, rest: str = "") -> ConsoleBatch:
    """Lines of ten bytes each."""
    lines = tuple((start + number, 1, text) for number, text in enumerate(texts))
    return ConsoleBatch(RUN, "output", start, start + 10 * len(texts), lines, rest)


def shown(storage: Storage, wanted: ConsoleRange) -> list[str]:
    """The texts of lines."""
    return [line.text for line in storage.console.lines(RUN, "output", wanted=wanted)]


class ConsoleExamplesContract(PortContract):
    """The port `ConsoleStore`, in examples."""

    def test_lines_are_kept_once_however_often_they_come(self, storage: Storage) -> None:
        for _ in range(2):
            storage.console.append(batch(0, ["one", "two"]))
        storage.console.append(batch(20, ["three"], rest="unfini"))
        storage.console.append(batch(0, ["one", "two"]))
        assert shown(storage, ConsoleRange(10)) == ["one", "two", "three", "unfini"]
        assert storage.console.transcripts(RUN) == {"output": 30}

    def test_an_unfinished_line_is_replaced_by_the_next_word_on_it(self, storage: Storage) -> None:
        storage.console.append(batch(0, ["one"], rest="50 %"))
        storage.console.append(batch(10, [], rest="70 %"))
        assert shown(storage, ConsoleRange(10)) == ["one", "70 %"]
        storage.console.append(batch(10, ["100 %"]))
        assert shown(storage, ConsoleRange(10)) == ["one", "100 %"]

    def test_a_batch_that_does_not_join_is_refused(self, storage: Storage) -> None:
        storage.console.append(batch(0, ["one"]))
        with pytest.raises(OffsetGap) as refused:
            storage.console.append(batch(20, ["three"]))
        assert refused.value.have == 10

    def test_lines_behind_those_that_were_not_kept_have_their_true_numbers(self, storage: Storage) -> None:
        storage.console.append(batch(0, ["0", "1"]))
        late = ((7, 1, "90"), (8, 1, "91"))
        for _ in range(2):
            storage.console.append(ConsoleBatch(RUN, "output", 20, 920, late, "92", missed=880, first=90))
        storage.console.append(ConsoleBatch(RUN, "output", 920, 1500, ((9, 1, "?"),), missed=570))
        found = storage.console.lines(RUN, "output", wanted=ConsoleRange(9))
        assert [(line.number, line.text) for line in found] == [(0, "0"), (1, "1"), (90, "90"), (91, "91"), (92, "?")]
        assert storage.console.gaps(RUN, "output") == [Gap(2, 88, 880), Gap(92, 0, 570)]
        after = storage.console.lines(RUN, "output", wanted=ConsoleRange(2, start=5))
        assert [line.number for line in after] == [90, 91]
        storage.console.delete(RUN)
        assert storage.console.gaps(RUN, "output") == []

    def test_each_line_has_its_time_and_stream(self, storage: Storage) -> None:
        storage.console.append(ConsoleBatch(RUN, "output", 0, 9, ((5, 1, "out"), (6, 2, "err"))))
        found = storage.console.lines(RUN, "output", wanted=ConsoleRange(2))
        assert found == [ConsoleLine(0, 5, 1, "out"), ConsoleLine(1, 6, 2, "err")]

    def test_words_are_found_whatever_their_colours(self, storage: Storage) -> None:
        storage.console.append(batch(0, ["a \x1b[31mnee\x1b[0mdle", "hay"]))
        for start in (0, None):
            assert shown(storage, ConsoleRange(9, start, "NEEDLE")) == ["a \x1b[31mnee\x1b[0mdle"]
            assert shown(storage, ConsoleRange(9, start, "[31m")) == []

    def test_an_event_that_is_said_again_is_one_event(self, storage: Storage) -> None:
        event = Event(7, "a" * 32, 100, "Alerted", {"title": "hot"})
        storage.console.add_events(RUN, [event, Event(5, "a" * 32, 120, "Noted", {"text": "x"})])
        storage.console.add_events(RUN, [Event(7, "a" * 32, 900, "Alerted", {"title": "hot"})])
        assert [each.kind for each in storage.console.events(RUN)] == ["Noted", "Alerted"]
        assert storage.console.events(RUN, ["Alerted"]) == [event]

    def test_a_deleted_run_is_gone(self, storage: Storage) -> None:
        storage.console.append(batch(0, ["one"]))
        storage.console.add_events(RUN, [Event(7, "a" * 32, 100, "Alerted", {})])
        storage.console.delete(RUN)
        storage.console.delete(RUN)
        assert storage.console.transcripts(RUN) == {}
        assert storage.console.events(RUN) == []
        storage.console.append(batch(0, ["again"]))
        assert shown(storage, ConsoleRange(10)) == ["again"]


class ConsoleContract(ConsoleExamplesContract):
    """The port `ConsoleStore`, in examples and whatever else there may be."""

    @given(
        counts=st.lists(st.integers(0, 700), max_size=4),
        start=st.one_of(st.none(), st.integers(0, 1200)),
        count=st.integers(0, 900),
        text=st.sampled_from(["", "7", "LINE 1"]),
    )
    @PROPERTY
    def test_ranges_tails_and_searches_are_those_of_a_list(
        self, storage: Storage, counts: list[int], *, start: int | None, count: int, text: str
    ) -> None:
        storage.console.delete(RUN)
        lines: list[str] = []
        for size in counts:
            texts = [f"line {len(lines) + number}" for number in range(size)]
            storage.console.append(batch(10 * len(lines), texts))
            lines += texts
        fitting = [(number, line) for number, line in enumerate(lines) if text.lower() in line]
        if start is None:
            wanted = fitting[-count:] if count else []
        else:
            wanted = [pair for pair in fitting if pair[0] >= start][:count]
        found = storage.console.lines(RUN, "output", wanted=ConsoleRange(count, start, text))
        assert [(line.number, line.text) for line in found] == wanted


def digest_of(data: bytes) -> str:
    """The name of a blob."""
    return hashlib.sha256(data).hexdigest()


def _send(storage: Storage, data: bytes, *, by: int, name: str = "") -> None:
    """Stage a blob piece by piece, under its own name or another."""
    have = 0
    while have < len(data):
        have = storage.blobs.stage(name or digest_of(data), data[have : have + by], offset=have)


class BlobsContract(PortContract):
    """The port `BlobStore`."""

    def test_a_blob_is_absent_until_it_is_complete(self, storage: Storage) -> None:
        data = bytes(range(256)) * 40
        name = digest_of(data)
        assert storage.blobs.stage(name, data[:5000], offset=0) == 5000
        assert storage.blobs.size(name) is None
        with pytest.raises(NoBlob):
            storage.blobs.read(name)
        assert storage.blobs.stage(name, data[8000:], offset=8000) == 5000
        assert storage.blobs.stage(name, data[4000:], offset=4000) == len(data)
        storage.blobs.seal(name)
        storage.blobs.seal(name)
        assert storage.blobs.size(name) == len(data)
        assert storage.blobs.read(name, start=100, count=7) == data[100:107]
        assert storage.blobs.stage(name, b"more", offset=0) == len(data)

    def test_staging_goes_on_where_it_stopped(self, url: Places | str) -> None:
        data = b"x" * 3000
        first = open_storage(url)
        have = first.blobs.stage(digest_of(data), data[:1000], offset=0)
        second = open_storage(url)
        have = second.blobs.stage(digest_of(data), data[have:], offset=have)
        have = have if have == 3000 else second.blobs.stage(digest_of(data), data[have:], offset=have)
        second.blobs.seal(digest_of(data))
        assert second.blobs.read(digest_of(data)) == data
        first.close()
        second.close()

    def test_bytes_that_are_not_what_their_name_says_are_forgotten(self, storage: Storage) -> None:
        name = digest_of(b"right")
        storage.blobs.stage(name, b"wrong", offset=0)
        with pytest.raises(DigestMismatch):
            storage.blobs.seal(name)
        assert storage.blobs.stage(name, b"right", offset=0) == 5
        storage.blobs.seal(name)
        assert storage.blobs.read(name) == b"right"

    def test_many_who_send_the_same_at_once_all_have_it(self, storage: Storage, url: Places | str) -> None:
        other = open_storage(url)

        def send(data: bytes) -> None:
            for place in (storage, other):
                _send(place, data, by=30_000)
                place.blobs.seal(digest_of(data))
                place.blobs.attach("run", {"same": digest_of(data)})
                assert place.blobs.read(digest_of(data)) == data

        for number in range(6):
            with ThreadPoolExecutor(8) as senders:
                list(senders.map(send, [bytes([number]) * 70_000] * 8))
        other.close()

    def test_who_sends_something_else_under_a_name_never_spoils_what_is_sealed(self, storage: Storage) -> None:
        """One sender is honest, the others send the wrong bytes of the right length under the same name."""
        right = [bytes([number]) * 50_000 for number in range(8)]
        for each in right:
            wrong = each[:-1] + b"!"

            def send(data: bytes, name: str = digest_of(each)) -> None:
                _send(storage, data, by=20_000, name=name)
                with contextlib.suppress(DigestMismatch):
                    storage.blobs.seal(name)

            with ThreadPoolExecutor(4) as senders:
                list(senders.map(send, [wrong, each, wrong, wrong]))
            send(each)
        assert [storage.blobs.read(digest_of(each)) for each in right] == right

    @pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63])
    def test_what_is_no_digest_is_refused(self, storage: Storage, name: str) -> None:
        with pytest.raises(UsageError):
            storage.blobs.stage(name, b"", offset=0)

    def test_a_blob_lives_as_long_as_a_run_names_it(self, storage: Storage) -> None:
        name = digest_of(b"data")
        storage.blobs.stage(name, b"data", offset=0)
        storage.blobs.seal(name)
        storage.blobs.attach("one", {"media/a.png": name, "b": name})
        storage.blobs.attach("two", {"c": name})
        assert storage.blobs.attached("one") == {"b": name, "media/a.png": name}
        storage.blobs.delete("one")
        assert storage.blobs.attached("one") == {}
        assert storage.blobs.read(name) == b"data"
        storage.blobs.delete("two")
        assert storage.blobs.size(name) is None

    def test_only_what_is_there_can_be_named(self, storage: Storage) -> None:
        with pytest.raises(NoBlob):
            storage.blobs.attach("one", {"a": digest_of(b"nothing")})
        assert storage.blobs.attached("one") == {}
