"""Links that show some runs to whoever has them."""

from typing import Annotated

import msgspec

from holter.errors import Refused
from holter.server.security.rights import Share
from holter.server.transport.routing import Nothing, Route, Visit

MOST_RUNS = 100
DAY_S = 86400.0
Id = Annotated[str, msgspec.Meta(max_length=128)]


class NewShare(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or those of a comparison; for how many days, or until the link is revoked."""

    runs: Annotated[list[Id], msgspec.Meta(min_length=1, max_length=MOST_RUNS)]
    days: Annotated[float, msgspec.Meta(gt=0, le=3660)] | None = 30.0


class MadeShare(msgspec.Struct, frozen=True):
    """`key` is shown once: the page opens with `#share=` and it behind its address, a program sends it as a key."""

    id: str
    key: str
    expires_at: float | None


class AskedShare(msgspec.Struct, frozen=True):
    """One link."""

    id: Annotated[str, msgspec.Meta(max_length=100)]


class ShareJson(msgspec.Struct, frozen=True):
    """A link, without what opens it."""

    id: str
    runs: tuple[str, ...]
    by: str
    made_at: float
    expires_at: float | None


class SharesJson(msgspec.Struct, frozen=True):
    """The oldest first."""

    shares: list[ShareJson]


def list_shares(visit: Visit, asked: Nothing) -> SharesJson:
    """One's own links; for admins all"""
    shares = [each for each in visit.services.access.accounts.roll.shares.values() if _may(visit, each)]
    return SharesJson([ShareJson(each.id, each.runs, each.by, each.made_at, each.expires_at) for each in shares])


def add_share(visit: Visit, asked: NewShare) -> MadeShare:
    """Make a link to some runs; what opens it is shown once"""
    now = visit.services.now()
    expires_at = now + asked.days * DAY_S if asked.days is not None else None
    share, key = visit.services.access.accounts.add_share(asked.runs, by=visit.who.user, now=now, expires_at=expires_at)
    return MadeShare(share.id, key, share.expires_at)


def remove_share(visit: Visit, asked: AskedShare) -> Nothing:
    """Make a link worthless: whoever came by it is out at once"""
    accounts = visit.services.access.accounts
    share = accounts.roll.shares.get(asked.id)
    if share is None or not _may(visit, share):
        raise Refused(404, f"there is no link {asked.id!r}", do="look at the list of links")
    accounts.remove_share(asked.id)
    visit.services.changes.end_unwelcome()
    return Nothing()


def _may(visit: Visit, share: Share) -> bool:
    return visit.rights.is_admin or share.by == visit.who.user


ROUTES = [
    Route(method="GET", path="/shares", touches="server", answer=list_shares, result=SharesJson, needs="write"),
    Route(
        method="POST",
        path="/shares",
        touches="every run",
        act="link-made",
        answer=add_share,
        asked=NewShare,
        result=MadeShare,
        needs="write",
        body="json",
    ),
    Route(
        method="DELETE",
        path="/shares/{id}",
        touches="server",
        act="link-revoked",
        answer=remove_share,
        asked=AskedShare,
        needs="write",
    ),
]
