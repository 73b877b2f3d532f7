"""The keys of the server."""

from typing import Annotated

import msgspec

from holter.errors import Refused
from holter.server.routing import Nothing, Route, Visit
from holter.server.security.keys import Scope


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


class MadeKey(msgspec.Struct, frozen=True):
    """`key` is shown this once."""

    id: str
    key: str


class AskedKey(msgspec.Struct, frozen=True):
    """One key."""

    id: str


def list_keys(visit: Visit, asked: Nothing) -> KeysJson:
    """All keys, without what makes them keys"""
    last_use = visit.desk.doorman.last_use
    return KeysJson(
        [
            KeyJson(key.id, key.name, key.scope, key.made_at, key.owner, key.expires_at, last_use.get(key.id))
            for key in visit.desk.doorman.keys.all()
        ]
    )


def add_key(visit: Visit, asked: NewKey) -> MadeKey:
    """Make a key; it is shown once"""
    if asked.user and asked.user not in visit.desk.doorman.people.roll.users:
        raise Refused(404, f"there is no user {asked.user!r}", do="make the user first")
    key, text = visit.desk.doorman.keys.add(
        asked.name, asked.scope, now=visit.desk.now(), user=asked.user, expires_at=asked.expires_at
    )
    return MadeKey(key.id, text)


def revoke_key(visit: Visit, asked: AskedKey) -> Nothing:
    """Take a key back; who uses it is out at once"""
    if not visit.desk.doorman.keys.revoke(asked.id):
        raise Refused(404, f"there is no key {asked.id[:40]!r}")
    visit.desk.changes.end_unwelcome()
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
]
