"""Filters as people write them."""

import pytest

from holter.errors import FilterError
from holter.storage.filter_text import parse_filter, parse_sort
from holter.storage.filters import All, Among, Any, Compare, Mentions, Not
from holter.storage.runs import SortKey


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", None),
        ("state = crashed", Compare("state", "=", "crashed")),
        ("config.lr > 1e-4", Compare("config.lr", ">", 1e-4)),
        ("name=42", Compare("name", "=", "42")),
        ("config.depth=42", Compare("config.depth", "=", 42.0)),
        ('"config.batch size" >= 8', Compare("config.batch size", ">=", 8.0)),
        ("name = 'it\\'s'", Compare("name", "=", "it's")),
        ("cause = null", Compare("cause", "=", None)),
        ("config.amp = true", Compare("config.amp", "=", 1.0)),
        ("started_at >= 1970-01-02", Compare("started_at", ">=", 86_400.0)),
        ("state in (failed, crashed)", Among("state", ("failed", "crashed"))),
        ("state not in (failed)", Not(Among("state", ("failed",)))),
        ("lora", Mentions("lora")),
        ('"two words" 2e-4', All((Mentions("two words"), Mentions("2e-4", 2e-4)))),
        ("lora and not seed0", All((Mentions("lora"), Not(Mentions("seed0"))))),
        ("lora state = failed", All((Mentions("lora"), Compare("state", "=", "failed")))),
        ("'state'", Mentions("state")),
        ("NOT tags ~ x", Not(Compare("tags", "~", "x"))),
        (
            "state = failed or state = crashed and rows > 5",
            Any(
                (
                    Compare("state", "=", "failed"),
                    All((Compare("state", "=", "crashed"), Compare("rows", ">", 5.0))),
                )
            ),
        ),
        (
            "(state = a or state = b) and rows < 5",
            All(
                (Any((Compare("state", "=", "a"), Compare("state", "=", "b"))), Compare("rows", "<", 5.0)),
            ),
        ),
    ],
)
def test_a_filter_means_what_it_reads_like(text: str, meant: object) -> None:
    assert parse_filter(text) == meant


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("sate = crashed", 0, "no field 'sate'"),
        ("state crashed", 6, "expected = != "),
        ("state =", 7, "expected a value"),
        ("state = crashed rows > 5", 16, "expected 'and'"),
        ("(state = crashed", 16, "expected ')'"),
        ("rows > many", 7, "rows is a number"),
        ("name = 'open", 7, "not closed"),
        ("started_at > yesterday", 13, "expected a time"),
        ("and state = crashed", 0, "expected the name of a field"),
        ("not " * 60 + "rows = 1", 200, "more than 50"),
    ],
)
def test_an_error_points_at_the_place(text: str, at: int, words: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(text)
    assert refused.value.at == at
    assert words in str(refused.value)
    assert str(refused.value).splitlines()[-1].index("^") == at + 2


def test_a_sort_order_is_a_list_of_fields() -> None:
    assert parse_sort(" -summary.loss, name") == (SortKey("summary.loss", is_descending=True), SortKey("name"))
    assert parse_sort("") == ()
    with pytest.raises(FilterError) as refused:
        parse_sort("name, -los")
    assert refused.value.at == 7
