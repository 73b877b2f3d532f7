"""How versions are read, and what the table of known conflicts has."""

import pytest

from holter.doctor.checks.known_conflict import read_table
from holter.doctor.versions import compare, holds, parse


@pytest.mark.parametrize(
    ("text", "version"), [("2.3.0a1+cu121", (2, 3, 0)), ("580.65.06", (580, 65, 6)), ("v1", (1,)), ("main", ())]
)
def test_a_version_is_the_numbers_that_it_begins_with(text: str, version: tuple[int, ...]) -> None:
    assert parse(text) == version


@pytest.mark.parametrize(("one", "other", "order"), [("2.3", "2.3.0", 0), ("2.10", "2.9", 1), ("9", "10.1", -1)])
def test_versions_are_compared_by_number(one: str, other: str, order: int) -> None:
    assert compare(parse(one), parse(other)) == order


@pytest.mark.parametrize(
    ("condition", "is_so"),
    [
        ("torch", True),
        ("torch<2.3", True),
        ("torch>=2.2,<2.3", True),
        ("torch==2.2.1", True),
        ("torch>2.2.1", False),
        ("numpy", False),
        ("scikit-learn<=1.4", True),
    ],
)
def test_a_condition_names_a_thing_and_its_versions(condition: str, is_so: bool) -> None:
    assert holds(condition, {"torch": "2.2.1+cu121", "scikit-learn": "1.4.0"}) is is_so


def test_each_entry_of_the_table_says_why_and_where_that_is_written() -> None:
    table = read_table()
    entries = [*table["conflict"], *table["pair"], *table["not_newer"]]
    assert len(entries) > 15
    assert all(each["why"] and each["source"].startswith("https://") for each in entries)
    assert all(each["when"] and each["fix"] for each in table["conflict"])
