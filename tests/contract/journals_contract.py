"""What every place of received journals promises."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.errors import JournalError, UsageError
from holter.journal.frame import HEADER_SIZE, Header, encode_header
from holter.storage.journals import JournalStore, Part, offset_of
from tests.contract.port_contract import PROPERTY

JOURNAL = "0123456789abcdef" * 2
OTHER = "f" * 32
Open = Callable[[], JournalStore]


def stream(size: int, *, journal: str = JOURNAL, cut: int = 0) -> bytes:
    """A journal of two segments, the second of which begins at `cut`; what is in them is nobody's business here."""
    data = bytearray(random.Random(size).randbytes(size))
    for number, base in enumerate([0, cut] if cut else [0], 1):
        header = Header(journal=bytes.fromhex(journal), segment=number, base=base, created_ns=1)
        data[base : base + HEADER_SIZE] = encode_header(header)
    return bytes(data)


def add(store: JournalStore, data: bytes, offset: int = 0, *, run: str = "run", name: str = JOURNAL) -> int:
    part = Part(run=run, kind="journal" if len(name) == 32 else "text", name=name, offset=offset, data=data)
    return offset_of(store.accept_all([part]))


def whole(store: JournalStore, name: str = JOURNAL, run: str = "run") -> bytes:
    return store.read(run, name, start=0, stop=1 << 40)


