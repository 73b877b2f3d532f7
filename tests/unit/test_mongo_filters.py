"""W&B's filters and orders mean the same in holter's words."""

import pytest

from holter.api.mongo import filter_text, sort_text
from holter.errors import UsageError
from holter.model.run_row import RunRow
from holter.storage.filter_text import parse_query
from holter.storage.matching import select
from holter.storage.runs import RunQuery

ROWS = [
    RunRow(id="a", name="first try", state="finished", tags=("x",), started_ns=1, config={"lr": 0.1, "n": {"d": 2}}),
    RunRow(
        id="b", name="second", state="crashed", tags=("y",), started_ns=2, config={"lr": 0.01}, summary={"loss": 0.5}
    ),
    RunRow(id="c", name="third", state="running", started_ns=3, group="g", config={"opt": 'a "quoted" one'}),
]


def found(filters: dict[str, object], order: str = "+created_at") -> str:
    query = parse_query(RunQuery(now_ns=4), where=filter_text(filters), sort=sort_text(order))
    return "".join(row.id for row in select(ROWS, query).runs)


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, "abc"),
        ({"state": "crashed"}, "b"),
        ({"state": {"$in": ["crashed", "running"]}}, "bc"),
        ({"state": {"$nin": ["crashed", "running"]}}, "a"),
        ({"state": {"$in": []}}, ""),
        ({"config.lr": {"$gt": 0.05}}, "a"),
        ({"config.lr.value": {"$gte": 0.01, "$lt": 0.1}}, "b"),
        ({"config.lr": {"$exists": True}}, "ab"),
        ({"config.lr": {"$exists": False}}, "c"),
        ({"config.lr": None}, "c"),
        ({"config.n.d": 2}, "a"),
        ({"config.opt": 'a "quoted" one'}, "c"),
        ({"summary_metrics.loss": {"$lte": 0.5}}, "b"),
        ({"tags": "x"}, "a"),
        ({"tags": {"$in": ["x", "y"]}}, "ab"),
        ({"name": "c"}, "c"),
        ({"display_name": {"$regex": ".*ir.*"}}, "ac"),
        ({"display_name": {"$regex": "^second$"}}, "b"),
        ({"$or": [{"state": "crashed"}, {"group": "g"}]}, "bc"),
        ({"$and": [{"config.lr": {"$ne": 0.1}}, {"state": {"$ne": "running"}}]}, "b"),
        ({"$nor": [{"state": "crashed"}, {"state": "running"}]}, "a"),
        ({"state": {"$not": {"$eq": "crashed"}}}, "ac"),
        ({"$not": {"state": "crashed"}, "tags": "x"}, "a"),
    ],
)
def test_a_filter_finds_the_same_runs(filters: dict[str, object], ids: str) -> None:
    assert found(filters) == ids


@pytest.mark.parametrize(
    ("order", "ids"), [("-created_at", "cba"), ("config.lr", "bac"), ("-summary_metrics.loss", "bac")]
)
def test_an_order_sorts_the_same_way(order: str, ids: str) -> None:
    assert found({}, order) == ids


@pytest.mark.parametrize("filters", [{"$where": "1"}, {"a": {"$mod": [2, 0]}}, {"name": {"$regex": "a|b"}}])
def test_what_can_not_be_asked_is_said(filters: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"not supported|can't be asked for"):
        filter_text(filters)
