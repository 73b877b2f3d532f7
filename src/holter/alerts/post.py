"""One HTTP request to somebody else's address: bounded, never redirected, and on a team server"
" never into its network."""

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from holter.errors import Undelivered
from holter.version import __version__
from holter.wire.proxies import find_proxy

TIMEOUT_S = 10.0
MOST_ANSWER = 64 << 10
MOST_RETRY_S = 300.0
_TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("2002::/16"))
_BUSY = (408, 425, 429)


class Post:
    """Sends to addresses that users gave.

    Args:
        allowed: the hosts inside of our own network that may be named; None where any address may.
    """

    def __init__(self, allowed: Collection[str] | None = None) -> None:
        self._allowed = None if allowed is None else frozenset(name.lower() for name in allowed)

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Returns when it was accepted. Raises Undelivered, in which the address is not."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection = self._open(parts.scheme, parts.hostname or "", parts.port)
        except (OSError, ValueError) as error:
            raise Undelivered(
                f"it can't be reached: {_plain(error)}", may_retry=not isinstance(error, ValueError)
            ) from None
        try:
            connection.request("POST", path, body, {"user-agent": f"holter/{__version__}", **headers})
            answer = connection.getresponse()
            answer.read(MOST_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            raise Undelivered(f"it did not answer: {_plain(error)}") from None
        finally:
            connection.close()
        _judge(answer)

    def _open(self, scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
        is_safe, port = scheme == "https", port or (443 if scheme == "https" else 80)
        kind = http.client.HTTPSConnection if is_safe else http.client.HTTPConnection
        if self._allowed is None:
            proxy = find_proxy(scheme, host, port)
            connection = kind(proxy.host if proxy else host, proxy.port if proxy else port, timeout=TIMEOUT_S)
            if proxy:
                connection.set_tunnel(
                    host, port, {"proxy-authorization": proxy.authorization} if proxy.authorization else {}
                )
            return connection
        # The address that was looked at is the one that is used: a name may mean another one a moment later.
        address = self._look_up(host, port)
        connection = kind(host, port, timeout=TIMEOUT_S)
        plain = socket.create_connection((address, port), TIMEOUT_S)
        context = ssl.create_default_context() if is_safe else None
        try:
            connection.sock = context.wrap_socket(plain, server_hostname=host) if context else plain
        except BaseException:
            plain.close()
            raise
        return connection

    def _look_up(self, host: str, port: int) -> str:
        found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        if host.lower() not in (self._allowed or ()):
            for address in found:
                if not is_public(address):
                    raise Undelivered("its address is inside of the server's own network", may_retry=False)
        return found[0]


def is_public(address: str) -> bool:
    """Whether it is somewhere in the internet, also behind the ways in which IPv6 writes addresses of IPv4."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if any(found in network for network in _TRANSLATED):
            return False
    return found.is_global and not found.is_multicast


def _judge(answer: http.client.HTTPResponse) -> None:
    if 200 <= answer.status < 300:
        return
    wait = answer.getheader("retry-after", "")
    after_s = min(MOST_RETRY_S, float(wait)) if wait.isdecimal() else 0.0
    may_retry = answer.status >= 500 or answer.status in _BUSY
    raise Undelivered(f"it answered with status {answer.status}", may_retry=may_retry, after_s=after_s)


def _plain(error: Exception) -> str:
    return getattr(error, "strerror", None) or type(error).__name__
