"""What a request must be like before anybody looks at what it asks for. Pure."""

import ipaddress
from collections.abc import Collection, Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from holter.errors import Refused

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_NAMES = frozenset({"localhost"})
JSON, BYTES = "application/json", "application/octet-stream"
ZSTD = "application/zstd"


def check_host(host: str, allowed: Collection[str]) -> None:
    """A page on the web whose name was made to point here has that name in its requests. Raises Refused.

    Loopback and plain addresses can't be made to point anywhere else; other names must be allowed. `allowed` may hold
    `*` for any.
    """
    name = _host_name(host)
    if name in LOOPBACK_NAMES or _is_address(name) or name in allowed or "*" in allowed:
        return
    raise Refused(
        421,
        f"this server does not answer for the host {host[:100]!r}",
        why="it is not one of the names that the server was told it has",
        do="use the address that it printed, or start it with --allow-host NAME",
    )


def check_origin(method: str, headers: Mapping[str, str]) -> None:
    """Whatever changes something must come from our own page, or from no page at all. Raises Refused."""
    if method in SAFE:
        return
    origin = headers.get("origin")
    if origin is not None:
        place = urlsplit(origin).netloc.lower()
        is_own = bool(place) and place == headers.get("host", "").lower()
    else:
        is_own = headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    if not is_own:
        raise Refused(
            403,
            f"a page of {(origin or 'another site')[:100]!r} may not change anything here",
            why="requests that write must come from the server's own page or from a program",
            do="behind a proxy, have it pass the Host header on unchanged",
        )


def check_content(method: str, headers: Mapping[str, str], *, accepted: Collection[str]) -> None:
    """A form of another page can't send these types. Raises Refused."""
    if method in SAFE or method == "DELETE" or not accepted:
        return
    sent = headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent not in accepted:
        raise Refused(
            415,
            f"the content type {sent[:100]!r} is not accepted here",
            do=f"send the header Content-Type: {' or '.join(sorted(accepted))}",
        )


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0][1:].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


@lru_cache(256)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
