"""Finds out who asks: by a key or token in the header, or by the cookie of somebody who logged in with one."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie

import msgspec

from holter.server.security.keys import SCOPES, Key, KeyRing
from holter.server.security.sessions import EndedSessions

SESSION_S = 30 * 86400
UI = "ui"
"""The id under which the token of `holter ui` is known; no key has it."""
CSRF_HEADER = "x-holter-csrf"


class Visitor(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may come in; `session` is the cookie's value, empty for a key in the header."""

    id: str
    name: str
    scope: str
    session: str = ""
    user: str = ""
    """Whose key it is: who sends a run with it owns that run, and goes on with it with any of their keys."""

    def may(self, scope: str) -> bool:
        """Whether the scope is one of theirs."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    @property
    def scopes(self) -> tuple[str, ...]:
        """All that they may do."""
        return SCOPES[: SCOPES.index(self.scope) + 1]


class Doorman:
    """Knows the keys, and the token where there is one. Thread-safe.

    Args:
        token: what `holter ui` has in its URL; empty for a server, which has keys only.
        user: who uses that token.
        ended: the sessions that were ended before their time.
    """

    def __init__(
        self, keys: KeyRing, secret: bytes, *, ended: EndedSessions, token: str, user: str, now: Callable[[], float]
    ) -> None:
        self.cookie = f"holter-{hmac.digest(secret, b'cookie', 'sha256').hex()[:8]}"
        """Browsers have one jar for all ports of a host: each data directory has a name of its own."""
        self.keys = keys
        self._secret = secret
        self._ended = ended
        self._token = token
        self._user = user
        self._now = now

    def identify(self, headers: Mapping[str, str]) -> Visitor | None:
        """Who asks; None where nothing they bring is good. A header that is wrong is not made good by a cookie."""
        if authorization := headers.get("authorization"):
            scheme, _, text = authorization.partition(" ")
            return self.check(text.strip()) if scheme.lower() == "bearer" else None
        value = _cookie(headers.get("cookie", ""), self.cookie)
        return self._by_session(value) if value else None

    def check(self, text: str) -> Visitor | None:
        """Who has this key or token."""
        if self._token and hmac.compare_digest(text.encode(), self._token.encode()):
            return self._owner()
        key = self.keys.check(text)
        return _visitor(key) if key is not None else None

    def open_session(self, visitor: Visitor) -> str:
        """The value of a cookie that stands for a visitor until it ends or their key is revoked."""
        content = f"{visitor.id}.{int(self._now()) + SESSION_S}.{secrets.token_hex(8)}"
        return f"{content}.{self._sign(content)}"

    def end_session(self, session: str) -> None:
        """Make a cookie that we gave worthless, also where somebody has a copy of it. Raises OSError."""
        _, expires, _, _ = session.split(".")
        self._ended.end(session, expires=float(expires), now=self._now())

    def csrf(self, session: str) -> str:
        """What a page must send in a header with each write, beside the cookie that the browser sends anyway."""
        return self._sign(f"csrf.{session}") if session else ""

    def is_from_page(self, visitor: Visitor, sent: str) -> bool:
        """Whether a write with a cookie comes from a page that could read our answers; with a key it needs no proof."""
        return not visitor.session or hmac.compare_digest(sent.encode(), self.csrf(visitor.session).encode())

    def is_welcome(self, visitor: Visitor) -> bool:
        """Whether they still are: they may have logged out, or their key was revoked."""
        if visitor.session and self._ended.has(visitor.session):
            return False
        return visitor.id == UI or self.keys.get(visitor.id) is not None

    def _by_session(self, value: str) -> Visitor | None:
        content, _, signature = value.rpartition(".")
        if not hmac.compare_digest(self._sign(content).encode(), signature.encode()):
            return None
        id, expires, _ = content.split(".")  # noqa: A001  we signed it, so it has this form
        if int(expires) < self._now() or self._ended.has(value):
            return None
        if id == UI:
            return msgspec.structs.replace(self._owner(), session=value) if self._token else None
        key = self.keys.get(id)
        return msgspec.structs.replace(_visitor(key), session=value) if key is not None else None

    def _owner(self) -> Visitor:
        return Visitor(id=UI, name=self._user, scope="admin", user=self._user)

    def _sign(self, content: str) -> str:
        return hmac.new(self._secret, f"session.{content}".encode(), hashlib.sha256).hexdigest()


def _visitor(key: Key) -> Visitor:
    return Visitor(id=key.id, name=key.name, scope=key.scope, user=key.name)


def _cookie(header: str, name: str) -> str:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(header)
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""
