"""What every engine promises about series, as tests."""

import itertools
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.errors import OffsetGap
from holter.storage.opening import Storage, open_storage
from holter.storage.places import Places
from holter.storage.series import Axis, Buckets, Line, Points, SeriesBatch, Window
from tests.contract.port_contract import PROPERTY, RUN, PortContract
from tests.contract.processes import PROCESSES, start_process
from tests.contract.writes import Journal, Write, are_same, expected, long_journals, replay
from tests.engines.memory import MemorySeries

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

STEPS = st.one_of(st.integers(-5, 40), st.sampled_from([-(1 << 63), (1 << 63) - 1]))
VALUES = st.one_of(st.floats(width=32), st.floats(), st.integers(-3, 3).map(float))
KEY_SETS = st.sampled_from([("a",), ("b",), ("a", "b"), ("b", "a", "c")])
WRITES = KEY_SETS.flatmap(
    lambda keys: st.builds(Write, st.just(keys), STEPS, st.integers(0, 12), st.tuples(*([VALUES] * len(keys))))
)
JOURNALS = st.tuples(st.lists(WRITES, max_size=40), st.lists(WRITES, max_size=40)).map(
    lambda both: [Journal("a" * 32, both[0]), Journal("b" * 32, both[1])]
)


NEVER = 1_000_000


def take_in(url: Places | str, calls: int, *, acknowledged: "Connection[int, int]") -> None:
    """Append until so many calls are made; nothing of the process is closed or put away."""
    series, left = open_storage(url).series, calls
    append = series.append

    def counted(batch: SeriesBatch) -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        append(batch)
        acknowledged.send(batch.stop)

    series.append = counted  # type: ignore[method-assign]  # it is this one that counts
    replay(series, RUN, journals=long_journals(), rows_at_once=700)


def check_buckets(found: Buckets, points: Points, *, count: int) -> None:
    """Whether buckets say of these points, along their steps, what they promise."""
    assert len(found.first) <= count
    assert found.counts.sum() == len(points.steps)
    assert (found.first[1:] > found.last[:-1]).all()
    start = 0
    for number, size in enumerate(found.counts.tolist()):
        steps, values = points.steps[start : start + size], points.values[start : start + size]
        start += size
        assert (found.first[number], found.last[number]) == (steps[0], steps[-1])
        finite = values[np.isfinite(values)]
        wanted = [finite.min(), finite.max()] if len(finite) else [np.nan, np.nan]
        np.testing.assert_array_equal([found.low[number], found.high[number]], wanted)
        np.testing.assert_array_equal(found.final[number], values[-1])
        assert np.isnan(found.mean[number]) if not len(finite) else wanted[0] <= found.mean[number] <= wanted[1]
        kinds = [np.isnan(values).any(), (values == np.inf).any(), (values == -np.inf).any()]
        assert found.marks[number] == sum(bit for bit, is_there in zip((1, 2, 4), kinds, strict=True) if is_there)


