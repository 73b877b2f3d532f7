"""What every place for the books of sweeps promises, and what agents get of it over several servers."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from holter.errors import NoSweep
from holter.storage.sweeps import Lines, SweepStore
from holter.sweeps.desk import LEASE_S, Desk
from holter.sweeps.words import Outcome, Word
from tests.contract.processes import start_process
from tests.unit.sweeps.desks import Bench, asker

Open = Callable[[], SweepStore]


def add(*lines: bytes) -> Callable[[Lines], list[bytes]]:
    return lambda before: list(lines)


def die_while_adding(open_store: Open) -> None:
    """With the book in hand."""

    def die(before: Lines) -> list[bytes]:
        os.kill(os.getpid(), signal.SIGKILL)
        return [b"lost"]

    open_store().open("s1").append(0, die)


class SweepsContract:
    """A subclass has a fixture `open_sweep_store`, which opens the same place each time, as other servers do."""

    @pytest.fixture
    def stores(self, open_sweep_store: Open) -> Iterator[tuple[SweepStore, SweepStore]]:
        """Those of two servers."""
        found = open_sweep_store(), open_sweep_store()
        yield found
        for each in found:
            each.close()

    def test_a_book_is_begun_once_and_has_what_it_began_with(self, stores: tuple[SweepStore, SweepStore]) -> None:
        one, other = stores
        assert one.names() == []
        one.begin("s1", [b"a", b"b"])
        with pytest.raises(FileExistsError):
            other.begin("s1", [b"c"])
        assert other.names() == ["s1"]
        assert other.open("s1").read(0).lines == [b"a", b"b"]
        for name in ("s2", "..", "", "s1/../s1"):
            with pytest.raises(NoSweep):
                other.open(name)

    def test_lines_are_read_from_where_one_stopped(self, stores: tuple[SweepStore, SweepStore]) -> None:
        stores[0].begin("s1", [b"a"])
        one, other = (each.open("s1") for each in stores)
        first = one.read(0)
        stop = other.append(0, add(b"b", b'{"c": "\xc3\xa4"}'))
        assert one.read(first.stop) == Lines([b"b", b'{"c": "\xc3\xa4"}'], stop)
        assert other.read(stop) == Lines([], stop)
        assert other.append(stop, add()) == stop

    def test_who_adds_sees_what_others_added_before(self, stores: tuple[SweepStore, SweepStore]) -> None:
        stores[0].begin("s1", [b"a"])
        one, other = (each.open("s1") for each in stores)
        start = one.read(0).stop
        other.append(start, add(b"b"))
        seen: list[bytes] = []

        def make(before: Lines) -> list[bytes]:
            seen.extend(before.lines)
            return [b"c"]

        one.append(start, make)
        assert seen == [b"b"]
        assert other.read(0).lines == [b"a", b"b", b"c"]

    def test_what_raises_adds_nothing_and_stops_nobody(self, stores: tuple[SweepStore, SweepStore]) -> None:
        stores[0].begin("s1", [b"a"])
        one, other = (each.open("s1") for each in stores)

        def refuse(before: Lines) -> list[bytes]:
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            one.append(0, refuse)
        other.append(0, add(b"b"))
        assert one.read(0).lines == [b"a", b"b"]

    def test_who_is_killed_with_the_book_in_hand_adds_nothing_and_stops_nobody(
        self, stores: tuple[SweepStore, SweepStore], open_sweep_store: Open
    ) -> None:
        stores[0].begin("s1", [b"a"])
        died = start_process(die_while_adding, open_sweep_store)
        died.join()
        assert died.exitcode == -signal.SIGKILL
        stores[1].open("s1").append(0, add(b"b"))
        assert stores[0].open("s1").read(0).lines == [b"a", b"b"]

    def test_of_many_who_add_at_once_each_sees_all_before(self, open_sweep_store: Open) -> None:
        first = open_sweep_store()
        first.begin("s1", [b"0"])

        def work() -> None:
            store = open_sweep_store()
            book, start = store.open("s1"), 0
            for _ in range(20):
                start = book.append(0, lambda before: [b"%d" % len(before.lines)])
            assert len(book.read(start).lines) < 100
            store.close()

        with ThreadPoolExecutor(5) as pool:
            for done in [pool.submit(work) for _ in range(5)]:
                done.result()
        assert first.open("s1").read(0).lines == [b"%d" % number for number in range(101)]
        first.close()

    def test_agents_are_heard_by_all(self, stores: tuple[SweepStore, SweepStore]) -> None:
        stores[0].begin("s1", [b"a"])
        one, other = (each.open("s1") for each in stores)
        assert one.heard() == []
        long_ago = time.time_ns() - 1000 * 10**9
        one.hear("a1", b"first", at_ns=time.time_ns())
        other.hear("a1", b"second", at_ns=long_ago)
        one.hear("b1", b"third", at_ns=time.time_ns())
        assert {each.data for each in one.heard()} == {b"second", b"third"}
        [seen] = [each.at_ns for each in one.heard() if each.data == b"second"]
        assert abs(seen - long_ago) < 100 * 10**9

    def test_a_trial_that_two_servers_hand_out_at_once_goes_to_one_agent(
        self, tmp_path: Path, open_sweep_store: Open
    ) -> None:
        first = open_sweep_store()
        Bench(tmp_path, store=first, method="grid", parameters={"x": {"values": list(range(24))}})

        def work(agent: str) -> list[int]:
            store, taken = open_sweep_store(), []
            desk = Desk(store, "s1")
            while (lease := desk.ask(asker(agent)).lease) is not None:
                taken.append(lease.params["x"])
                word = Word(asker=asker(agent), number=lease.number, fence=lease.fence)
                assert desk.say(word).holds
                ended = Outcome(state="finished", value=1.0)
                assert desk.say(Word(asker=asker(agent), number=lease.number, fence=lease.fence, ended=ended)).holds
            store.close()
            return taken

        with ThreadPoolExecutor(4) as pool:
            taken = [number for numbers in pool.map(work, "abcd") for number in numbers]
        assert sorted(taken) == list(range(24))
        assert [each.state for each in Desk(first, "s1").state().trials] == ["finished"] * 24
        first.close()

    def test_a_lease_that_one_server_gave_is_fenced_off_by_another(
        self, tmp_path: Path, stores: tuple[SweepStore, SweepStore]
    ) -> None:
        bench = Bench(tmp_path, store=stores[0], parameters={"x": {"min": 0.0, "max": 1.0}}, run_cap=1)
        other = bench.open(stores[1])
        lease = bench.take("a")
        bench.now_ns += int((LEASE_S - 1) * 1e9)
        assert other.say(Word(asker=asker("a"), number=0, fence=1)).holds
        bench.now_ns += int((LEASE_S - 1) * 1e9)
        assert bench.ask("b", desk=other).lease is None
        bench.now_ns += int(2 * 1e9)
        again = bench.ask("b", desk=other).lease
        assert again is not None
        assert (again.number, again.fence, again.before) == (0, 2, (lease.run,))
        assert not bench.finish(lease, 0.5, "a")
        assert bench.finish(again, 0.25, "b")
        [trial] = other.state().trials
        assert (trial.state, trial.value, [each.cause for each in trial.attempts]) == (
            "finished",
            0.25,
            ["agent-lost", ""],
        )

    def test_what_is_told_to_several_servers_at_once_counts_once(
        self, tmp_path: Path, stores: tuple[SweepStore, SweepStore]
    ) -> None:
        bench = Bench(tmp_path, store=stores[0], parameters={"x": {"min": 0.0, "max": 1.0}})
        lease = bench.take("a")
        desks, together = [bench.open(each) for each in stores * 4], threading.Barrier(8)
        ended = Word(asker=asker("a"), number=0, fence=lease.fence, ended=Outcome(state="crashed", cause="killed"))

        def tell(desk: Desk) -> bool:
            together.wait()
            return desk.say(ended).holds

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(tell, desks)) == 1
        assert bench.desk.state().trials[0].tries == 1
