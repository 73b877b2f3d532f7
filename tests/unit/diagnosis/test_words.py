"""Numbers as people read them."""

import pytest

from holter.diagnosis import words
from holter.model.evidence import End


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1536, "1.5 KiB"),
        (7.1 * 2**30, "7.1 GiB"),
        (140 * 2**30, "140 GiB"),
        (2**60, "1024 PiB"),
    ],
)
def test_sizes_have_their_unit(count: float, text: str) -> None:
    assert words.size(count) == text


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0.0004, "1 ms"),
        (0.02, "20 ms"),
        (0.42, "0.4 s"),
        (12, "12 s"),
        (119, "119 s"),
        (600, "10 min"),
        (9000, "2.5 h"),
    ],
)
def test_times_have_their_unit(length: float, text: str) -> None:
    assert words.seconds(length) == text


def test_a_list_reads_like_one() -> None:
    assert [words.listed(each) for each in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_a_quote_is_one_line_and_not_too_long() -> None:
    assert words.quote("a\n  b") == "a b"
    assert words.quote("abcdef", 4) == "abc…"


def test_a_process_has_the_name_that_people_know() -> None:
    assert words.process(End(pid=7)) == "process 7"
    assert words.process(End(pid=7, rank=3)) == "rank 3 (process 7)"
    assert words.process(End(pid=7, role="child", name="Process-1")) == "the child process 7 (Process-1)"
