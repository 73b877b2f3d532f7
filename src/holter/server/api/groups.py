"""Runs in groups, and the fields by which a project's runs can be grouped, filtered and sorted."""

from typing import Annotated, Any

import msgspec

from holter.errors import UsageError
from holter.server.transport.routing import Route, Visit
from holter.storage.filter_text import parse_field, parse_filter, parse_sort
from holter.storage.filters import All, Compare, Filter
from holter.storage.run_fields import PREFIXES
from holter.storage.tallies import GroupQuery, Moments
from holter.wire.odd_numbers import in_words

MOST_COLUMNS = 20
Text = Annotated[str, msgspec.Meta(max_length=4_000)]


class AskedGroups(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of a project that fit a filter, in groups with the same value of a field.

    Each group has the mean of some columns (below `config.` or `summary.`, separated by commas). `sort` is that of the
    table: by a column it sorts groups by their mean there, else they come in the order of their values.
    """

    project: str
    by: Text
    filter: Text = ""
    columns: Text = ""
    sort: Text = ""
    limit: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 200


class GroupBrief(msgspec.Struct, frozen=True):
    """Runs with the same value, how many of them are in each state, and the mean of each column that they have."""

    value: Any
    runs: int
    states: dict[str, int]
    columns: dict[str, Moments]


class GroupTable(msgspec.Struct, frozen=True):
    """The first groups, and how many there are."""

    total: int
    groups: list[GroupBrief]


class AskedFields(msgspec.Struct, frozen=True, kw_only=True):
    """The project."""

    project: str


class Fields(msgspec.Struct, frozen=True):
    """Names such as `config.lr` and `summary.loss`, sorted."""

    fields: list[str]


def list_groups(visit: Visit, asked: AskedGroups) -> GroupTable:
    """Runs in groups with the same value of a field, with means and how many are in each state"""
    columns = tuple(name for name in asked.columns.split(",") if name)
    wrong = [name for name in columns if not name.startswith(PREFIXES)]
    if wrong or len(columns) > MOST_COLUMNS:
        raise UsageError(
            f"at most {MOST_COLUMNS} columns below config. and summary. have a mean, not {wrong or len(columns)}"
        )
    parts: list[Filter] = [Compare("project", "=", asked.project)]
    if (where := parse_filter(asked.filter)) is not None:
        parts.append(where)
    sort = parse_sort(asked.sort)[:1]
    query = GroupQuery(
        by=parse_field(asked.by),
        now_ns=visit.services.clock.now_ns(),
        lateness=visit.services.lateness,
        where=All(tuple(parts)),
        columns=columns,
        sort=sort[0].field if sort else "",
        is_descending=bool(sort) and sort[0].is_descending,
        most=asked.limit,
    )
    page = visit.runs.groups(query)
    found = [GroupBrief(in_words(each.value), each.runs, each.states, each.columns) for each in page.groups]
    return GroupTable(page.total, found)


def list_fields(visit: Visit, asked: AskedFields) -> Fields:
    """Every setting and summary value that some run of a project has"""
    return Fields(list(visit.runs.fields(asked.project)))


ROUTES = [
    Route(method="GET", path="/groups", touches="listing", answer=list_groups, asked=AskedGroups, result=GroupTable),
    Route(method="GET", path="/fields", touches="listing", answer=list_fields, asked=AskedFields, result=Fields),
]
