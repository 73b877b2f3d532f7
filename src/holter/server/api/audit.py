"""What people did, for admins."""

from collections import deque
from typing import Annotated, Any

import msgspec

from holter.server.security.audit import Act
from holter.server.transport.routing import Route, Visit


class AskedAudit(msgspec.Struct, frozen=True, kw_only=True):
    """The newest acts: of one user, of one kind, since a time and before another, in seconds since 1970."""

    user: Annotated[str, msgspec.Meta(max_length=100)] = ""
    act: Annotated[str, msgspec.Meta(max_length=100)] = ""
    since: float | None = None
    before: float | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1000


class ActJson(msgspec.Struct, frozen=True):
    """Who did what, when; `key` is the id of the key that was used, empty for a command on the server's machine."""

    at: float
    user: str
    act: str
    key: str
    what: dict[str, Any]


class Acts(msgspec.Struct, frozen=True):
    """The oldest first; `is_cut` where there are older ones that fit."""

    acts: list[ActJson]
    is_cut: bool


def audit(visit: Visit, asked: AskedAudit) -> Acts:
    """What people did: logins, keys, users, rights, deletions, marks, exports"""
    found = deque((act for act in visit.services.audit.acts() if _fits(act, asked)), asked.limit + 1)
    is_cut = len(found) > asked.limit
    shown = list(found)[-asked.limit :]
    return Acts([ActJson(act.at, act.user, act.act, act.key, act.what) for act in shown], is_cut)


def _fits(act: Act, asked: AskedAudit) -> bool:
    if (asked.user and act.user != asked.user) or (asked.act and act.act != asked.act):
        return False
    return (asked.since is None or act.at >= asked.since) and (asked.before is None or act.at < asked.before)


ROUTES = [
    Route(method="GET", path="/audit", touches="server", answer=audit, asked=AskedAudit, result=Acts, needs="admin")
]
