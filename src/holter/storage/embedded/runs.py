"""Runs in one SQLite file: a narrow row for each, its whole row beside it, and every configured and summary value."""

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import msgspec

from holter.storage.embedded.database import Database
from holter.storage.embedded.run_sql import RunSql
from holter.storage.run_fields import PREFIXES, Plain, flat_fields, shown_fields
from holter.storage.runs import RunPage, RunQuery, RunRow

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
)
_COLUMNS = (
    "id project name entity group_name job_type notes tags tags_json host attempt state because late_state late_because"
    " heard_ns cause started_ns ended_ns late_ended_ns last_row_ns rows steps last_step version seen_ns"
).split()
_UPSERT = (
    f"INSERT INTO run ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{column}' for column in _COLUMNS)})"
    f" ON CONFLICT (id) DO UPDATE SET {', '.join(f'{column} = excluded.{column}' for column in _COLUMNS[1:])}"
    " WHERE excluded.version >= run.version RETURNING number"
)
# What was put last, so that only what changed is written; the newest runs are those that change.
MOST_REMEMBERED = 4096
# To look each of so many up costs less than to look at all.
FEW_RUNS = 4000
# Longer text is found by what it contains at the beginning.
MOST_TEXT = 1000

_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
_decode = msgspec.msgpack.Decoder(RunRow).decode


class SqliteRuns:
    """The port `RunStore`."""

    def __init__(self, directory: str) -> None:
        self._database = Database(os.path.join(directory, "runs.db"), SCRIPTS)
        self._keys: dict[str, int] = {}
        self._put: OrderedDict[str, dict[str, Plain]] = OrderedDict()

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
        with self._database.read() as connection:
            sql = RunSql(query, lambda name: self._number_of(connection, name))
            numbers = self._page(connection, sql, query)
            rows = [
                connection.execute("SELECT row FROM whole WHERE run = ?", (number,)).fetchone() for number in numbers
            ]
            total = _count(connection, sql) if query.is_counted else None
        shown = [
            shown_fields(_decode(row), query.columns, now_ns=query.now_ns, lateness=query.lateness) for [row] in rows
        ]
        return RunPage(shown, total)

    def list_keys(self, project: str | None = None) -> list[str]:
        """All names under `config.` and `summary.`."""
        of_project = (
            " WHERE EXISTS (SELECT 1 FROM kv v JOIN run r ON r.number = v.run WHERE v.key = k.number AND r.project = ?)"
        )
        everywhere = " WHERE EXISTS (SELECT 1 FROM kv v WHERE v.key = k.number)"
        with self._database.read() as connection:
            found = connection.execute(
                f"SELECT k.name FROM key k{everywhere if project is None else of_project} ORDER BY k.name",
                () if project is None else (project,),
            )
            return [name for [name] in found]

    def projects(self) -> Mapping[str, int]:
        """How many runs each project has."""
        with self._database.read() as connection:
            return dict(connection.execute("SELECT project, COUNT(*) FROM run GROUP BY project").fetchall())

    def seen(self) -> Mapping[str, int]:
        """`seen_ns` of every run."""
        with self._database.read() as connection:
            return dict(connection.execute("SELECT id, seen_ns FROM run").fetchall())

    def delete(self, run: str) -> None:
        """Forget the run."""
        with self._database.write() as connection:
            self._put.pop(run, None)
            number = "(SELECT number FROM run WHERE id = ?)"
            connection.execute(f"DELETE FROM kv WHERE run = {number}", (run,))
            connection.execute(f"DELETE FROM whole WHERE run = {number}", (run,))
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

    def _page(self, connection: sqlite3.Connection, sql: RunSql, query: RunQuery) -> list[int]:
        limit = f"LIMIT {max(query.count, 0)} OFFSET {max(query.start, 0)}"
        runs = _runs_to_look_at(connection, sql)
        if runs == "run r" and query.sort and query.sort[0].field.startswith(PREFIXES):
            # Walks the index of the values from its end; stops as soon as the page is full.
            key = self._number_of(connection, query.sort[0].field)
            found = connection.execute(
                f"SELECT r.number FROM kv s0 INDEXED BY kv_num CROSS JOIN run r ON r.number = s0.run{sql.other_joins}"
                f" WHERE s0.key = {key} AND s0.num IS NOT NULL AND {sql.where} ORDER BY {sql.walked_order} {limit}",
                sql.parameters,
            ).fetchall()
            if len(found) == query.count:
                return [number for [number] in found]
        found = connection.execute(
            f"SELECT r.number FROM {runs}{sql.joins} WHERE {sql.where} ORDER BY {sql.order} {limit}", sql.parameters
        ).fetchall()
        return [number for [number] in found]


def _runs_to_look_at(connection: sqlite3.Connection, sql: RunSql) -> str:
    """Where to look: at the runs that meet a condition which few meet, else at all."""
    chosen, fewest = "run r", FEW_RUNS + 1
    for driver in sql.drivers:
        [count] = connection.execute(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM kv d WHERE {driver} LIMIT {fewest})", sql.parameters
        ).fetchone()
        if count < fewest:
            chosen, fewest = (
                f"(SELECT d.run FROM kv d WHERE {driver}) few CROSS JOIN run r ON r.number = few.run",
                count,
            )
    return chosen


def _count(connection: sqlite3.Connection, sql: RunSql) -> int:
    runs = _runs_to_look_at(connection, sql)
    [total] = connection.execute(f"SELECT COUNT(*) FROM {runs} WHERE {sql.where}", sql.parameters).fetchone()
    return int(total)


def _narrow(row: RunRow) -> dict[str, str | int | None]:
    known = {name: getattr(row, name) for name in _COLUMNS if name not in ("group_name", "tags", "tags_json")}
    tags = "".join(f"\n{tag}\n" for tag in row.tags)
    return known | {"group_name": row.group, "tags": tags, "tags_json": msgspec.json.encode(row.tags).decode()}


def _split(value: Plain) -> tuple[float | None, str | None]:
    return (None, value[:MOST_TEXT]) if isinstance(value, str) else (value, None)
