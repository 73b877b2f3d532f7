"""Storage is opened by URL."""

import sys

import msgspec
import pytest

from holter.errors import UsageError
from holter.storage.opening import engine_names, open_storage
from holter.storage.places import Places


def test_the_engines_are_the_files_of_the_folder() -> None:
    assert engine_names() == [
        "clickhouse",
        "clickhouse18",
        "directory",
        "memory",
        "postgresql",
        "s3",
        "sqlite",
    ]


@pytest.mark.parametrize("url", ["postgre://db", "click://db", "sqlite", "", "../x:y"])
def test_a_url_without_an_engine_says_what_there_is(url: str) -> None:
    with pytest.raises(UsageError, match="memory, postgresql, s3, sqlite"):
        open_storage(url)


@pytest.mark.parametrize(
    ("port", "url", "said"),
    [
        (
            "series",
            "s3://bucket",
            "'s3://bucket' is no place for series, which can be kept by clickhouse:, clickhouse18:, memory:, ",
        ),
        ("blobs", "postgresql://ada:secret@db/x", "'postgresql://ada:…@db/x' is no place for blobs, .* memory:, s3:, "),
        (
            "runs",
            "clickhouse://db",
            "'clickhouse://db' is no place for runs, which can be kept by memory:, postgresql:, ",
        ),
        ("series", "clickhouse://ada:secret@:x/y", "'clickhouse://ada:…@:x/y' is no address of ClickHouse: write"),
        ("series", "clickhouse://db/a-b", "'a-b' in 'clickhouse://db/a-b' is no name"),
        ("series", "clickhouse://db/?secure=maybe", "is no address of ClickHouse: write"),
        ("console", "clickhouse://db/?max threads=1", "'max threads' in .* is neither secure nor cluster"),
        ("blobs", "s3://", "write 's3://BUCKET/FOLDER'"),
        ("blobs", "s3://key:secret@bucket", "no bucket in 'bucket': write"),
        ("blobs", "s3://bucket/x?speed=9", "may have endpoint and region behind"),
        ("blobs", "s3://bucket", "'memory:' keeps no names of files that are in 's3://bucket'"),
    ],
)
def test_a_port_that_an_engine_has_no_place_for_is_refused_before_anything_is_opened(
    port: str, url: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        open_storage(msgspec.structs.replace(Places.at("memory:"), **{port: url}))


@pytest.mark.parametrize(
    ("module", "loaded", "url", "extra"),
    [
        ("obstore", "holter.storage.objects.bucket", "s3://bucket", "holter\\[s3\\]"),
        ("psycopg", "holter.storage.postgres.database", "postgresql://db/x", "holter\\[postgres\\]"),
        ("clickhouse_connect", "holter.storage.clickhouse.http", "clickhouse://db", "holter\\[clickhouse\\]"),
    ],
)
def test_what_an_engine_needs_is_said_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, module: str, *, loaded: str, url: str, extra: str
) -> None:
    monkeypatch.delitem(sys.modules, loaded, raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    places = Places.at("memory:")
    port = {"s3": "blobs", "clickhouse": "series"}.get(url.partition(":")[0], "runs")
    with pytest.raises(UsageError, match=f"needs {module}, which is not installed: pip install '{extra}'"):
        open_storage(msgspec.structs.replace(places, **{port: url}))


def test_sqlite_needs_a_place() -> None:
    with pytest.raises(UsageError, match="names no directory"):
        open_storage("sqlite:")
