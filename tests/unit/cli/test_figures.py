"""Numbers, times and texts as people read and write them."""

import math
import signal

import pytest

from holter.catalog.read.journal_account import wait_status
from holter.cli import figures
from holter.errors import UsageError


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0s"),
        (0, "0.0s"),
        (0.44, "0.4s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1m 00s"),
        (123, "2m 03s"),
        (3599.9, "1h 00m"),
        (11_100, "3h 05m"),
        (86_400, "1d 00h"),
        (185_000, "2d 03h"),
        (40_000_000, "462d 23h"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds: float, text: str) -> None:
    assert figures.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "now"), (0.9, "now"), (1, "1s ago"), (59.9, "59s ago"), (60, "1m ago"), (7200, "2h ago"), (90_000, "1d ago")],
)
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert figures.age(seconds) == text


def test_what_a_program_logged_comes_before_what_was_measured_of_its_layers() -> None:
    summary = {"system_stats/cpu": 0, "gradients/fc/norm": 1, "loss": 3, "gradients": 4}
    assert list(figures.own_first(summary)) == ["loss", "gradients", "system_stats/cpu", "gradients/fc/norm"]


def test_a_start_of_more_than_a_month_ago_is_a_day() -> None:
    now = 1_800_000_000.0
    assert figures.began(now - 29 * 86400, now) == "29d ago"
    assert figures.began(now - 400 * 86400, now) == figures.moment(now - 400 * 86400)[:10]


def test_a_time_of_today_has_no_date() -> None:
    now = 1_800_000_000.25
    assert figures.clock_time(now, now) == figures.moment(now)[11:] + ".2"
    assert figures.clock_time(now - 3 * 86400, now) == figures.moment(now - 3 * 86400) + ".2"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (12_345, "12.3 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (13_900_000, "13.9 MB"),
        (5_000_000_000_000, "5.0 TB"),
    ],
)
def test_a_size_has_three_digits_at_most(count: int, text: str) -> None:
    assert figures.size(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1 / 3, "0.333333"),
        (1e-12, "1e-12"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (2**64 - 1, "18446744073709551615"),
        (True, "true"),
        (None, "null"),
        ("adam", "adam"),
        ("x" * 50, "x" * 37 + "..."),
        ([1, 2], "[1, 2]"),
        ({}, "{}"),
    ],
)
def test_a_value_is_short_and_looks_like_json(value: object, text: str) -> None:
    assert figures.value(value) == text


def test_a_text_cannot_move_the_cursor_or_break_the_line() -> None:
    assert figures.clean("a\x1b[31mb\nc\u202ed") == "a\\x1b[31mb\\nc\\u202ed"
    assert figures.clean("naïve 名前 ✓") == "naïve 名前 ✓"


def test_a_row_is_names_and_values() -> None:
    assert figures.values({"train/loss": 0.25, "a\nb": 3}) == "train/loss=0.25 a\\nb=3"


def test_a_nested_configuration_gets_dotted_names() -> None:
    assert figures.flat({"lr": 1, "model": {"width": 2, "head": {"bias": True}}, "none": {}}) == {
        "lr": 1,
        "model.width": 2,
        "model.head.bias": True,
        "none": {},
    }


def test_one_is_not_plural() -> None:
    assert [figures.plural(count, "run") for count in (0, 1, 1204)] == ["0 runs", "1 run", "1,204 runs"]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, "exit code 0"),
        (3 << 8, "exit code 3"),
        (signal.SIGKILL, "SIGKILL (signal 9)"),
        (signal.SIGSEGV | 0x80, "SIGSEGV (signal 11, core dumped)"),
    ],
)
def test_a_wait_status_is_said_in_words(status: int, text: str) -> None:
    assert wait_status(status) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("15m", 900), ("15 min", 900), ("1.5h", 5400), ("30d", 2_592_000), ("2W", 1_209_600)],
)
def test_a_time_is_read_with_its_unit(text: str, seconds: float) -> None:
    assert figures.parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-3d", "3 fortnights"])
def test_a_time_without_a_known_unit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="such as 30d or 12h"):
        figures.parse_duration(text)
