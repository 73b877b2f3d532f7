"""The tables in ClickHouse, as the steps from each version to the next; they are only ever added.

All of them replace: of several rows with the same place in the order that of the greatest version holds, as reads say
with FINAL, since ClickHouse itself drops the others at some later time. So whatever is written again changes nothing.
Several servers may take the same step at once: each statement can be repeated.
"""

# The highest 64 bits of the version. Times before 1970 are below all others there.
_TIME = "toInt64(bitXor(toUInt64(bitShiftRight(version, 192)), 9223372036854775808))"
# Order of writes: time, journal and offset, the greatest digits first. The time is nowhere else.
_POINTS = f"""
CREATE TABLE IF NOT EXISTS {{points}} (
    run LowCardinality(String),
    key LowCardinality(String),
    step Int64 CODEC(DoubleDelta, ZSTD(1)),
    version UInt256 CODEC(ZSTD(1)),
    value Float64 CODEC(ZSTD(1)),
    at_ns Int64 ALIAS {_TIME}
) ENGINE = {{engine}} ORDER BY (run, key, step)
"""
_SERIES = """
CREATE TABLE IF NOT EXISTS {series} (run String, key String, version UInt64) ENGINE = {engine} ORDER BY (run, key)
"""
_JOURNAL = """
CREATE TABLE IF NOT EXISTS {journal} (run String, journal String, version UInt64)
ENGINE = {engine} ORDER BY (run, journal)
"""
# One table: what is inserted at once is there at once, the state of a transcript (kind 0), its lines (1) and gaps (2).
# In the state `number` is 0, `lines` counts them, `size` is the offset and `text` the line that is not ended yet.
_CONSOLE = """
CREATE TABLE IF NOT EXISTS {console} (
    run LowCardinality(String),
    transcript LowCardinality(String),
    kind UInt8,
    number Int64 CODEC(DoubleDelta, ZSTD(1)),
    at_ns Int64 CODEC(DoubleDelta, ZSTD(1)),
    stream UInt8,
    text String CODEC(ZSTD(1)),
    lines Int64 CODEC(ZSTD(1)),
    size Int64 CODEC(ZSTD(1)),
    version UInt64 CODEC(ZSTD(1))
) ENGINE = {engine} ORDER BY (run, transcript, kind, number)
"""
_EVENT = """
CREATE TABLE IF NOT EXISTS {event} (
    run String,
    digest FixedString(16),
    at_ns Int64,
    journal String,
    offset Int64,
    kind String,
    fields String CODEC(ZSTD(1)),
    version UInt64
) ENGINE = {engine} ORDER BY (run, digest)
"""

SERIES = ((("points", _POINTS), ("series", _SERIES), ("journal", _JOURNAL)),)
CONSOLE = ((("console", _CONSOLE), ("event", _EVENT)),)
VERSIONS = (
    "schema_version",
    "CREATE TABLE IF NOT EXISTS {schema_version} (run String, version UInt64) ENGINE = {engine} ORDER BY run",
)
"""`run` is the part of the tables: on a cluster each row is where its run is."""
