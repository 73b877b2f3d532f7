"""Runs in tables: a narrow row for each, its whole row beside it, and every configured and summary value."""

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from holter.errors import StorageDamaged, StorageError, UsageError
from holter.model.run_row import RunRow
from holter.storage.grouping import gather
from holter.storage.matching import SEARCHED, ascii_lower
from holter.storage.run_fields import PREFIXES, Plain, flat_fields
from holter.storage.runs import RunPage, RunQuery, Seen
from holter.storage.tables.database import Connection, Database
from holter.storage.tables.run_groups import read_fields, read_members
from holter.storage.tables.run_sql import Driver, RunSql
from holter.storage.tallies import GroupPage, GroupQuery

_COLUMNS = (
    "id project name entity group_name job_type notes tags tags_json host attempt state because late_state late_because"
    " heard_ns cause started_ns ended_ns late_ended_ns last_row_ns rows steps last_step version seen_ns"
    " rules ahead_ns"
).split()
_UPSERT = (
    f"INSERT INTO run ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{column}' for column in _COLUMNS)})"
    f" ON CONFLICT (id) DO UPDATE SET {', '.join(f'{column} = excluded.{column}' for column in _COLUMNS[1:])}"
    " WHERE excluded.version >= run.version RETURNING number"
)
_WHOLE = "INSERT INTO whole (run, row) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET row = excluded.row"
_VALUE = (
    "INSERT INTO kv (key, run, num, text) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (key, run) DO UPDATE SET num = excluded.num, text = excluded.text"
)
_WORDS = (
    "INSERT INTO words (run, text) VALUES (?, ?)"
    " ON CONFLICT (run) DO UPDATE SET text = excluded.text WHERE words.text != excluded.text"
)
# What databases say of a question that is too much for them.
_TOO_MUCH = ("parser stack overflow", "Expression tree is too large", "stack depth limit exceeded")
# What was put last, so that only what changed is written; the newest runs are those that change.
MOST_REMEMBERED = 4096
# To look each of so many up costs less than to look at all: to sort them, and to count them.
FEW_RUNS, FEW_TO_COUNT = 4000, 20_000
# A page so far down is as costly as all before it: what comes next is found with it, for those who scroll on.
DEEP, AHEAD, AHEAD_NS = 1000, 4000, 1_000_000_000
# Of a search all are found at once, as each look at all texts costs the same.
MOST_FOUND = 1_000_000
# Longer text is found by what it contains at the beginning.
MOST_TEXT = 1000

_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
_decode = msgspec.msgpack.Decoder(RunRow).decode


_Named = tuple[RunRow, dict[str, Plain]]
"""A run with what it has under names."""


class _Stretch(NamedTuple):
    """The numbers of the runs of some pages that follow each other."""

    question: tuple[object, ...]
    version: int
    now_ns: int
    start: int
    numbers: list[int]
    total: int | None
    is_last: bool
    """Whether nothing comes behind them."""

    def has(self, query: RunQuery) -> bool:
        end = self.start + len(self.numbers)
        return self.start <= query.start and (query.start + query.count <= end or self.is_last)


