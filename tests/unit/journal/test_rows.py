"""Rows come back as they were logged, however they are stored."""

import math
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.journal import allowance, rows
from holter.journal.reader import scan
from holter.model.records import FIRST_PACKED, LOOSE_ROW, Declared
from tests.unit.journal.recording import Recording, read, read_rows, scratch

LARGEST, SMALLEST = (1 << 63) - 1, -(1 << 63)


def record(*logged: dict[str, Any]) -> bytes:
    with scratch() as folder:
        recording = Recording(folder)
        for step, row in enumerate(logged):
            recording.log(row, step)
        return b"".join(recording.closed())


def kinds(data: bytes) -> list[int]:
    """The kinds of its rows, in order."""
    return [frame.kind for frame in scan(data).frames if frame.kind == LOOSE_ROW or frame.kind >= FIRST_PACKED]


def values(data: bytes) -> list[dict[str, Any]]:
    return [row.values for row in read_rows(data)]


def test_a_key_set_is_packed_from_its_second_row_on() -> None:
    data = record({"a": 1.0}, {"b": 1.0}, {"a": 2.0}, {"a": 3.0})
    assert kinds(data) == [LOOSE_ROW, LOOSE_ROW, FIRST_PACKED, FIRST_PACKED]
    assert values(data) == [{"a": 1.0}, {"b": 1.0}, {"a": 2.0}, {"a": 3.0}]


def test_rows_keep_their_step_and_time() -> None:
    data = record({"a": 1.0}, {"a": 2.0})
    assert [(row.step, row.at_ns % 1_000_000) for row in read_rows(data)] == [(0, 1_000), (1, 3_000)]


def test_an_integer_column_becomes_a_float_column_when_a_float_comes() -> None:
    data = record({"a": 1}, {"a": 2}, {"a": 0.5}, {"a": 3})
    assert kinds(data) == [LOOSE_ROW, FIRST_PACKED, FIRST_PACKED + 1, FIRST_PACKED + 1]
    assert [type(row["a"]) for row in values(data)] == [int, int, float, float]
    assert values(data) == [{"a": 1}, {"a": 2}, {"a": 0.5}, {"a": 3.0}]


def test_not_a_number_and_the_infinities_are_values() -> None:
    odd = {"a": math.nan, "b": math.inf, "c": -math.inf, "d": -0.0}
    for found in values(record(odd, odd)):
        assert repr(found) == repr(odd)


def test_the_ends_of_64_bits_survive_and_what_lies_beyond_stays_loose() -> None:
    logged = [{"a": 0}, {"a": LARGEST}, {"a": SMALLEST}, {"a": LARGEST + 1}]
    with scratch() as folder:
        recording = Recording(folder)
        for step, row in enumerate(logged):
            recording.rows.append(row, step, 1)
        [data] = recording.closed()
    assert kinds(data) == [LOOSE_ROW, FIRST_PACKED, FIRST_PACKED, LOOSE_ROW]
    assert values(data) == logged


@pytest.mark.parametrize("step", [SMALLEST, -1, 0, LARGEST])
def test_any_64_bit_step_survives(step: int) -> None:
    with scratch() as folder:
        recording = Recording(folder)
        for _ in range(2):
            recording.log({"a": 1.0}, step)
        [data] = recording.closed()
    assert [row.step for row in read_rows(data)] == [step, step]


def test_what_is_not_a_number_stays_loose() -> None:
    row = {"a": True, "b": None, "c": "text", "d": [1, 2.5, "x"], "e": {"f": 1}}
    data = record(row, row, {}, {})
    assert kinds(data) == [LOOSE_ROW] * 4
    assert values(data) == [row, row, {}, {}]


def test_three_hundred_key_sets_are_all_kept_and_256_of_them_packed() -> None:
    logged = [{f"key{number}": float(number)} for number in range(300) for _ in range(3)]
    data = record(*logged)
    assert values(data) == logged
    assert len({kind for kind in kinds(data) if kind >= FIRST_PACKED}) == 256