class JournalsContract:
    """A subclass has a fixture `open_store`, which opens the same place each time, as other servers do."""

    @pytest.fixture
    def store(self, open_store: Open) -> Iterator[JournalStore]:
        opened = open_store()
        yield opened
        opened.close()

    def test_ranges_add_up(self, store: JournalStore) -> None:
        data = stream(5000, cut=3000)
        assert add(store, data[:2990]) == 2990
        assert add(store, data[2990:3010], 2990) == 3010
        assert add(store, data[3010:], 3010) == 5000
        assert whole(store) == data
        assert store.read("run", JOURNAL, start=2995, stop=3020) == data[2995:3020]
        assert store.read("run", JOURNAL, start=4990, stop=9000) == data[4990:]
        assert store.read("run", JOURNAL, start=5000, stop=9000) == b""
        assert store.held("run").journals == {JOURNAL: 5000}

    def test_a_repeat_is_a_no_op_also_where_it_has_more(self, store: JournalStore) -> None:
        data = stream(1000)
        assert add(store, data[:500]) == 500
        assert add(store, data[:400]) == 500
        assert add(store, data[100:700], 100) == 700
        assert add(store, data) == 1000
        assert whole(store) == data

    def test_a_gap_is_refused_with_the_offset_that_is_there(self, store: JournalStore) -> None:
        data = stream(1000)
        assert add(store, data[300:], 300) == 0
        assert store.held("run").size == 0
        add(store, data[:200])
        assert add(store, data[300:], 300) == 200
        assert whole(store) == data[:200]

    def test_what_can_be_no_journal_is_refused_and_stops_no_other(self, store: JournalStore) -> None:
        data = stream(300)
        answers = store.accept_all(
            [
                Part(run="run", name=JOURNAL, offset=0, data=b"x" * 200),
                Part(run="run", name="../x", offset=0, data=data),
                Part(run="../run", name=JOURNAL, offset=0, data=data),
                Part(run="run", kind="text", name="passwd", offset=0, data=data),
                Part(run="other", name=JOURNAL, offset=0, data=data[:10]),
                Part(run="other", name=JOURNAL, offset=0, data=data),
            ]
        )
        assert [type(each) for each in answers] == [JournalError, UsageError, UsageError, UsageError, int, int]
        assert answers[4:] == [0, 300]
        assert list(store.grown().runs) == ["other"]

    def test_texts_grow_beside_journals(self, store: JournalStore) -> None:
        add(store, stream(100))
        assert add(store, b"a\0\xff", name="output.log") == 3
        assert add(store, b"\xffb", 2, name="output.log") == 4
        assert add(store, b"late", 9, name="output.log") == 4
        assert whole(store, "output.log") == b"a\0\xffb"
        assert store.held("run").texts == {"output.log": 4}
        assert store.held("run").size == 104

    def test_what_nobody_sent_is_not_there(self, store: JournalStore) -> None:
        assert store.held("nobody").size == 0
        assert whole(store, run="nobody") == whole(store, "output.log", "nobody") == b""
        assert not store.grown().runs
        assert store.seal("nobody") == 0
        store.delete("nobody")

    def test_what_is_sealed_is_read_with_what_is_not(self, store: JournalStore) -> None:
        data = stream(30_000, cut=20_000)
        text = b"0123456789" * 100
        for start in range(0, 12_000, 1000):
            add(store, data[start : start + 1000], start)
        add(store, text[:400], name="output.log")
        store.seal("run")
        add(store, data[12_000:21_000], 12_000)
        add(store, text[400:], 400, name="output.log")
        assert store.read("run", JOURNAL, start=11_990, stop=12_010) == data[11_990:12_010]
        store.seal("run")
        assert store.seal("run") == 0
        add(store, data[21_000:], 21_000)
        assert whole(store) == data
        assert store.read("run", JOURNAL, start=999, stop=1001) == data[999:1001]
        assert whole(store, "output.log") == text
        assert add(store, data[:5000]) == 30_000

    def test_a_deleted_run_is_gone_and_may_come_again(self, store: JournalStore) -> None:
        data = stream(1000)
        add(store, data[:600])
        store.seal("run")
        add(store, data[600:], 600)
        add(store, stream(100), run="other")
        store.delete("run")
        store.delete("run")
        assert store.held("run").size == 0
        assert whole(store) == b""
        assert store.grown().runs == {"other": 100}
        assert add(store, data[:500]) == 500
        assert whole(store) == data[:500]

    def test_another_server_sees_what_this_one_keeps_and_goes_on_with_it(
        self, store: JournalStore, open_store: Open
    ) -> None:
        data, other = stream(1000, cut=500), open_store()
        try:
            add(store, data[:400])
            assert other.held("run").journals == {JOURNAL: 400}
            assert add(other, data[300:700], 300) == 700
            assert add(store, data[400:], 400) == 1000
            assert whole(other) == whole(store) == data
        finally:
            other.close()

    def test_what_grew_since_is_told(self, store: JournalStore) -> None:
        add(store, stream(100), run="one")
        first = store.grown()
        assert first.runs == {"one": 100}
        add(store, stream(200)[:150], run="two")
        add(store, b"abc", run="two", name="output.log")
        later = store.grown(first.next_s)
        assert later.runs["two"] == 153
        assert later.next_s >= first.next_s

    def test_two_who_send_the_same_at_once_add_it_once(self, store: JournalStore, open_store: Open) -> None:
        data, other = stream(30_000, cut=20_000), open_store()

        def send(to: JournalStore) -> None:
            have = 0
            while have < len(data):
                have = add(to, data[have : have + 997], have)

        try:
            with ThreadPoolExecutor(2) as pool:
                for sent in [pool.submit(send, to) for to in (store, other)]:
                    while not sent.done():
                        store.seal("run")
                    sent.result()
        finally:
            other.close()
        assert whole(store) == data

    @given(moves=st.lists(st.tuples(st.integers(-300, 100), st.integers(1, 900), st.booleans()), max_size=12))
    @PROPERTY
    def test_whatever_comes_in_whatever_order_adds_up(
        self, moves: list[tuple[int, int, bool]], store: JournalStore
    ) -> None:
        store.delete("run")
        data, have = stream(4000, cut=1500), 0
        for back, size, seals in moves:
            start = max(0, have + back)
            answer = add(store, data[start : start + size], start)
            stop = min(start + size, len(data))
            is_kept = start <= have and (have or stop >= HEADER_SIZE)
            assert answer == (max(have, stop) if is_kept else have)
            have = answer
            if seals:
                store.seal("run")
            assert whole(store) == data[:have]
