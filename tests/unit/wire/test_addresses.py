"""Where a server is, and whether somebody could listen on the way."""

import pytest

from holter.errors import UsageError
from holter.recording.login import is_open_to_listeners
from holter.wire.connection import Address, parse_address


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:4658", Address("http", "127.0.0.1", 4658)),
        ("https://holter.example.org/", Address("https", "holter.example.org", 443)),
        ("https://example.org/proxy/holter/", Address("https", "example.org", 443, "/proxy/holter")),
        ("http://[::1]:80", Address("http", "::1", 80)),
        ("holter.example.org", Address("https", "holter.example.org", 443)),
    ],
)
def test_addresses_are_read(url: str, address: Address) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "http://", "http://a:b", "https://user:secret@host/x", "http://h:99999"]
)
def test_what_is_no_address_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_address(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "is_open"),
    [
        ("http://example.org", True),
        ("http://10.0.0.7:4658/x", True),
        ("HTTP://example.org", True),
        ("https://example.org", False),
        ("http://127.0.0.1:4658", False),
        ("http://localhost", False),
        ("http://[::1]:4658", False),
        ("http://localhost.example.org", True),
    ],
)
def test_only_plain_http_to_other_hosts_can_be_listened_to(url: str, is_open: bool) -> None:
    assert is_open_to_listeners(url) == is_open
    assert parse_address(url).is_open_to_listeners == is_open
