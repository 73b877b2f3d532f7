"""Tables that rows hold: their rows page by page, sorted, filtered, with what each column holds."""

from typing import Annotated

import msgspec

from holter.catalog.tables.asking import Condition, TablePage, TableQuery, Tables
from holter.catalog.tables.reading import TableFile
from holter.errors import NoRun, UsageError
from holter.model.media_records import MediaItem
from holter.server.api.files import find_content
from holter.server.ingest.media import items_of
from holter.server.transport.routing import Route, Visit
from holter.storage.media import MediaQuery

MOST_PARTS = 10_000
TYPES = ("table", "chart")
Id = Annotated[str, msgspec.Meta(max_length=128)]
Name = Annotated[str, msgspec.Meta(max_length=4096)]
_tables = Tables()
_decode = msgspec.json.Decoder(tuple[Condition, ...]).decode


class AskedTableRows(msgspec.Struct, frozen=True, kw_only=True):
    """The table of a key at a step, or at the last one before it; of a table that was logged in parts all up to then.

    `number` is its place among those of one row. `where` is a JSON list of conditions that all hold, each a list of a
    column (empty: any), an operator (=, !=, <, <=, >, >=, contains) and a value. With `stats` what the columns hold.
    """

    run: Id
    key: Name
    step: int | None = None
    number: Annotated[int, msgspec.Meta(ge=0)] = 0
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 50
    sort: Name = ""
    descending: bool = False
    where: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    stats: bool = False


def table_rows(visit: Visit, asked: AskedTableRows) -> TablePage:
    """Rows of a logged table, sorted and filtered"""
    items = _parts(visit, asked)
    files = [_file(visit, asked.run, item) for item in items]
    try:
        where = _decode(asked.where) if asked.where else ()
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"`where` is a JSON list of [column, operator, value]: {error}") from None
    query = TableQuery(
        offset=asked.offset,
        limit=asked.limit,
        sort=asked.sort,
        is_descending=asked.descending,
        where=where,
        with_stats=asked.stats,
    )
    # Of this run alone: that a file is called by a digest does not make it what others call so.
    name = ",".join([asked.run, *(item.path for item in items)])
    return _tables.ask(name, files, query)


def _parts(visit: Visit, asked: AskedTableRows) -> list[MediaItem]:
    """The files of the table in their order. Raises NoRun."""
    store = visit.services.storage.media
    found = store.select(asked.run, MediaQuery(key=asked.key, last=asked.step, most=1, newest=True))
    items = items_of(found[0]) if found and found[0].type in TYPES else []
    if asked.number >= len(items):
        raise NoRun(f"there is no table {asked.key[:200]!r} at this step")
    item = items[asked.number]
    identity = item.about().get("table")
    if not identity:
        return [item]
    earlier = store.select(asked.run, MediaQuery(key=asked.key, last=found[0].step, most=MOST_PARTS, newest=True))
    parts = [each for entry in earlier for each in items_of(entry) if each.about().get("table") == identity]
    return sorted(parts, key=lambda each: int(each.about().get("part") or 0))


def _file(visit: Visit, run: str, item: MediaItem) -> TableFile:
    content = find_content(visit, run, path=item.path)
    told = item.about().get("columns")
    columns = [
        {"name": str(each.get("name")), "type": str(each.get("type"))}
        for each in (told if isinstance(told, list) else [])
        if isinstance(each, dict)
    ]
    return TableFile(item.ext, content.size, content.read, columns)


ROUTES = [
    Route(
        method="GET", path="/runs/{run}/table", touches="run", answer=table_rows, asked=AskedTableRows, result=TablePage
    )
]
