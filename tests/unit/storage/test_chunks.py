"""What is sealed comes back bit for bit, and what lies between chunks is in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from holter.storage.opening import open_storage
from holter.storage.series import Floats, Ints, Line, Window
from holter.storage.tables import sealing, series
from holter.storage.tables.codec import decode_integers, decode_values, encode_integers, encode_values
from tests.contract.series_contract import check_buckets
from tests.contract.writes import Journal, Write, are_same, expected, replay
from tests.unit.journal.recording import scratch


@given(arrays.arrays(np.float64, st.integers(1, 200), elements=st.floats(allow_nan=True)))
def test_every_bit_of_a_value_is_kept(values: Floats) -> None:
    decoded = decode_values(encode_values(values), len(values))
    assert decoded.view(np.int64).tolist() == values.view(np.int64).tolist()


@given(arrays.arrays(np.int64, st.integers(1, 200)))
def test_every_integer_is_kept_also_where_differences_wrap_around(values: Ints) -> None:
    assert decode_integers(encode_integers(values), len(values)).tolist() == values.tolist()


def test_single_precision_takes_half_the_space() -> None:
    noise = np.random.default_rng(0).normal(size=4096)
    assert len(encode_values(noise.astype(np.float32).astype(np.float64))) < 0.6 * len(encode_values(noise))


@given(
    steps=st.lists(st.integers(0, 300), min_size=1, max_size=400),
    rows_at_once=st.integers(1, 60),
    count=st.integers(1, 3),
    split=st.integers(0, 400),
)
def test_many_small_chunks_are_as_good_as_one_list(steps: list[int], rows_at_once: int, count: int, split: int) -> None:
    writes = [Write(("a", "b"), step, number, (step / 3, -number)) for number, step in enumerate(steps)]
    journals = [Journal("a" * 32, writes[:split]), Journal("b" * 32, writes[split:])]
    with scratch() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sealing, "CHUNK", 64)
        patch.setattr(sealing, "_SMALL", 32)
        patch.setattr(series, "CHUNK", 64)
        storage = open_storage(f"sqlite:{folder}")
        replay(storage.series, "r", journals=journals, rows_at_once=rows_at_once)
        for key in ("a", "b"):
            points = storage.series.points(Line("r", key))
            assert are_same(points, expected(journals, key))
            [found] = storage.series.buckets([Line("r", key)], Window(count))
            check_buckets(found, points, count=count)
        storage.close()