def test_a_packed_key_set_stays_packed_when_there_are_too_many_others() -> None:
    with scratch() as folder:
        recording = Recording(folder)
        for number in range(600):
            recording.rows.append({f"key{number // 2}": 1.0}, number, 1)
        recording.rows.append({"key0": 2.0}, 600, 1)
        [data] = recording.closed()
    assert kinds(data)[-1] == FIRST_PACKED


def test_key_sets_that_never_repeat_do_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_LAST_BYTES", 1 << 20)
    recording = Recording(tmp_path)
    recording.journal.open()
    tracemalloc.start()
    try:
        for number in range(40):
            recording.log({f"{number}/{key}": f"{key:5}" * 80 for key in range(300)}, number)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    recording.journal.close()
    # Nearly 5 MB were logged.
    assert used < 3 << 20
    assert "39/299" in recording.rows.last_values()


def test_last_values_that_are_seldom_set_are_not_forgotten() -> None:
    with scratch() as folder:
        recording = Recording(folder)
        recording.log({"model": "resnet"})
        for step in range(30):
            recording.log({"text": "x" * 400_000}, step)
        recording.journal.close()
    assert recording.rows.last_values().keys() == {"model", "text"}


def test_a_wide_row_does_not_make_every_segment_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "LARGEST_SIZE", 256 << 10)
    recording = Recording(tmp_path)
    recording.log({f"key{key}": "x" * 64 for key in range(10_000)})
    for step in range(3_000):
        recording.log({"loss": 1.0, "note": "x" * 1000}, step)
    segments = recording.closed()
    assert len(segments) == 3
    assert len(read_rows(*segments)) == 3_001


def test_a_schema_is_declared_again_every_1024_rows() -> None:
    data = record(*[{"a": 1.0}] * 2100)
    assert len([each for each in read(data) if isinstance(each, Declared)]) == 3


def test_a_packed_row_of_ten_numbers_takes_108_bytes() -> None:
    row = {f"key{number}": 1.0 for number in range(10)}
    assert len(record(*[row] * 11)) - len(record(*[row] * 10)) == 108


numbers = st.one_of(st.floats(), st.integers(SMALLEST, LARGEST))
others = st.one_of(st.booleans(), st.none(), st.text(max_size=8), st.lists(numbers, max_size=3))
any_row = st.dictionaries(st.text(max_size=3), numbers, max_size=3) | st.dictionaries(st.text(max_size=3), others)


def is_same(found: object, logged: object) -> bool:
    """A column that holds floats takes integers as floats; all else is kept to the bit."""
    return repr(found) == repr(logged) or (type(logged) is int and repr(found) == repr(float(logged)))


@settings(max_examples=100, deadline=None)
@given(distinct=st.lists(any_row, min_size=1, max_size=4), picks=st.lists(st.integers(0, 3), max_size=20))
def test_every_row_comes_back_as_it_was_logged(distinct: list[dict[str, Any]], picks: list[int]) -> None:
    logged = [distinct[pick % len(distinct)] for pick in picks]
    with scratch() as folder:
        recording = Recording(folder)
        recording.journal.open()
        for row in logged:
            recording.rows.append(row, 0, 1)
        [data] = recording.closed()
    found = values(data)
    assert [list(row) for row in found] == [list(row) for row in logged]
    assert all(is_same(row[key], want[key]) for row, want in zip(found, logged, strict=True) for key in want)


def test_a_user_s_number_that_struct_can_pack_takes_the_fast_path() -> None:
    class Half:
        def __float__(self) -> float:
            return 0.5

    with scratch() as folder:
        recording = Recording(folder)
        recording.log({"a": 1.0})
        recording.log({"a": 2.0})
        recording.log({"a": Half()})
        [data] = recording.closed()
    assert values(data)[-1] == {"a": 0.5}


def test_the_encoder_keeps_no_reference_to_a_user_s_object() -> None:
    class Number(float):
        pass

    with scratch() as folder:
        recording = Recording(folder)
        value = Number(0.5)
        for _ in range(3):
            recording.rows.append({"a": 1.0}, 0, 1)
        before = sys.getrefcount(value)
        recording.log({"a": value})
        assert sys.getrefcount(value) == before
        recording.journal.close()
