"""Runs in one SQLite file: a narrow row for each, its whole row beside it, and every configured and summary value."""

import contextlib
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from holter.errors import StorageDamaged, StorageError, UsageError
from holter.model.run_row import RunRow
from holter.storage.embedded.database import Database
from holter.storage.embedded.run_groups import read_fields, read_members
from holter.storage.embedded.run_sql import Driver, RunSql
from holter.storage.grouping import gather
from holter.storage.matching import SEARCHED, ascii_lower
from holter.storage.run_fields import PREFIXES, Plain, flat_fields
from holter.storage.runs import RunPage, RunQuery, Seen
from holter.storage.tallies import GroupPage, GroupQuery

SCRIPTS = (
    """
    CREATE TABLE run (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT, name TEXT, entity TEXT, group_name TEXT,
        job_type TEXT, notes TEXT, tags TEXT, tags_json TEXT, host TEXT, attempt INTEGER, state TEXT, because TEXT,
        late_state TEXT, late_because TEXT, heard_ns INTEGER, cause TEXT, started_ns INTEGER, ended_ns INTEGER,
        late_ended_ns INTEGER, last_row_ns INTEGER, rows INTEGER, steps INTEGER, last_step INTEGER,
        version INTEGER NOT NULL, seen_ns INTEGER NOT NULL);
    CREATE INDEX run_started ON run (started_ns);
    CREATE INDEX run_project ON run (project);
    CREATE TABLE whole (run INTEGER PRIMARY KEY, row BLOB NOT NULL);
    CREATE TABLE key (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE kv (key INTEGER NOT NULL, run INTEGER NOT NULL, num REAL, text TEXT, PRIMARY KEY (key, run))
        WITHOUT ROWID;
    CREATE INDEX kv_num ON kv (key, num) WHERE num IS NOT NULL;
    CREATE INDEX kv_text ON kv (key, text) WHERE text IS NOT NULL;
    CREATE INDEX kv_run ON kv (run);
    """,
    # The newest runs of a project, and how many have a state, without a look at the runs themselves.
    """
    CREATE INDEX run_order ON run (project, started_ns, id);
    CREATE INDEX run_state ON run (project, state, late_state, heard_ns);
    """,
    "ALTER TABLE run ADD COLUMN rules TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE run ADD COLUMN ahead_ns INTEGER NOT NULL DEFAULT 0",
    # All that a search looks at, as one text in small letters.
    """
    CREATE TABLE words (run INTEGER PRIMARY KEY, text TEXT NOT NULL);
    INSERT INTO words SELECT number, LOWER(id || char(10) || IFNULL(name, '') || char(10) || IFNULL(notes, '')
        || char(10) || IFNULL(host, '') || char(10) || IFNULL(tags, '') || char(10) || IFNULL((
            SELECT GROUP_CONCAT(v.text, char(10)) FROM kv v INDEXED BY kv_run JOIN key k ON k.number = v.key
            WHERE v.run = r.number AND v.text IS NOT NULL AND k.name GLOB 'config.*'), '')) FROM run r
    """,
)
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
_WORDS = (
    "INSERT INTO words (run, text) VALUES (?, ?)"
    " ON CONFLICT (run) DO UPDATE SET text = excluded.text WHERE text != excluded.text"
)
# What SQLite says of a question that is too much for it.
_TOO_MUCH = ("parser stack overflow", "Expression tree is too large")
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


