"""Rows as columns, and as the merged rows of a run."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holter.journal.columns import Tables, merge_rows, read_tables
from holter.journal.frame import HEADER_SIZE
from holter.journal.reader import scan
from tests.unit.journal.recording import STARTED_NS, Recording, end_of, read_rows, scratch


def tables_of(*logged: tuple[int, dict[str, Any]]) -> Tables:
    """Log rows of (step, row) and read them back."""
    with scratch() as folder:
        recording = Recording(folder)
        recording.journal.open()
        for step, row in logged:
            recording.log(row, step)
        recording.journal.close()
        return read_tables(recording.paths())


def merged(*journals: Tables) -> list[dict[str, Any]]:
    """The merged rows without their times."""
    return [{key: value for key, value in row.items() if key != "_timestamp"} for row in merge_rows(journals)]


def test_columns_hold_the_packed_rows_of_a_key_set() -> None:
    found = tables_of(*((step, {"loss": step / 2, "seen": step * 10}) for step in range(5)))
    [table] = found.tables
    assert table.keys == ("loss", "seen")
    assert table.steps.tolist() == [1, 2, 3, 4]
    assert table.columns["loss"].tolist() == [0.5, 1.0, 1.5, 2.0]
    assert table.columns["seen"].tolist() == [10, 20, 30, 40]
    assert {key: column.dtype.name for key, column in table.columns.items()} == {"loss": "float64", "seen": "int64"}
    assert table.at_ns.tolist() == [STARTED_NS + offset for offset in (3_000, 4_000, 5_000, 6_000)]
    assert [each.row.values for each in found.loose] == [{"loss": 0.0, "seen": 0}]


def test_a_journal_over_several_segments_becomes_one_table(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for step in range(40_000):
        recording.log({"loss": float(step)}, step)
    recording.journal.close()
    assert len(recording.paths()) == 3
    [table] = read_tables(recording.paths()).tables
    assert np.array_equal(table.steps, np.arange(1, 40_000))
    assert np.array_equal(table.columns["loss"], np.arange(1, 40_000))
    assert (np.diff(table.offsets) > 0).all()


def test_an_open_journal_reads_like_a_closed_one(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for step in range(100):
        recording.log({"loss": float(step)}, step)
    living = read_tables(recording.paths())
    recording.journal.close()
    assert merged(living) == merged(read_tables(recording.paths()))
    assert (living.skipped, living.unknown) == ({}, 0)


def test_rows_without_a_declaration_in_their_segment_use_one_from_another(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for step in range(8_000):
        recording.log({"loss": float(step)}, step)
    first, _ = recording.closed()
    declared = [frame for frame in scan(first).frames if frame.kind == 3]
    for frame in declared:
        first = first[: frame.at] + bytes(end_of(frame) - frame.at) + first[end_of(frame) :]
    Path(recording.paths()[0]).write_bytes(first)
    found = read_tables(recording.paths())
    assert [row["_step"] for row in merged(found)] == list(range(8_000))
    assert np.array_equal(found.tables[0].steps, np.arange(1, 8_000))
    assert found.unknown == 0
    assert len(read_tables(recording.paths()[:1]).tables) == 0


def test_rows_of_a_segment_with_a_damaged_header_keep_their_order(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for step in range(8_000):
        recording.log({"loss": float(step)}, step)
    recording.journal.close()
    path = Path(recording.paths()[1])
    path.write_bytes(bytes(HEADER_SIZE) + path.read_bytes()[HEADER_SIZE:])
    [table] = read_tables(recording.paths()).tables
    assert np.array_equal(table.steps, np.arange(1, 8_000))


def test_key_sets_that_alternate_are_read_into_their_own_tables() -> None:
    found = tables_of(*((step, {"train": float(step)} if step % 2 else {"val": step}) for step in range(2_000)))
    assert [(table.keys, len(table.steps)) for table in found.tables] == [(("val",), 999), (("train",), 999)]
    assert [row["_step"] for row in merged(found)] == list(range(2_000))


def test_each_step_is_one_row_with_its_last_time() -> None:
    found = tables_of((1, {"a": 1}), (0, {"a": 0}), (1, {"b": "x"}), (1, {"a": 2}))
    rows = list(merge_rows([found]))
    assert rows == [
        {"_step": 0, "_timestamp": (STARTED_NS + 3_000) / 1e9, "a": 0},
        {"_step": 1, "_timestamp": (STARTED_NS + 5_000) / 1e9, "a": 2, "b": "x"},
    ]
    assert [list(row) for row in rows] == [["_step", "_timestamp", "a"], ["_step", "_timestamp", "a", "b"]]


def test_the_last_write_wins_between_packed_and_loose_rows() -> None:
    found = tables_of((0, {"a": 1.0}), (0, {"a": 2.0}), (0, {"a": "text"}), (1, {"a": 3.0}), (0, {"b": 1}))
    assert merged(found) == [{"_step": 0, "a": "text", "b": 1}, {"_step": 1, "a": 3.0}]


def test_the_last_write_wins_between_journals(tmp_path: Path) -> None:
    journals = []
    for number, at_ns in enumerate([300, 100, 200]):
        recording = Recording(tmp_path / str(number))
        recording.rows.append({"a": number}, 7, at_ns)
        recording.journal.close()
        journals.append(read_tables(recording.paths()))
    assert list(merge_rows(journals)) == [{"_step": 7, "_timestamp": 300 / 1e9, "a": 0}]


def test_writes_of_one_moment_are_ordered_by_journal_and_then_by_place(tmp_path: Path) -> None:
    journals = []
    for number in (1, 0):
        recording = Recording(tmp_path)
        recording.journal.id = bytes(15) + bytes([number])
        for value in range(4):
            recording.rows.append({"a": value + 10 * number}, 7, 100)
        recording.journal.close()
        journals.append(read_tables(recording.paths()))
    assert merged(*journals) == [{"_step": 7, "a": 13}]


def test_integers_stay_integers_and_odd_floats_stay_odd() -> None:
    odd = {"i": (1 << 63) - 1, "nan": math.nan, "inf": -math.inf, "zero": -0.0}
    rows = merged(tables_of((0, odd), (1, odd)))
    assert [repr({"_step": step, **odd}) for step in range(2)] == [repr(row) for row in rows]


def test_no_key_of_a_user_takes_the_place_of_ours() -> None:
    found = tables_of(*((step, {"_step": -1.0, "_timestamp": 0.0, "a": 1.0}) for step in range(2)), (2, {"_step": "x"}))
    assert merged(found) == [{"_step": 0, "a": 1.0}, {"_step": 1, "a": 1.0}, {"_step": 2}]
    assert all(row["_timestamp"] > 1e9 for row in merge_rows([found]))


def test_a_run_without_rows_has_no_merged_rows() -> None:
    assert merged() == []
    assert merged(tables_of()) == []
    assert merged(read_tables([])) == []


def test_negative_and_very_large_steps_are_in_order() -> None:
    steps = [(1 << 63) - 1, -(1 << 63), 0, -5]
    found = tables_of(*((step, {"a": 1.0}) for step in steps))
    assert [row["_step"] for row in merged(found)] == sorted(steps)


rows = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9) | st.floats(0, 9) | st.text(max_size=2), max_size=3)
journal = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4), rows), max_size=20)


@settings(max_examples=60, deadline=None)
@given(journals=st.lists(journal, min_size=1, max_size=3))
def test_merging_is_the_same_as_applying_each_write_in_order(
    journals: list[list[tuple[int, int, dict[str, Any]]]],
) -> None:
    tables, writes = [], []
    for rank, logged in enumerate(journals):
        with scratch() as folder:
            recording = Recording(folder)
            recording.journal.id = bytes([rank] * 16)
            recording.journal.open()
            for step, at_ns, row in logged:
                recording.rows.append(row, step, at_ns)
            [data] = recording.closed()
            tables.append(read_tables(recording.paths()))
        writes += [(found.at_ns, rank, place, found) for place, found in enumerate(read_rows(data))]
    expected: dict[int, dict[str, Any]] = {}
    for at_ns, _, _, (step, _, values) in sorted(writes, key=lambda write: write[:3]):
        expected.setdefault(step, {}).update({"_step": step, "_timestamp": at_ns / 1e9} | values)
    assert list(merge_rows(tables)) == [expected[step] for step in sorted(expected)]


def test_many_rows_are_merged_a_chunk_at_a_time() -> None:
    found = tables_of(*((step % 10_000, {"a": float(step)}) for step in range(20_000)))
    rows = merge_rows([found])
    assert list(itertools.islice(rows, 2)) == [
        {"_step": 0, "_timestamp": pytest.approx(1.7e9), "a": 10_000.0},
        {"_step": 1, "_timestamp": pytest.approx(1.7e9), "a": 10_001.0},
    ]
    assert sum(1 for _ in rows) == 9_998
