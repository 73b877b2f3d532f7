"""Which run a person means."""

from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.errors import NoRun
from holter.model.records import Described
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    for age, (run, name) in enumerate([("abc1", "otter"), ("abd2", "otter"), ("xyz3", "abd2"), ("otter", "elk")]):
        began_ns = BEGAN_NS - age * 1_000_000_000
        described = Described(at_ns=began_ns, project="p", name=name, started_ns=began_ns)
        Journal(tmp_path / "runs" / run, dead()).say(described).close()
    return Catalog(str(tmp_path))


@pytest.mark.parametrize(
    ("wanted", "run"),
    [
        (None, "abc1"),
        ("", "abc1"),
        ("abd2", "abd2"),
        ("otter", "otter"),
        ("elk", "otter"),
        ("x", "xyz3"),
        ("abc", "abc1"),
    ],
)
def test_an_id_counts_before_a_name_and_a_name_before_a_beginning(
    catalog: Catalog, wanted: str | None, run: str
) -> None:
    assert catalog.find(wanted) == run


def test_a_beginning_of_several_ids_is_refused_with_them(catalog: Catalog) -> None:
    with pytest.raises(NoRun, match="'ab' could be abc1, abd2: give more of it"):
        catalog.find("ab")


@pytest.mark.parametrize("wanted", ["nobody", ".", "..", "../runs/abc1", "/etc"])
def test_what_names_no_run_is_refused(catalog: Catalog, wanted: str) -> None:
    with pytest.raises(NoRun, match="`holter ls` lists them"):
        catalog.find(wanted)


def test_an_empty_directory_says_how_to_fill_it(tmp_path: Path) -> None:
    with pytest.raises(NoRun, match=r"holter\.init\(\) in a program records one"):
        Catalog(str(tmp_path / "nothing")).find(None)


def test_a_directory_that_is_no_run_is_passed_over(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "runs" / "empty").mkdir()
    (tmp_path / "runs" / ".trash").mkdir()
    (tmp_path / "runs" / "a-file").write_text("hello")
    assert len(catalog.rows()) == 4
    assert catalog.unreadable == {str(tmp_path / "runs" / "a-file"): "Not a directory"}


def test_the_newest_attempt_counts_also_when_the_clock_was_set_back(tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "r1"
    first = Described(at_ns=BEGAN_NS, project="p", name="first", started_ns=BEGAN_NS)
    second = Described(at_ns=BEGAN_NS - 10**12, project="p", name="second", started_ns=BEGAN_NS)
    Journal(directory, dead(), attempt=2).say(second).close()
    Journal(directory, dead(), attempt=1).say(first).close()
    [row] = Catalog(str(tmp_path)).rows()
    assert (row.name, row.attempt) == ("second", 2)
