"""Tables of runs, asked for with texts as people and URLs write them."""

from collections.abc import Sequence

import msgspec

from holter.errors import UsageError
from holter.model.state import Lateness
from holter.storage.filter_text import parse_filter, parse_sort
from holter.storage.run_fields import PREFIXES
from holter.storage.runs import PLAIN_FIELDS, RunQuery

MOST_RUNS = 10_000


class TableTexts(msgspec.Struct, frozen=True, kw_only=True):
    """A question as it was written."""

    where: str = ""
    sort: str = ""
    columns: Sequence[str] = ()
    start: int = 0
    count: int = 50
    is_counted: bool = True


def read_query(texts: TableTexts, *, now_ns: int, lateness: Lateness) -> RunQuery:
    """The question that the texts mean. Raises FilterError, which points at the place; UsageError."""
    for column in texts.columns:
        if column not in (*PLAIN_FIELDS, "config", "summary", "is_stale", "ahead_s") and not column.startswith(
            PREFIXES
        ):
            raise UsageError(f"no column {column!r}: there are {', '.join(PLAIN_FIELDS)}, config.… and summary.…")
    if texts.start < 0 or not 0 <= texts.count <= MOST_RUNS:
        raise UsageError(f"a page begins at 0 or later and has up to {MOST_RUNS:,} runs")
    query = RunQuery(
        now_ns=now_ns,
        lateness=lateness,
        where=parse_filter(texts.where),
        columns=tuple(texts.columns),
        start=texts.start,
        count=texts.count,
        is_counted=texts.is_counted,
    )
    sort = parse_sort(texts.sort)
    return msgspec.structs.replace(query, sort=sort) if sort else query