class SeriesExamplesContract(PortContract):
    """The port `SeriesStore`, in examples."""

    @pytest.mark.parametrize("is_synced", [False, True])
    def test_an_attempt_that_logs_the_last_tenth_again_replaces_it(self, storage: Storage, is_synced: bool) -> None:
        journals = long_journals()
        replay(storage.series, RUN, journals=journals, rows_at_once=300)
        if is_synced:
            storage.series.sync(RUN)
        for key in ("loss", "acc"):
            assert are_same(storage.series.points(Line(RUN, key)), expected(journals, key))
        [info, _] = storage.series.list_series(RUN)
        assert (info.points, info.first_step, info.last_step) == (11_000, 0, 10_999)
        [buckets] = storage.series.buckets([Line(RUN, "loss")], Window(100))
        assert (len(buckets.first), int(buckets.counts.sum())) == (100, 11_000)

    def test_the_journals_may_come_in_any_order(self, storage: Storage) -> None:
        journals = long_journals()
        replay(storage.series, RUN, journals=journals[::-1])
        storage.series.sync(RUN)
        assert are_same(storage.series.points(Line(RUN, "loss")), expected(journals, "loss"))

    @pytest.mark.parametrize("axis", ["step", "time"])
    @pytest.mark.parametrize("ends", [(None, None), (1_234, 8_765)])
    def test_many_points_in_a_few_buckets_are_all_counted(
        self, storage: Storage, axis: Axis, *, ends: tuple[int | None, int | None]
    ) -> None:
        journal = Journal("a" * 32, [Write(("x",), step, step + 7, (float(step % 97),)) for step in range(10_000)])
        replay(storage.series, RUN, journals=[journal])
        line = Line(RUN, "x", origin=7 if axis == "time" else 0)
        [found] = storage.series.buckets([line], Window(20, axis, *ends))
        points = storage.series.points(line, first=ends[0], last=ends[1])
        check_buckets(found, points, count=20)

    def test_time_may_run_against_the_steps(self, storage: Storage) -> None:
        journal = Journal("a" * 32, [Write(("x",), -step, step, (float(step),)) for step in range(9_000)])
        replay(storage.series, RUN, journals=[journal])
        [found] = storage.series.buckets([Line(RUN, "x")], Window(10, "time"))
        assert found.counts.sum() == 9_000
        assert found.first[0] == 0
        assert found.final[-1] == 8_999.0

    def test_steps_in_any_order_come_back_in_order_all_or_the_first(self, storage: Storage) -> None:
        steps = np.random.default_rng(1).permutation(12_000).tolist()
        journal = Journal("a" * 32, [Write(("x",), step, number, (step * 0.5,)) for number, step in enumerate(steps)])
        replay(storage.series, RUN, journals=[journal])
        found = storage.series.points(Line(RUN, "x"))
        assert found.steps.tolist() == list(range(12_000))
        assert found.values.tolist() == [step * 0.5 for step in range(12_000)]
        for first, most in itertools.product((None, 0, 5_001), (1, 4_096, 4_097, 6_999, 12_000, 20_000)):
            some = storage.series.points(Line(RUN, "x"), first=first, most=most)
            assert some.steps.tolist() == list(range(12_000))[first or 0 :][:most]
            assert some.values.tolist() == [step * 0.5 for step in some.steps]

    def test_a_gap_is_refused_with_the_offset_that_is_there(self, storage: Storage) -> None:
        journal = long_journals()[0]
        storage.series.append(journal.batch(RUN, start=0, stop=100))
        with pytest.raises(OffsetGap) as refused:
            storage.series.append(journal.batch(RUN, start=200, stop=300))
        assert refused.value.have == 100

    def test_what_is_synced_need_not_be_appended_again(self, storage: Storage, url: Places | str) -> None:
        journals = long_journals()
        replay(storage.series, RUN, journals=journals)
        storage.series.sync()
        assert [storage.series.offset(RUN, journal.name) for journal in journals] == [each.end for each in journals]

    def test_a_deleted_run_is_gone_and_can_come_again(self, storage: Storage) -> None:
        journals = long_journals()
        replay(storage.series, RUN, journals=journals)
        replay(storage.series, "other", journals=journals)
        storage.series.sync()
        assert storage.series.count_keys([RUN, "other", "nobody"]) == {"acc": 2, "loss": 2}
        storage.series.delete(RUN)
        storage.series.delete(RUN)
        assert storage.series.list_series(RUN) == []
        assert storage.series.count_keys([RUN, "other"]) == {"acc": 1, "loss": 1}
        assert [storage.series.offset(RUN, journal.name) for journal in journals] == [0, 0]
        assert len(storage.series.points(Line("other", "loss")).steps) == 11_000
        replay(storage.series, RUN, journals=journals)
        assert are_same(storage.series.points(Line(RUN, "acc")), expected(journals, "acc"))

    def test_what_is_not_there_is_empty(self, storage: Storage) -> None:
        assert storage.series.list_series("nobody") == []
        assert storage.series.count_keys([]) == {}
        assert len(storage.series.points(Line("nobody", "x")).steps) == 0
        [found] = storage.series.buckets([Line("nobody", "x")], Window(10))
        assert len(found.first) == 0
        storage.series.append(SeriesBatch(RUN, "a" * 32, 0, 50))
        assert storage.series.list_series(RUN) == []


