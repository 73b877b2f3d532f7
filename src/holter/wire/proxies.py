"""The proxy that leads to a server, as `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy` say."""

import base64
import os
from urllib.parse import unquote, urlsplit

import msgspec

from holter.errors import Unreachable


class Proxy(msgspec.Struct, frozen=True):
    """A proxy that speaks plain HTTP; `authorization` is the header that it wants, empty where it wants none."""

    host: str
    port: int
    authorization: str = ""


def find_proxy(scheme: str, host: str, port: int, /) -> Proxy | None:
    """The proxy on the way to a host that is not this one; None for the straight way. Raises Unreachable."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib import request  # it loads a lot, which only those pay who have a proxy

    known = request.getproxies_environment()
    url = known.get(scheme) or known.get("all")
    if not url or request.proxy_bypass(f"{host}:{port}"):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        proxy_port = parts.port or 80
    except ValueError:
        proxy_port = 0
    if parts.scheme != "http" or not parts.hostname or not proxy_port:
        raise Unreachable(
            f"{scheme}_proxy names a proxy of the kind {parts.scheme}://, and only http://host:port can be used;"
            f" no_proxy={host} goes around it"
        )
    return Proxy(parts.hostname, proxy_port, _authorization(parts.username, parts.password))


def _authorization(user: str | None, password: str | None) -> str:
    if user is None:
        return ""
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
