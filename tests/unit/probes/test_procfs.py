"""Text files of the kernel, taken apart."""

import signal
from pathlib import Path

import pytest

from holter.probes.procfs import Stat, find_number, list_numbers, parse_stat, read_file
from tests.unit.probes.recordings import stat_line

RECORDED_STAT = (
    b"1977 (pt) data (w) S 1962 1977 1977 0 -1 4194560 5310 812 7 2 141 35 20 4 20 0 3 0 48211 258514944 5120 "
    b"18446744073709551615 1 1 0 0 0 0 0 16781312 134217730 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 9\n"
)


def test_a_command_name_with_spaces_and_parentheses_does_not_shift_the_fields() -> None:
    assert parse_stat(RECORDED_STAT) == Stat(
        state="S",
        parent=1962,
        is_exiting=False,
        reaped_faults=812,
        major_faults=9,
        cpu_ticks=176,
        reaped_ticks=24,
        threads=3,
        started=48211,
        exit_code=9,
        heeded_bits=134217730,
    )


def test_a_process_heeds_the_signals_that_it_handles_or_holds_back() -> None:
    assert parse_stat(RECORDED_STAT).heeded == (signal.SIGINT, signal.SIGWINCH)
    assert parse_stat(stat_line(blocked=1 << 14, caught=2).encode()).heeded == (signal.SIGINT, signal.SIGTERM)


def test_signals_that_are_all_held_back_for_a_moment_are_not_heeded() -> None:
    assert parse_stat(stat_line(blocked=(1 << 31) - 1).encode()).heeded == ()


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (b"MemTotal:", 24684100),
        (b"Available:", None),
        (b"MemAvailable:", 24229500),
        (b"oom ", 3),
        (b"oom_kill ", 5),
        (b"limit ", None),
        (b"absent ", None),
    ],
)
def test_a_label_is_found_only_at_the_start_of_a_line(label: bytes, expected: int | None) -> None:
    text = b"MemTotal:       24684100 kB\nMemAvailable:   24229500 kB\noom_kill 5\noom 3\nlimit max\n"
    assert find_number(text, label) == expected


def test_the_first_number_of_a_file_needs_no_label() -> None:
    assert find_number(b"209715200\n") == 209715200
    assert find_number(b"max\n") is None
    assert find_number(b"") is None


def test_a_file_longer_than_one_read_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_bytes(b"x" * 100_000)
    assert len(read_file(f"{tmp_path}/mountinfo") or b"") == 100_000


def test_what_is_not_there_is_none_and_what_is_broken_raises(tmp_path: Path) -> None:
    assert read_file(f"{tmp_path}/gone") is None
    assert list_numbers(f"{tmp_path}/gone") == []
    with pytest.raises(IsADirectoryError):
        read_file(str(tmp_path))
