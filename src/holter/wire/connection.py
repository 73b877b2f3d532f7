"""HTTP to a holter server: one connection that is kept open, never redirected, bounded in time and size."""

import contextlib
import http.client
import ipaddress
import socket
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from holter.errors import Refused, Unreachable, UsageError
from holter.version import __version__
from holter.wire.proxies import find_proxy

PREFIX = "/api/v1"
MOST_ANSWER_BYTES = 1 << 30
_PORTS = {"http": 80, "https": 443}
ZSTD = "zstd"
# Of OpenSSL: self-signed, or signed by somebody who is not known here.
_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})


class Address(msgspec.Struct, frozen=True):
    """Where a server is; `base` is the path of a proxy before it."""

    scheme: str
    host: str
    port: int
    base: str = ""

    @property
    def is_open_to_listeners(self) -> bool:
        """Whether a key would go over a network that anybody may listen to."""
        return self.scheme == "http" and not is_loopback(self.host)

    @property
    def url(self) -> str:
        """As people write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.base}"


def parse_address(url: str) -> Address:
    """The server that a URL names. Raises UsageError."""
    text = url.strip()
    parts = urlsplit(text if "://" in text else f"https://{text}")
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in _PORTS or not parts.hostname or port == -1 or parts.username is not None:
        raise UsageError(
            "HOLTER_URL must be the address of a holter server without a user or key in it, such as"
            f" https://holter.example.org or http://127.0.0.1:4658; got {_without_user(text)!r}"
        )
    return Address(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], parts.path.rstrip("/"))


class _Problem(msgspec.Struct, frozen=True):
    error: dict[str, Any]


class Answer(msgspec.Struct, frozen=True):
    """What a server answered with status 200 or the like."""

    status: int
    data: bytes

    def json(self, kind: Any = Any) -> Any:  # noqa: ANN401  the type is the caller's
        """The content, as a type. Raises Unreachable where it is not that: somebody else answered."""
        try:
            return msgspec.json.decode(self.data, type=kind)
        except msgspec.DecodeError as error:
            raise Unreachable(f"the answer is not one of a holter server: {error}") from error


class Connection:
    """One connection, opened when it is needed and again when it broke. Used by one thread.

    Every request of ours may be repeated without harm; one that broke on a connection that had been kept open is.
    It goes through the proxy that the environment names, but for servers on this machine.
    """

    def __init__(self, address: Address, key: str, *, timeout_s: float = 30.0) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._headers["user-agent"] = f"holter/{__version__}"
        self._is_near = is_loopback(address.host)
        if not self._is_near:
            self._headers["accept-encoding"] = ZSTD
        self._http: http.client.HTTPConnection | None = None
        self._prefix = ""
        """Before the path of a request, where a proxy has to know the rest of the address."""
        self._for_proxy: dict[str, str] = {}

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        data: bytes = b"",
        media: str = "application/json",
    ) -> Answer:
        """Ask for a path below the prefix; its parts are quoted already. Raises Refused, Unreachable."""
        target = f"{self.address.base}{PREFIX}{path}"
        if query:
            target += f"?{urlencode({name: value for name, value in query.items() if value is not None})}"
        headers = (
            {**self._headers, "content-type": media} if data or method in ("POST", "PUT", "PATCH") else self._headers
        )
        was_open = self._http is not None
        try:
            return self._ask(method, target, data, headers)
        except (ConnectionError, http.client.BadStatusLine) as error:
            self.close()
            if not was_open:
                raise Unreachable(_because(error)) from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(_because(error)) from error
        try:
            return self._ask(method, target, data, headers)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(_because(error)) from error

    def close(self) -> None:
        """Idempotent; the next question opens another."""
        if self._http is not None:
            with contextlib.suppress(OSError):
                self._http.close()
        self._http = None

    def __del__(self) -> None:
        self.close()

    def _ask(self, method: str, target: str, data: bytes, headers: Mapping[str, str], /) -> Answer:
        if self._http is None:
            self._http = self._open()
        self._http.request(method, self._prefix + target, body=data or None, headers={**headers, **self._for_proxy})
        response = self._http.getresponse()
        try:
            body = _unpacked(_read(response), response.getheader("content-encoding"))
        except Refused:  # and the rest of it is still on its way
            self.close()
            raise
        if response.will_close:
            self.close()
        if 200 <= response.status < 300:
            return Answer(response.status, body)
        raise _refusal(response, body)

    def _open(self) -> http.client.HTTPConnection:
        address = self.address
        proxy = None if self._is_near else find_proxy(address.scheme, address.host, address.port)
        host, port = (proxy.host, proxy.port) if proxy else (address.host, address.port)
        for_proxy = {"proxy-authorization": proxy.authorization} if proxy and proxy.authorization else {}
        self._prefix, self._for_proxy = "", {}
        if address.scheme == "https":
            opened: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=self._timeout_s)
            if proxy:
                opened.set_tunnel(address.host, address.port, for_proxy)
        else:
            opened = http.client.HTTPConnection(host, port, timeout=self._timeout_s)
            if proxy:
                self._prefix, self._for_proxy = msgspec.structs.replace(address, base="").url, for_proxy
        try:
            opened.connect()
        except OSError as error:
            if proxy is None:
                raise
            raise Unreachable(f"{_because(error)}, through the proxy {host}:{port}") from error
        opened.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return opened


def quoted(part: str) -> str:
    """One part of a path."""
    return quote(part, safe="")


def _refusal(response: http.client.HTTPResponse, body: bytes) -> Refused | Unreachable:
    said: dict[str, Any] = {}
    with contextlib.suppress(msgspec.DecodeError):
        said = msgspec.json.decode(body, type=_Problem).error
    if "what" not in said:
        # A proxy, or another program at that address.
        if response.status >= 500 or 300 <= response.status < 400:
            return Unreachable(f"it answers {response.status} {response.reason}", retry_s=_retry_s(response))
        said = {"what": f"the server answers {response.status} {response.reason}"}
    return Refused(
        response.status,
        str(said["what"]),
        why=str(said.get("why", "")),
        do=str(said.get("do", "")),
        retry_s=_retry_s(response),
    )


def _retry_s(response: http.client.HTTPResponse) -> int | None:
    """Seconds, or a date, as proxies write it; that is by the clock of whoever answers."""
    text = (response.getheader("retry-after") or "").strip()
    if text.isdecimal():
        return int(text) if len(text) < 8 else None
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(response.getheader("date") or "")
        return max(0, int(wait.total_seconds()))
    except (ValueError, TypeError):  # no date, or one without a time zone
        return None


def _read(response: http.client.HTTPResponse) -> bytes:
    """All of it, or Refused and IncompleteRead are raised: asked for so many bytes, `http.client` cuts in silence."""
    if response.length is not None and response.length > MOST_ANSWER_BYTES:
        raise _too_large()
    body = response.read(MOST_ANSWER_BYTES + 1)
    if response.length:
        raise http.client.IncompleteRead(body, response.length)
    return _bounded(body)


def _bounded(body: bytes) -> bytes:
    if len(body) > MOST_ANSWER_BYTES:
        raise _too_large()
    return body


def _too_large() -> Refused:
    return Refused(413, f"the answer has more than {MOST_ANSWER_BYTES:,} bytes", do="ask for less at once")


def _unpacked(body: bytes, packed_as: str | None) -> bytes:
    """Raises Unreachable for what is packed in another way than we asked for, or damaged."""
    if packed_as is None or packed_as == "identity":
        return body
    import zstandard  # only for answers that came a long way

    if packed_as != ZSTD:
        raise Unreachable(f"the answer is packed as {packed_as!r}, which nobody asked for")
    try:
        with zstandard.ZstdDecompressor().stream_reader(body) as reader:
            return _bounded(reader.read(MOST_ANSWER_BYTES + 1))
    except zstandard.ZstdError as error:
        raise Unreachable(f"the answer can't be unpacked: {error}") from error


def _because(error: OSError | http.client.HTTPException) -> str:
    if not isinstance(error, OSError):
        return f"{type(error).__name__} {error}".strip()
    if isinstance(error, ssl.SSLCertVerificationError):
        because = f"its certificate is not trusted: {error.verify_message}"
        advice = "; SSL_CERT_FILE may name the file with the certificate of whoever signed it"
        return because + advice if error.verify_code in _UNKNOWN_ISSUER else because
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason}): does it speak https there?"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return error.strerror or str(error) or type(error).__name__


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine, whatever its network."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _without_user(url: str) -> str:
    scheme, found, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{found}{authority.rpartition('@')[2]}{slash}{path}"[:200]
