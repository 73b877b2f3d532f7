"""Finds out who asks: by a key or token in the header, or by the cookie of somebody who logged in with one."""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie

import msgspec

from holter.server.security.accounts import SHARE
from holter.server.security.keyring import Registers
from holter.server.security.keys import SCOPES, Key, Scope, digest
from holter.server.security.rights import Rights, Roll, Share

SESSION_S = 30 * 86400
UI = "ui"
"""The id under which the token of `holter ui` is known; no key has it."""
GUEST = "link-"
"""What the id of somebody who came by a link begins with."""
USER = "user-"
"""And of somebody who logged in without a key."""
CSRF_HEADER = "x-holter-csrf"


class Visitor(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may come in; `session` is the cookie's value, empty for a key in the header."""

    id: str
    name: str
    scope: str
    session: str = ""
    user: str = ""
    """Whose key it is: who sends a run with it owns that run, and goes on with it with any of their keys."""

    runs: tuple[str, ...] | None = None
    """The only ones that they may look at, for who came by a link; None for all."""

    def may(self, scope: str) -> bool:
        """Whether the scope is one of theirs."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    @property
    def scopes(self) -> tuple[str, ...]:
        """All that they may do."""
        return SCOPES[: SCOPES.index(self.scope) + 1]


class Access:
    """Knows the keys, and the token where there is one. Thread-safe.

    Args:
        registers: keys, users, and the sessions that were ended before their time.
        token: what `holter ui` has in its URL; empty for a server, which has keys only.
        user: who uses that token.
    """

    def __init__(self, registers: Registers, secret: bytes, *, token: str, user: str, now: Callable[[], float]) -> None:
        self.cookie = f"holter-{hmac.digest(secret, b'cookie', 'sha256').hex()[:8]}"
        """Browsers have one jar for all ports of a host: each data directory has a name of its own."""
        self.keys = registers.keys
        self.accounts = registers.accounts
        self.last_use = registers.last_use
        self._ended = registers.ended
        self._secret = secret
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
        if text.startswith(f"{SHARE}_"):
            return self._by_link(text)
        key = self.keys.check(text)
        visitor = self._visitor(key) if key is not None else None
        if visitor is not None:
            self.last_use.note(visitor.id, self._now())
        return visitor

    def rights(self, visitor: Visitor) -> Rights:
        """What somebody may do with which projects. Raises OSError, UsageError."""
        roll = self.accounts.roll if visitor.id != UI else Roll()
        if visitor.runs is None:
            return roll.rights(visitor.user, visitor.scope)
        # As much as the one who made the link may see now, and of that the runs of the link, to read.
        rights = roll.rights(visitor.user, self._best_scope(visitor.user))
        return msgspec.structs.replace(rights, scope="read", only=frozenset(visitor.runs))

    def may_send_to(self, user: str, project: str) -> bool:
        """Whether a user may send runs to a project, with the best of their keys."""
        roll = self.accounts.roll
        if roll.project(project).kind == "open":
            return True
        return roll.rights(user, self._best_scope(user)).may_change(project)

    def open_session(self, visitor: Visitor) -> str:
        """The value of a cookie that stands for a visitor until it ends or their key is revoked."""
        content = f"{visitor.id}.{int(self._now()) + SESSION_S}.{secrets.token_hex(8)}"
        return f"{content}.{self._sign(content)}"

    def end_session(self, session: str) -> None:
        """Make a cookie that we gave worthless, also where somebody has a copy of it. Raises OSError."""
        _, expires, _, _ = session.split(".")
        self._ended.end(session, expires=float(expires), now=self._now())

    def visitor_of(self, user: str) -> Visitor | None:
        """A user whom somebody else has proved to be there; None where they may not come in."""
        known = self.accounts.roll.users.get(user)
        if known is None or known.disabled_at is not None:
            return None
        return Visitor(id=f"{USER}{user.encode().hex()}", name=user, scope=known.scope, user=user)

    def sign_for(self, seconds: int, text: str) -> str:
        """A text without dots, for a cookie that is good for so long."""
        content = f"for.{int(self._now()) + seconds}.{text}"
        return f"{content}.{self._sign(content)}"

    def signed_cookie(self, headers: Mapping[str, str], name: str) -> str | None:
        """The text that we signed; None where that was too long ago, or somebody else wrote it."""
        content, _, signature = _cookie(headers.get("cookie", ""), name).rpartition(".")
        if not hmac.compare_digest(self._sign(content).encode(), signature.encode()) or not content.startswith("for."):
            return None
        _, expires, text = content.split(".")
        return text if self._now() < int(expires) else None

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
        return self._by_id(visitor.id) is not None

    def _by_session(self, value: str) -> Visitor | None:
        content, _, signature = value.rpartition(".")
        if not hmac.compare_digest(self._sign(content).encode(), signature.encode()):
            return None
        id, expires, _ = content.split(".")  # noqa: A001  we signed it, so it has this form
        if int(expires) < self._now() or self._ended.has(value):
            return None
        visitor = self._by_id(id)
        return msgspec.structs.replace(visitor, session=value) if visitor is not None else None

    def _best_scope(self, user: str) -> Scope:
        """What a user may do with the best of their keys."""
        known = self.accounts.roll.users.get(user)
        scopes = [known.scope] if known is not None else [key.scope for key in self.keys.all() if key.owner == user]
        return max(scopes, key=SCOPES.index, default="read")

    def _by_link(self, text: str) -> Visitor | None:
        _, id, secret = [*text.split("_", 2), "", ""][:3]  # noqa: A001  the word that users see
        share = self.accounts.roll.shares.get(id)
        expected = share.digest if share is not None else digest("")
        is_right = hmac.compare_digest(digest(secret), expected)
        return self._guest(share) if share is not None and is_right else None

    def _guest(self, share: Share) -> Visitor | None:
        """Whoever came by a link; None where it has expired, or the one who made it may not come in any more."""
        if share.has_expired(self._now()) or self.accounts.roll.scope_of(share.by, "read") is None:
            return None
        return Visitor(id=GUEST + share.id, name=f"a link of {share.by}", scope="read", user=share.by, runs=share.runs)

    def _by_id(self, id: str) -> Visitor | None:  # noqa: A002
        """Whoever a session or stream was opened for, if they may still come in."""
        if id == UI:
            return self._owner() if self._token else None
        if id.startswith(GUEST):
            share = self.accounts.roll.shares.get(id.removeprefix(GUEST))
            return self._guest(share) if share is not None else None
        if id.startswith(USER):
            return self.visitor_of(bytes.fromhex(id.removeprefix(USER)).decode())
        key = self.keys.get(id)
        return self._visitor(key) if key is not None else None

    def _visitor(self, key: Key) -> Visitor | None:
        """Whoever has a key; None where it has expired, or its user was disabled or is not known."""
        roll = self.accounts.roll
        scope = roll.scope_of(key.owner, key.scope)
        if scope is None or key.has_expired(self._now()) or (key.user and key.user not in roll.users):
            return None
        return Visitor(id=key.id, name=key.owner, scope=scope, user=key.owner)

    def _owner(self) -> Visitor:
        return Visitor(id=UI, name=self._user, scope="admin", user=self._user)

    def _sign(self, content: str) -> str:
        return hmac.new(self._secret, f"session.{content}".encode(), hashlib.sha256).hexdigest()


def _cookie(header: str, name: str) -> str:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(header)
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""
