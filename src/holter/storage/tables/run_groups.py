"""Looks at many runs in tables at once: their groups, and the names that they have values under."""

import numpy as np

from holter.storage.grouping import Floats, Ints, Members
from holter.storage.run_fields import PREFIXES, Plain
from holter.storage.runs import RunQuery
from holter.storage.tables.database import Connection
from holter.storage.tables.run_sql import NumberOfKey, RunSql, column_of
from holter.storage.tallies import GroupQuery

# The names of so many runs cost less to collect than it costs to ask of each name whether a run has it.
FEW_RUNS = 2000


def read_members(connection: Connection, query: GroupQuery, number_of: NumberOfKey, /) -> Members:
    """Each column is read by itself, from its beginning to its end: to look each run up takes ten times that."""
    where = RunQuery(now_ns=query.now_ns, lateness=query.lateness, where=query.where, sort=())
    sql = RunSql(where, number_of)
    is_setting = query.by.startswith(PREFIXES)
    by = "NULL" if is_setting else column_of(query.by)
    found = connection.execute(
        f"SELECT r.number, {column_of('state')}, {by} FROM run r WHERE {sql.where}", sql.parameters
    ).fetchall()
    if is_setting:
        rows = connection.execute("SELECT v.run, v.num, v.text FROM kv v WHERE v.key = ?", (number_of(query.by),))
        own = {number: text if num is None else num for number, num, text in rows}
        members = [(number, state, own.get(number)) for number, state, _ in found]
    elif query.by == "tags":
        members = [(number, state, tag) for number, state, tags in found for tag in _tags(tags)]
    else:
        members = found
    numbers = np.fromiter((number for number, _, _ in members), np.int64, len(members))
    columns = [_column(connection, number_of(name), numbers) for name in query.columns]
    return Members([value for _, _, value in members], [state for _, state, _ in members], columns)


def read_fields(connection: Connection, project: str | None) -> list[str]:
    """Every name that some run of a project, or of all, has a value under."""
    if project is None:
        found = connection.execute("SELECT name FROM key k WHERE EXISTS (SELECT 1 FROM kv v WHERE v.key = k.number)")
        return sorted(name for [name] in found)
    few = "SELECT number FROM run WHERE project = ?"
    [count] = connection.execute(f"SELECT COUNT(*) FROM ({few} LIMIT {FEW_RUNS}) found", (project,)).fetchone()
    if count < FEW_RUNS:
        keys = f"SELECT DISTINCT v.key FROM ({few}) r CROSS JOIN kv v INDEXED BY kv_run ON v.run = r.number"
        found = connection.execute(f"SELECT name FROM key WHERE number IN ({keys})", (project,))
    else:
        of_project = "SELECT 1 FROM kv v CROSS JOIN run r ON r.number = v.run WHERE v.key = k.number AND r.project = ?"
        found = connection.execute(f"SELECT name FROM key k WHERE EXISTS ({of_project})", (project,))
    return sorted(name for [name] in found)


def _column(connection: Connection, key: int, numbers: Ints) -> Floats:
    """What these runs have there, NaN for nothing."""
    found = connection.execute("SELECT v.run, v.num FROM kv v WHERE v.key = ? AND v.num IS NOT NULL", (key,)).fetchall()
    runs, values = (np.array(each) for each in zip(*found, strict=True)) if found else (np.empty(0, int), np.empty(0))
    order = np.argsort(runs, kind="stable")
    runs, values = np.append(runs[order], -1), np.append(values[order], np.nan)
    places = np.searchsorted(runs[:-1], numbers)
    chosen: Floats = np.where(runs[places] == numbers, values[places], np.nan)
    return chosen


def _tags(joined: str) -> list[Plain]:
    return [*joined[1:-1].split("\n\n")] if joined else [None]
