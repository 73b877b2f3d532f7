"""What a URL says: where ClickHouse answers HTTP, who asks, and where its tables are. Pure."""

import re
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from holter.errors import UsageError
from holter.storage.places import without_password

DATABASE = "holter"
"""Where the tables are, unless the URL has another: clickhouse://host/DATABASE."""
_IS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}").fullmatch
_IS_SETTING = re.compile(r"[a-z_0-9]+").fullmatch
_PORTS = {False: 8123, True: 8443}
_TRUE = {"1": True, "true": True, "0": False, "false": False}


class Address(msgspec.Struct, frozen=True):
    """`hosts` are replicas of the same data: the first one that answers is asked."""

    hosts: tuple[tuple[str, int], ...]
    database: str = DATABASE
    username: str = "default"
    password: str = ""
    is_secure: bool = False
    cluster: str = ""
    settings: dict[str, str] = {}
    """ClickHouse's own, for whatever is asked."""


def parse_address(url: str) -> Address:
    """What `clickhouse://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE?secure=1&cluster=NAME` says. Raises UsageError."""
    shown = without_password(url)
    try:
        parts = urlsplit(url)
        asked = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
        is_secure = _TRUE[asked.pop("secure", "0").lower()]
        names = parts.netloc.rpartition("@")[2].split(",")
        hosts = tuple(_host(name, default=_PORTS[is_secure]) for name in names)
    except (KeyError, ValueError):
        raise UsageError(
            f"{shown!r} is no address of ClickHouse: write clickhouse://USER:PASSWORD@HOST:PORT/DATABASE, with "
            "?secure=1 for HTTPS"
        ) from None
    database = parts.path.strip("/") or DATABASE
    cluster = asked.pop("cluster", "")
    for name in (database, cluster or DATABASE):
        if not _IS_NAME(name):
            raise UsageError(f"{name!r} in {shown!r} is no name: letters, digits and underscores are")
    if wrong := next((name for name in asked if not _IS_SETTING(name)), None):
        raise UsageError(f"{wrong!r} in {shown!r} is neither secure nor cluster nor a setting of ClickHouse")
    return Address(
        hosts,
        database,
        unquote(parts.username or "default"),
        unquote(parts.password or ""),
        is_secure,
        cluster,
        asked,
    )


def _host(name: str, *, default: int) -> tuple[str, int]:
    parts = urlsplit(f"//{name}")
    if not parts.hostname:
        raise ValueError(name)
    return parts.hostname, parts.port or default
