"""The keys of the server."""

from typing import Annotated

import msgspec

from holter.errors import Refused
from holter.server.security.keys import Key, Scope
from holter.server.transport.routing import Nothing, Route, Visit


class KeyJson(msgspec.Struct, frozen=True):
    """A key, without what makes it one."""

    id: str
    name: str
    scope: Scope
    made_at: float
    user: str
    """Whose it is."""
    expires_at: float | None
    last_used_at: float | None


class KeysJson(msgspec.Struct, frozen=True):
    """The oldest first."""

    keys: list[KeyJson]


class NewKey(msgspec.Struct, frozen=True):
    """What a key is for, and what may be done with it."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    scope: Scope = "write"
    user: Annotated[str, msgspec.Meta(max_length=100)] = ""
    """Whose it is; left out, the key stands for itself."""
    expires_at: float | None = None
    """Seconds since 1970; left out, it lasts until it is revoked."""


class NewOwnKey(msgspec.Struct, frozen=True):
    """What a key of one's own is for, what may be done with it, and until when."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    scope: Scope = "write"
    expires_at: float | None = None


class MadeKey(msgspec.Struct, frozen=True):
    """`key` is shown this once."""

    id: str
    key: str


class AskedKey(msgspec.Struct, frozen=True):
    """One key."""

    id: str


def list_keys(visit: Visit, asked: Nothing) -> KeysJson:
    """All keys, without what makes them keys"""
    return KeysJson([_shown(visit, key) for key in visit.services.access.keys.all()])


def list_own_keys(visit: Visit, asked: Nothing) -> KeysJson:
    """One's own keys, without what makes them keys"""
    return KeysJson([_shown(visit, key) for key in visit.services.access.keys.all() if _is_own(visit, key)])


def add_own_key(visit: Visit, asked: NewOwnKey) -> MadeKey:
    """Make a key for oneself, which neither may do more nor lasts longer than the one in use; it is shown once"""
    who = visit.who
    if who.user not in visit.services.access.accounts.roll.users:
        raise Refused(
            409, f"{who.user} is the name of a key, and no user", do="ask an admin for a key, or to make a user"
        )
    if not who.may(asked.scope):
        raise Refused(
            403, f"you may not make a key with the scope {asked.scope}", why=f"you have the scope {who.scope}"
        )
    keys = visit.services.access.keys
    used = keys.get(who.id)
    ends = [at for at in (asked.expires_at, used.expires_at if used is not None else None) if at is not None]
    # Else one that was lent for a week would be good for ever.
    expires_at = min(ends, default=None)
    key, text = keys.add(asked.name, asked.scope, now=visit.services.now(), user=who.user, expires_at=expires_at)
    return MadeKey(key.id, text)


def revoke_own_key(visit: Visit, asked: AskedKey) -> Nothing:
    """Take one of one's own keys back; who uses it is out at once"""
    key = visit.services.access.keys.get(asked.id)
    if key is None or not _is_own(visit, key):
        raise Refused(404, f"there is no key {asked.id[:40]!r}")
    return revoke_key(visit, asked)


def _is_own(visit: Visit, key: Key) -> bool:
    return key.owner == visit.who.user and visit.rights.only is None


def _shown(visit: Visit, key: Key) -> KeyJson:
    used_at = visit.services.access.last_use.get(key.id)
    return KeyJson(key.id, key.name, key.scope, key.made_at, key.owner, key.expires_at, used_at)


def add_key(visit: Visit, asked: NewKey) -> MadeKey:
    """Make a key; it is shown once"""
    if asked.user and asked.user not in visit.services.access.accounts.roll.users:
        raise Refused(404, f"there is no user {asked.user!r}", do="make the user first")
    key, text = visit.services.access.keys.add(
        asked.name, asked.scope, now=visit.services.now(), user=asked.user, expires_at=asked.expires_at
    )
    return MadeKey(key.id, text)


def revoke_key(visit: Visit, asked: AskedKey) -> Nothing:
    """Take a key back; who uses it is out at once"""
    if not visit.services.access.keys.revoke(asked.id):
        raise Refused(404, f"there is no key {asked.id[:40]!r}")
    visit.services.changes.end_unwelcome()
    return Nothing()


ROUTES = [
    Route(method="GET", path="/tokens", touches="server", answer=list_keys, result=KeysJson, needs="admin"),
    Route(
        method="POST",
        path="/tokens",
        touches="server",
        act="key-made",
        answer=add_key,
        asked=NewKey,
        result=MadeKey,
        needs="admin",
        body="json",
    ),
    Route(
        method="DELETE",
        path="/tokens/{id}",
        touches="server",
        act="key-revoked",
        answer=revoke_key,
        asked=AskedKey,
        needs="admin",
    ),
    Route(method="GET", path="/me/tokens", touches="server", answer=list_own_keys, result=KeysJson),
    Route(
        method="POST",
        path="/me/tokens",
        touches="server",
        act="key-made",
        answer=add_own_key,
        asked=NewOwnKey,
        result=MadeKey,
        needs="write",
        body="json",
    ),
    Route(
        method="DELETE",
        path="/me/tokens/{id}",
        touches="server",
        act="key-revoked",
        answer=revoke_own_key,
        asked=AskedKey,
        needs="write",
    ),
]
