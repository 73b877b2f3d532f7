"""What this server is, who asks, and how to log in and out."""

import time
from itertools import islice
from urllib.parse import urlsplit

import msgspec

from holter.errors import Refused
from holter.server.security.access import SESSION_S
from holter.server.security.audit import Act
from holter.server.transport.routing import Nothing, Reply, Route, Visit
from holter.version import __version__

MOST_UNREADABLE = 100


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """What a page needs first. Who is not logged in learns the kind and the version only."""

    version: str
    kind: str
    needs_login: bool
    login_server: str = ""
    """Whose login server may be used instead of a key; empty where there is none."""
    address: str = ""
    directory: str | None = None
    user: str | None = None
    scopes: tuple[str, ...] = ()
    csrf: str = ""
    """To be sent as the header X-Holter-CSRF with every write."""
    seq: int = 0
    """The number of the newest live change."""
    trouble: str = ""
    """Why nothing new is taken in at the moment; empty where all is well."""
    behind_s: float = 0.0
    """For how long the oldest message has waited that is not in the index yet. No run is late by that."""
    behind_messages: int = 0
    """How many messages wait."""
    behind_bytes: int = 0
    """And how much that is."""
    unreadable: dict[str, str] = {}
    """Runs that can't be shown, the first hundred of them, with the reason that also stands on their rows."""


class Login(msgspec.Struct, frozen=True):
    """A key, or the token of `holter ui`."""

    key: str


class LoggedIn(msgspec.Struct, frozen=True):
    """Who that is; `csrf` goes with every write from now on."""

    user: str
    scopes: tuple[str, ...]
    csrf: str


def info(visit: Visit, asked: Nothing) -> Info:
    """What this server is and who asks"""
    services, visitor = visit.services, visit.visitor
    issuer = urlsplit(services.oidc.settings.issuer).netloc if services.oidc is not None else ""
    known = Info(version=__version__, kind=services.settings.kind, needs_login=visitor is None, login_server=issuer)
    if visitor is None:
        return known
    lag = services.ingest.lag
    return msgspec.structs.replace(
        known,
        address=services.settings.address,
        directory=services.data if visitor.scope == "admin" else None,
        user=visitor.name,
        scopes=visitor.scopes,
        csrf=services.access.csrf(visitor.session),
        seq=services.changes.seq,
        trouble=str(services.follower.trouble or ""),
        behind_s=round(lag.seconds, 3),
        behind_messages=lag.messages,
        behind_bytes=lag.bytes,
        unreadable=_unreadable(visit),
    )


def _unreadable(visit: Visit) -> dict[str, str]:
    found = visit.services.ingest.unreadable.copy()
    if visit.rights.is_limited:
        found = {run: because for run, because in found.items() if visit.runs.has(run)}
    return dict(islice(found.items(), MOST_UNREADABLE))


def login(visit: Visit, asked: Login) -> Reply:
    """Log in with a key; the answer sets a cookie"""
    visitor = visit.services.access.check(asked.key)
    if visitor is None:
        visit.services.failures.spend(visit.address, time.monotonic())
        visit.services.audit.note(Act(at=visit.services.now(), user="", act="login-refused"))
        raise Refused(401, "this key is not known here", do="`holter server keys add NAME` makes a key")
    session = visit.services.access.open_session(visitor)
    visit.services.audit.note(Act(at=visit.services.now(), user=visitor.user, act="login", key=visitor.id))
    known = LoggedIn(visitor.name, visitor.scopes, visit.services.access.csrf(session))
    return Reply(data=msgspec.json.encode(known), headers={"set-cookie": session_cookie(visit, session)})


def logout(visit: Visit, asked: Nothing) -> Reply:
    """End the session: its cookie is worthless from now on, here and wherever a copy of it is"""
    if visit.who.session:
        visit.services.access.end_session(visit.who.session)
        visit.services.changes.end_unwelcome()
    return Reply(data=b"{}", headers={"set-cookie": session_cookie(visit, "")})


def session_cookie(visit: Visit, session: str) -> str:
    """The header that sets the cookie, or removes it for an empty session."""
    return cookie_text(visit.services.access.cookie, session, is_secure=visit.is_secure)


def cookie_text(name: str, session: str, *, is_secure: bool) -> str:
    """No script sees it, no other site makes a browser send it."""
    secure = "; Secure" if is_secure else ""
    return f"{name}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_S if session else 0}{secure}"


ROUTES = [
    Route(method="GET", path="/info", touches="server", answer=info, result=Info, needs="nothing"),
    Route(
        method="POST",
        path="/login",
        touches="server",
        answer=login,
        asked=Login,
        result=LoggedIn,
        needs="nothing",
        body="json",
    ),
    Route(method="POST", path="/logout", touches="server", act="logout", answer=logout, needs="read", body="json"),
]