class SeriesContract(SeriesExamplesContract):
    """The port `SeriesStore`, in examples and whatever else there may be."""

    @given(journals=JOURNALS, cuts=st.lists(st.integers(0, 400), max_size=6), synced=st.integers(0, 3))
    @PROPERTY
    def test_the_last_write_wins_however_the_writes_come(
        self, storage: Storage, journals: list[Journal], *, cuts: list[int], synced: int
    ) -> None:
        run = RUN
        storage.series.delete(run)
        for journal in journals:
            places = sorted({0, journal.end, *(cut for cut in cuts if cut < journal.end)})
            for number, (start, stop) in enumerate(itertools.pairwise(places)):
                storage.series.append(journal.batch(run, start=max(0, start - 25), stop=stop))
                if number % 4 == synced:
                    storage.series.sync(run)
        for key in ("a", "b", "c"):
            assert are_same(storage.series.points(Line(run, key)), expected(journals, key))
        counted = storage.series.count_keys([run, "nobody"])
        storage.series.sync(run)
        for key in ("a", "b", "c"):
            assert are_same(storage.series.points(Line(run, key)), expected(journals, key))
        infos = {info.key: info.points for info in storage.series.list_series(run)}
        assert infos == {key: len(wanted) for key in ("a", "b", "c") if (wanted := expected(journals, key))}
        assert counted == storage.series.count_keys([run, "nobody"]) == dict.fromkeys(infos, 1)

    @given(journals=JOURNALS, count=st.integers(1, 12), ends=st.tuples(STEPS, STEPS))
    @PROPERTY
    def test_buckets_are_exact_for_what_they_cover(
        self, storage: Storage, journals: list[Journal], *, count: int, ends: tuple[int, int]
    ) -> None:
        run = RUN
        storage.series.delete(run)
        replay(storage.series, run, journals=journals, rows_at_once=9)
        for first, last in [(None, None), (min(ends), max(ends))]:
            points = storage.series.points(Line(run, "a"), first=first, last=last)
            [found] = storage.series.buckets([Line(run, "a")], Window(count, "step", first, last))
            check_buckets(found, points, count=count)


class SeriesSurvivalContract(PortContract):
    """The same port when processes die, or share a place."""

    @pytest.mark.parametrize("calls", [0, 1, 4, 9, 14, 16])
    def test_after_kill_9_between_two_calls_nothing_is_lost_or_doubled(self, url: Places | str, calls: int) -> None:
        _, acknowledged = PROCESSES.Pipe(duplex=False)
        died = start_process(take_in, url, calls, acknowledged=acknowledged)
        died.join()
        assert died.exitcode == -signal.SIGKILL
        self._check_after_death(url)

    @pytest.mark.parametrize("acknowledged", [2, 7, 12])
    def test_after_kill_9_from_outside_nothing_is_lost_or_doubled(self, url: Places | str, acknowledged: int) -> None:
        ours, theirs = PROCESSES.Pipe(duplex=False)
        child = start_process(take_in, url, NEVER, acknowledged=theirs)
        theirs.close()  # where it ends too early, we hear that
        for _ in range(acknowledged):
            ours.recv()
        child.kill()
        child.join()
        self._check_after_death(url)

    def _check_after_death(self, url: Places | str) -> None:
        storage = open_storage(url)
        try:
            journals = long_journals()
            assert all(storage.series.offset(RUN, journal.name) <= journal.end for journal in journals)
            replay(storage.series, RUN, journals=journals, rows_at_once=777)
            for key in ("loss", "acc"):
                assert are_same(storage.series.points(Line(RUN, key)), expected(journals, key))
        finally:
            storage.close()

    def test_two_that_have_the_same_place_open_do_each_other_no_harm(self, storage: Storage, url: Places | str) -> None:
        journals, other = long_journals(), open_storage(url)
        try:
            for rows in (300, 700):
                replay(storage.series, RUN, journals=journals[:1], rows_at_once=rows)
                replay(other.series, RUN, journals=journals, rows_at_once=500)
                other.series.sync()
            replay(storage.series, RUN, journals=journals)
            storage.series.sync()
            for each in (storage, other):
                assert are_same(each.series.points(Line(RUN, "loss")), expected(journals, "loss"))
                assert are_same(each.series.points(Line(RUN, "acc")), expected(journals, "acc"))
        finally:
            other.close()


