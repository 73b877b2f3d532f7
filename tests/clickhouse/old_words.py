"""What ClickHouse 18.16 calls otherwise: numbers of 256 bits are four of 64, and each question chooses what holds."""

import re

_BITS = ("version_0", "version_1", "version_2", "version_3")
_ORDER = "run, key, step"
_WORDS = (
    (re.compile(r" CODEC\((?:[^()]|\([^()]*\))*\)"), ""),
    (re.compile(r"LowCardinality\((\w+)\)"), r"\1"),
    (re.compile(r"version UInt256"), ", ".join(f"{name} UInt64" for name in _BITS)),
    (re.compile(r"toUInt64\(bitShiftRight\(version, 192\)\)"), "version_3"),
    (re.compile(r"\b9223372036854775808\b"), "toUInt64(9223372036854775808)"),
    (re.compile(r" SYNC$"), ""),
    (re.compile(r" ON CLUSTER \w+"), ""),
    (re.compile(r"^DELETE FROM (\S+)"), r"ALTER TABLE \1 DELETE"),
)
_POINTS = re.compile(r"(\w+\.points) FINAL WHERE (run (?:= '[^']*'|IN \([^)]*\)))")


def in_old_words(sql: str) -> str:
    """A statement of the product's, as 18.16 takes it."""
    if "version UInt256" in sql:
        sql = sql.replace(", version)", ")").replace("(version)", "()")
        sql = sql.replace(f"ORDER BY ({_ORDER})", f"ORDER BY ({_ORDER}, {', '.join(reversed(_BITS))})")
    for pattern, words in _WORDS:
        sql = pattern.sub(words, sql)
    newest = ", ".join(f"{name} DESC" for name in reversed(_BITS))
    return _POINTS.sub(
        rf"(SELECT run, key, step, at_ns, value FROM \1 WHERE \2 ORDER BY {_ORDER}, {newest} LIMIT 1 BY {_ORDER})"
        r" WHERE \2",
        sql,
    )


def old_columns(table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of an insert; their bytes are the same."""
    if not table.endswith(".points"):
        return columns
    return tuple(name for column in columns for name in (_BITS if column == "version" else (column,)))