class SqliteRuns:
    """The port `RunStore`."""

    def __init__(self, directory: str) -> None:
        self._database = Database(os.path.join(directory, "runs.db"), SCRIPTS)
        self._keys: dict[str, int] = {}
        self._put: OrderedDict[str, dict[str, Plain]] = OrderedDict()
        self._ahead: dict[int, _Stretch] = {}
        """Of each connection, as only it can tell whether others have written since."""

    def put(self, rows: Sequence[RunRow]) -> None:
        """Keep these rows."""
        with self._database.write() as connection:
            try:
                for row in rows:
                    self._put_one(connection, row)
            except BaseException:
                self._put.clear()
                self._keys.clear()
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
        with self._database.write() as connection:
            self._put.pop(run, None)
            number = "(SELECT number FROM run WHERE id = ?)"
            connection.execute(f"DELETE FROM kv WHERE run = {number}", (run,))
            connection.execute(f"DELETE FROM whole WHERE run = {number}", (run,))
            connection.execute(f"DELETE FROM words WHERE run = {number}", (run,))
            connection.execute("DELETE FROM run WHERE id = ?", (run,))

    def close(self) -> None:
        """Idempotent."""
        self._database.close()

    def _put_one(self, connection: sqlite3.Connection, row: RunRow) -> None:
        found = connection.execute(_UPSERT, _narrow(row)).fetchall()
        if not found:
            return
        number = found[0][0]
        connection.execute("INSERT OR REPLACE INTO whole (run, row) VALUES (?, ?)", (number, _encode(row)))
        flat = flat_fields(row)
        connection.execute(_WORDS, (number, _words(row, flat)))
        before = self._remembered(connection, row.id, number)
        changed = {name: value for name, value in flat.items() if before.get(name) != value}
        connection.executemany(
            "INSERT OR REPLACE INTO kv (key, run, num, text) VALUES (?, ?, ?, ?)",
            [(self._number_of(connection, name), number, *_split(value)) for name, value in changed.items()],
        )
        connection.executemany(
            "DELETE FROM kv WHERE key = ? AND run = ?",
            [(self._number_of(connection, name), number) for name in before.keys() - flat.keys()],
        )
        self._put[row.id] = flat
        self._put.move_to_end(row.id)
        if len(self._put) > MOST_REMEMBERED:
            self._put.popitem(last=False)

    def _remembered(self, connection: sqlite3.Connection, run: str, number: int, /) -> dict[str, Plain]:
        if run in self._put:
            return self._put[run]
        found = connection.execute(
            "SELECT k.name, v.num, v.text FROM kv v INDEXED BY kv_run JOIN key k ON k.number = v.key WHERE v.run = ?",
            (number,),
        )
        return {name: text if num is None else num for name, num, text in found}

    def _number_of(self, connection: sqlite3.Connection, name: str) -> int:
        """The number that stands for a name; in a read transaction 0 for one that nobody has."""
        if name not in self._keys:
            found = connection.execute("SELECT number FROM key WHERE name = ?", (name,)).fetchone()
            if found is None:
                if connection is not self._database.writer:
                    return 0
                added = connection.execute("INSERT INTO key (name) VALUES (?)", (name,))
                found = (int(added.lastrowid or 0),)
            self._keys[name] = found[0]
        return self._keys[name]

    def _deep_page(self, connection: sqlite3.Connection, sql: RunSql, query: RunQuery) -> tuple[list[int], int | None]:
        [version] = connection.execute("PRAGMA data_version").fetchone()
        question = (query.where, query.sort, query.lateness, query.is_counted)
        known = self._ahead.get(id(connection))
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
            self._ahead[id(connection)] = known
        first = query.start - known.start
        return known.numbers[first : first + query.count], known.total

    def _page(self, connection: sqlite3.Connection, sql: RunSql, query: RunQuery) -> list[int]:
        limit = f"LIMIT {max(query.count, 0)} OFFSET {max(query.start, 0)}"
        driver = _driver(connection, sql, most=FEW_RUNS)
        if driver is None and not sql.is_search and query.sort and query.sort[0].field.startswith(PREFIXES):
            # Walks the index of the finite values from its end; stops as soon as the page is full.
            key = self._number_of(connection, query.sort[0].field)
            found = connection.execute(
                f"SELECT r.number FROM kv s0 INDEXED BY kv_num CROSS JOIN run r ON r.number = s0.run{sql.other_joins}"
                f" WHERE s0.key = {key} AND s0.num > -9e999 AND s0.num < 9e999{sql.walked} AND {sql.where}"
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


def _driver(connection: sqlite3.Connection, sql: RunSql, *, most: int) -> Driver | None:
    """The condition that the fewest runs meet, where they are few."""
    chosen, fewest = None, most + 1
    for driver in sql.drivers:
        [count] = connection.execute(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM kv d WHERE {driver.condition} LIMIT {fewest})", sql.parameters
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


def _whole_rows(connection: sqlite3.Connection, numbers: list[int]) -> list[bytes]:
    """In the order of the numbers; in one question, as each may have to wait for other threads."""
    chosen = ", ".join(map(str, numbers))
    found = dict(connection.execute(f"SELECT run, row FROM whole WHERE run IN ({chosen})").fetchall())
    if len(found) < len(numbers):
        raise StorageDamaged("a row of the table has lost its other half")
    return [found[number] for number in numbers]


def _count(connection: sqlite3.Connection, sql: RunSql) -> int:
    runs, where = _looked_at(_driver(connection, sql, most=FEW_TO_COUNT), sql)
    [total] = connection.execute(f"SELECT COUNT(*) FROM {runs} WHERE {where}", sql.parameters).fetchone()
    return int(total)


def _narrow(row: RunRow) -> dict[str, str | int | None]:
    known = {name: getattr(row, name) for name in _COLUMNS if name not in ("group_name", "tags", "tags_json")}
    tags = "".join(f"\n{tag}\n" for tag in row.tags)
    return known | {"group_name": row.group, "tags": tags, "tags_json": msgspec.json.encode(row.tags).decode()}


def _split(value: Plain) -> tuple[float | None, str | None]:
    return (None, value[:MOST_TEXT]) if isinstance(value, str) else (value, None)