class SeriesAgreementContract(PortContract):
    """The same port beside the plain engine, which is asked the same after the same work."""

    @pytest.mark.parametrize("seed", range(2))
    def test_any_work_has_the_same_result_as_in_the_plain_engine(self, storage: Storage, seed: int) -> None:
        random = np.random.default_rng(seed)
        plain = MemorySeries()
        journals = [random_journal(name * 32, random) for name in "ab"]
        for start, stop, journal in random_order(journals, random):
            for each in (storage.series, plain):
                each.append(journal.batch(RUN, start=start, stop=stop))
                each.append(journal.batch(f"{RUN}-2", start=start, stop=stop))
        runs = [RUN, f"{RUN}-2", "nobody"]
        assert storage.series.count_keys(runs) == plain.count_keys(runs)
        assert [storage.series.list_series(run) for run in runs] == [plain.list_series(run) for run in runs]
        lines = [Line(run, key, len(run)) for run in runs for key in ("a", "b", "c")]
        for line in lines:
            assert are_same(storage.series.points(line), listed(plain.points(line)))
        axes: tuple[Axis, Axis] = ("step", "time")
        for axis, (count, *ends) in itertools.product(axes, ((5, None, None), (7, 100, 400), (5_000, None, None))):
            window = Window(count, axis, *ends)
            for line, one, other in zip(
                lines, storage.series.buckets(lines, window), plain.buckets(lines, window), strict=True
            ):
                assert one.counts.sum() == other.counts.sum()
                if axis == "step":
                    check_buckets(one, plain.points(line, first=window.first, last=window.last), count=count)
                if count == 5_000:  # each point has a bucket of its own
                    for name in Buckets.__struct_fields__:
                        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def random_journal(name: str, random: np.random.Generator) -> Journal:
    """Steps in any order and again, times that stand still, and all that a number can be."""
    writes = []
    for number in range(700):
        keys = (("a",), ("a", "b"), ("c", "b"))[random.integers(3)]
        odd = (float("nan"), float("inf"), float("-inf"), 1e308, -0.0)
        values = tuple(odd[random.integers(5)] if random.random() < 0.1 else random.normal() for _ in keys)
        writes.append(Write(keys, int(random.integers(-50, 500)), number // 3 + int(random.integers(3)), values))
    return Journal(name, writes)


def random_order(journals: list[Journal], random: np.random.Generator) -> Iterator[tuple[int, int, Journal]]:
    """Batches that overlap, of one journal or another."""
    have = dict.fromkeys(range(len(journals)), 0)
    while open_ones := [number for number, journal in enumerate(journals) if have[number] < journal.end]:
        number = open_ones[random.integers(len(open_ones))]
        stop = min(have[number] + int(random.integers(1, 3_000)), journals[number].end)
        yield max(0, have[number] - 35), stop, journals[number]
        have[number] = stop


def listed(points: Points) -> list[tuple[int, int, float]]:
    """Step, time and value of each point."""
    return list(zip(points.steps.tolist(), points.at_ns.tolist(), points.values.tolist(), strict=True))
