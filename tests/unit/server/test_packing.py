"""Which answers are packed, and how."""

import gzip

import pytest
import zstandard

from holter.server.transport.packing import COLUMNS, JSON, choose, pack


@pytest.mark.parametrize(
    ("accepted", "how"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip, deflate", "gzip"),
        ("GZIP;q=0.5", "gzip"),
        ("zstd;q=0, gzip", "gzip"),
        ("*", "zstd"),
        ("*;q=0", ""),
        ("gzip;q=nonsense", ""),
        ("identity", ""),
        ("", ""),
    ],
)
def test_large_json_is_packed_as_the_reader_wants(accepted: str, how: str) -> None:
    assert choose(accepted, JSON, size=10_000, is_far=False) == how


def test_what_is_small_or_packed_badly_is_left_as_it_is() -> None:
    assert choose("zstd", JSON, size=1000, is_far=True) == ""
    assert choose("zstd", COLUMNS, size=10_000, is_far=False) == ""
    assert choose("zstd", COLUMNS, size=10_000, is_far=True) == "zstd"
    assert choose("zstd", "image/png", size=10_000, is_far=True) == ""


def test_what_was_packed_comes_back() -> None:
    data = b'{"name": 1}' * 1000
    assert zstandard.decompress(pack(data, "zstd")) == data
    assert gzip.decompress(pack(data, "gzip")) == data