class RunTables:
    """The port `RunStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: dict[str, int] = {}
        self._put: OrderedDict[str, dict[str, Plain]] = OrderedDict()
        self._ahead: dict[int, _Stretch] = {}
        """By who can tell whether others have written since."""

    def put(self, rows: Sequence[RunRow]) -> None:
        """Keep these rows."""
        fitting = self._database.fitting
        named = [
            (row, {fitting(name): value for name, value in flat_fields(row).items()})
            for row in sorted(rows, key=lambda row: row.id)
        ]
        self._add_keys({name for _, flat in named for name in flat})
        with self._database.write(*(row.id for row in rows)) as connection:
            try:
                self._put_all(connection, named)
            except BaseException:
                self._put.clear()
                raise

    def get(self, run: str) -> RunRow | None:
        """The row of a run."""
        with self._database.read() as connection:
            found = connection.execute(
                "SELECT w.row FROM run r JOIN whole w ON w.run = r.number WHERE r.id = ?", (run,)
            ).fetchone()
            return _decode(found[0]) if found else None

    def query(self, query: RunQuery) -> RunPage:
        """A page of runs."""
        with _bearable():
            return self._query(query)

    def groups(self, query: GroupQuery) -> GroupPage:
        """How runs fall into groups."""
        with _bearable(), self._database.read() as connection:
            return gather(read_members(connection, query, lambda name: self._number_of(connection, name)), query)

    def fields(self, project: str | None = None) -> list[str]:
        """Every name that some run has a value under."""
        with self._database.read() as connection:
            return read_fields(connection, project)

    def _query(self, query: RunQuery) -> RunPage:
        with self._database.read() as connection:
            sql = RunSql(query, lambda name: self._number_of(connection, name))
            if query.start < DEEP and not sql.is_search:
                numbers = self._page(connection, sql, query)
                total = _count(connection, sql) if query.is_counted else None
            else:
                numbers, total = self._deep_page(connection, sql, query)
            rows = [_decode(row) for row in _whole_rows(connection, numbers)]
        return RunPage([row.at(query.now_ns, query.lateness) for row in rows], total)

    def projects(self) -> Mapping[str, int]:
        """How many runs each project has."""
        with self._database.read() as connection:
            return dict(connection.execute("SELECT project, COUNT(*) FROM run GROUP BY project").fetchall())

    def seen(self) -> Mapping[str, Seen]:
        """When each run was seen last."""
        with self._database.read() as connection:
            found = connection.execute("SELECT id, seen_ns, rules FROM run")
            return {run: Seen(seen_ns, rules) for run, seen_ns, rules in found}

    def delete(self, run: str) -> None:
        """Forget the run."""
        with self._database.write(run) as connection:
            self._put.pop(run, None)
            for table in ("kv", "whole", "words"):
                connection.execute(f"DELETE FROM {table} WHERE run = (SELECT number FROM run WHERE id = ?)", (run,))
            connection.execute("DELETE FROM run WHERE id = ?", (run,))

    def close(self) -> None:
        """Idempotent."""
        self._database.close()

    def _put_all(self, connection: Connection, named: list[_Named]) -> None:
        fitting = self._database.fitting
        numbers: dict[int, _Named] = {}
        for row, flat in named:
            found = connection.execute(_UPSERT, _narrow(row, fitting)).fetchall()
            if found:  # else there is a newer one
                numbers[found[0][0]] = (row, flat)
        connection.executemany(_WHOLE, [(number, _encode(row)) for number, (row, _) in numbers.items()])
        connection.executemany(_WORDS, [(number, _words(row, flat)) for number, (row, flat) in numbers.items()])
        changed: list[tuple[int, int, float | None, str | None]] = []
        gone: list[tuple[int, int]] = []
        for number, (row, flat) in numbers.items():
            before = self._remembered(connection, row.id, number)
            for name, value in flat.items():
                if before.get(name) != value:
                    changed.append((self._number_of(connection, name), number, *_split(value, fitting)))
            gone += [(self._number_of(connection, name), number) for name in before.keys() - flat.keys()]
            self._put[row.id] = flat
            self._put.move_to_end(row.id)
            if len(self._put) > MOST_REMEMBERED:
                self._put.popitem(last=False)
        connection.executemany(_VALUE, changed)
        connection.executemany("DELETE FROM kv WHERE key = ? AND run = ?", gone)

    def _remembered(self, connection: Connection, run: str, number: int, /) -> dict[str, Plain]:
        if run in self._put and not self._database.is_shared:
            return self._put[run]
        found = connection.execute(
            "SELECT k.name, v.num, v.text FROM kv v INDEXED BY kv_run JOIN key k ON k.number = v.key WHERE v.run = ?",
            (number,),
        )
        return {name: text if num is None else num for name, num, text in found}

    def _add_keys(self, names: set[str]) -> None:
        """Give each name a number, before and outside of what is put: two that add names would wait for each other."""
        missing = sorted(names - self._keys.keys())
        if missing:
            with self._database.read() as connection:
                missing = [name for name in missing if not self._number_of(connection, name)]
        if missing:
            with self._database.write("keys") as connection:
                sql = "INSERT INTO key (name) VALUES (?) ON CONFLICT (name) DO NOTHING"
                connection.executemany(sql, [(name,) for name in missing])

    def _number_of(self, connection: Connection, name: str) -> int:
        """The number that stands for a name; 0 for one that nobody has."""
        name = self._database.fitting(name)
        if name not in self._keys:
            found = connection.execute("SELECT number FROM key WHERE name = ?", (name,)).fetchone()
            if found is None:
                return 0
            self._keys[name] = found[0]
        return self._keys[name]

    def _deep_page(self, connection: Connection, sql: RunSql, query: RunQuery) -> tuple[list[int], int | None]:
        whose, version = self._database.moment(connection)
        question = (query.where, query.sort, query.lateness, query.is_counted)
        known = self._ahead.get(whose)
        is_old = known is None or known.version != version or abs(query.now_ns - known.now_ns) > AHEAD_NS
        if known is None or is_old or known.question != question or not known.has(query):
            # People scroll in both directions.
            start = 0 if sql.is_search else max(0, query.start - AHEAD // 4)
            count = MOST_FOUND if sql.is_search else query.start - start + max(AHEAD, query.count)
            numbers = self._page(connection, sql, msgspec.structs.replace(query, start=start, count=count))
            total = None
            if query.is_counted:
                total = len(numbers) if len(numbers) < count and start == 0 else _count(connection, sql)
            is_last = len(numbers) < count
            known = _Stretch(question, version, query.now_ns, start, numbers, total, is_last)
            self._ahead[whose] = known
        first = query.start - known.start
        return known.numbers[first : first + query.count], known.total

    def _page(self, connection: Connection, sql: RunSql, query: RunQuery) -> list[int]:
        limit = f"LIMIT {max(query.count, 0)} OFFSET {max(query.start, 0)}"
        driver = _driver(connection, sql, most=FEW_RUNS)
        if driver is None and not sql.is_search and query.sort and query.sort[0].field.startswith(PREFIXES):
            # Walks the index of the finite values from its end; stops as soon as the page is full.
            key = self._number_of(connection, query.sort[0].field)
            found = connection.execute(
                f"SELECT r.number FROM kv s0 INDEXED BY kv_num CROSS JOIN run r ON r.number = s0.run{sql.other_joins}"
                f" WHERE s0.key = {key} AND s0.num > -:infinity AND s0.num < :infinity{sql.walked} AND {sql.where}"
                f" ORDER BY {sql.walked_order} {limit}",
                sql.parameters,
            ).fetchall()
            if len(found) == query.count:
                return [number for [number] in found]
        runs, where = _looked_at(driver, sql)
        found = connection.execute(
            f"SELECT r.number FROM {runs}{sql.joins} WHERE {where} ORDER BY {sql.order} {limit}", sql.parameters
        ).fetchall()
        return [number for [number] in found]


@contextlib.contextmanager
def _bearable() -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        if str(error.__cause__).startswith(_TOO_MUCH):
            said = "the filter is nested too deeply, or too long: take brackets, 'not' or names out of it"
            raise UsageError(said) from error
        raise


def _words(row: RunRow, flat: Mapping[str, Plain]) -> str:
    configured = [
        value[:MOST_TEXT] for name, value in flat.items() if type(value) is str and name.startswith("config.")
    ]
    return ascii_lower("\n".join([*(getattr(row, name) for name in SEARCHED), *row.tags, *configured]))


def _driver(connection: Connection, sql: RunSql, *, most: int) -> Driver | None:
    """The condition that the fewest runs meet, where they are few."""
    chosen, fewest = None, most + 1
    for driver in sql.drivers:
        [count] = connection.execute(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM kv d WHERE {driver.condition} LIMIT {fewest}) found", sql.parameters
        ).fetchone()
        if count < fewest:
            chosen, fewest = driver, count
    return chosen


def _looked_at(driver: Driver | None, sql: RunSql) -> tuple[str, str]:
    """The runs to look at, and what they must meet: those that meet a condition which few meet, else all."""
    if driver is None:
        return "run r", sql.where
    few = f"(SELECT d.run FROM kv d WHERE {driver.condition}) few CROSS JOIN run r ON r.number = few.run"
    return few, driver.others


def _whole_rows(connection: Connection, numbers: list[int]) -> list[bytes]:
    """In the order of the numbers; in one question, as each may have to wait for other threads."""
    if not numbers:
        return []
    chosen = ", ".join(map(str, numbers))
    found = dict(connection.execute(f"SELECT run, row FROM whole WHERE run IN ({chosen})").fetchall())
    if len(found) < len(numbers):
        raise StorageDamaged("a row of the table has lost its other half")
    return [found[number] for number in numbers]


def _count(connection: Connection, sql: RunSql) -> int:
    runs, where = _looked_at(_driver(connection, sql, most=FEW_TO_COUNT), sql)
    [total] = connection.execute(f"SELECT COUNT(*) FROM {runs} WHERE {where}", sql.parameters).fetchone()
    return int(total)


def _narrow(row: RunRow, fitting: Callable[[str], str]) -> dict[str, str | int | None]:
    known = {name: getattr(row, name) for name in _COLUMNS if name not in ("group_name", "tags", "tags_json")}
    tags = "".join(f"\n{tag}\n" for tag in row.tags)
    known |= {"id": fitting(row.id), "project": fitting(row.project)}
    return known | {"group_name": row.group, "tags": tags, "tags_json": msgspec.json.encode(row.tags).decode()}


def _split(value: Plain, fitting: Callable[[str], str]) -> tuple[float | None, str | None]:
    return (None, fitting(value[:MOST_TEXT])) if isinstance(value, str) else (value, None)
