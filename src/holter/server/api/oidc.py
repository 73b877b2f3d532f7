"""Logging in by the organisation's own login server: in a browser, or on another device for a terminal."""

from typing import Annotated

import msgspec

from holter.errors import Refused
from holter.server.api.info import session_cookie
from holter.server.security.access import Visitor
from holter.server.security.audit import Act
from holter.server.security.oidc import Identity, Provider, new_secret
from holter.server.transport.routing import Nothing, Reply, Route, Visit

WITHIN_S = 600
KEY_DAYS = 90
HTML = "text/html; charset=utf-8"
# Not a redirect: of one that began on another site's page, browsers leave strict cookies out.
ENTER = b'<!doctype html><html lang="en"><meta charset="utf-8"><title>Holter</title><p>Welcome.</p></html>'
Text = Annotated[str, msgspec.Meta(max_length=4096)]


class CameBack(msgspec.Struct, frozen=True, kw_only=True):
    """What the login server gave the browser to bring here."""

    code: Text = ""
    state: Text = ""
    iss: Text = ""
    error: Text = ""
    error_description: Text = ""
    session_state: Text = ""
    scope: Text = ""


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody opens on another device, and the code they confirm there; `device_code` is for the one who asks."""

    user_code: str
    verification_uri: str
    verification_uri_complete: str
    device_code: str
    expires_in: int
    interval: int


class Confirmed(msgspec.Struct, frozen=True, kw_only=True):
    """The `device_code`, and what the key is to be called that is made for it."""

    device_code: Text
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] = "login"


class DeviceKey(msgspec.Struct, frozen=True, kw_only=True):
    """Who has confirmed it, and a key of theirs for 90 days, shown this once."""

    id: str
    user: str
    key: str
    expires_at: float


def begin_login(visit: Visit, asked: Nothing) -> Reply:
    """Send a browser to the login server"""
    provider = _provider(visit)
    state, nonce, verifier = new_secret(), new_secret(), new_secret()
    url = provider.authorization_url(_redirect_uri(visit), state=state, nonce=nonce, verifier=verifier)
    kept = visit.services.access.sign_for(WITHIN_S, f"{state}~{nonce}~{verifier}")
    # Lax: the browser must bring it when it comes back from the other site.
    secure = "; Secure" if visit.is_secure else ""
    cookie = f"{_cookie(visit)}={kept}; Path=/; HttpOnly; SameSite=Lax; Max-Age={WITHIN_S}{secure}"
    return Reply(status=302, headers={"location": url, "set-cookie": cookie, "referrer-policy": "no-referrer"})


def come_back(visit: Visit, asked: CameBack) -> Reply:
    """Take what the login server gave the browser for a session"""
    provider = _provider(visit)
    if asked.error:
        raise Refused(401, "the login server refuses this login", why=asked.error_description or asked.error)
    kept = visit.services.access.signed_cookie(visit.headers, _cookie(visit))
    state, nonce, verifier = (kept or "~~").split("~")
    if not kept or state != asked.state or (asked.iss and asked.iss != provider.settings.issuer):
        raise Refused(400, "this login was not begun here", why="or longer than ten minutes ago", do="log in again")
    who = provider.redeem(asked.code, _redirect_uri(visit), nonce=nonce, verifier=verifier)
    visitor = _visitor(visit, who)
    session = visit.services.access.open_session(visitor)
    _note(visit, visitor)
    # Its code is spent; the first page is two steps up from here.
    headers = {
        "set-cookie": session_cookie(visit, session),
        "refresh": "0; url=../../../",
        "content-security-policy": "default-src 'none'",
        "referrer-policy": "no-referrer",
    }
    return Reply(data=ENTER, media=HTML, headers=headers)


def begin_device(visit: Visit, asked: Nothing) -> Device:
    """Begin a login that is confirmed on another device, for a terminal without a browser"""
    visit.services.logins.spend("device", visit.services.now())
    answer = _provider(visit).begin_device()
    return Device(
        user_code=str(answer.get("user_code", "")),
        verification_uri=str(answer.get("verification_uri", "")),
        verification_uri_complete=str(answer.get("verification_uri_complete", "")),
        device_code=str(answer.get("device_code", "")),
        expires_in=int(answer.get("expires_in", 600)),
        interval=int(answer.get("interval", 5)),
    )


def finish_device(visit: Visit, asked: Confirmed) -> DeviceKey:
    """A key for who has confirmed a login on another device; 428 while nobody has"""
    visit.services.logins.spend("device", visit.services.now())
    visitor = _visitor(visit, _provider(visit).redeem_device(asked.device_code))
    now = visit.services.now()
    expires_at = now + KEY_DAYS * 86400
    scope = visit.services.access.accounts.roll.users[visitor.user].scope
    # A key on a login node sends runs; who administers does so from the page or with a key made for it.
    limited = "write" if scope == "admin" else scope
    keys = visit.services.access.keys
    for old in keys.all():
        if (old.user, old.name) == (visitor.user, asked.name):  # of the last login on that machine
            keys.revoke(old.id)
    key, text = keys.add(asked.name, limited, now=now, user=visitor.user, expires_at=expires_at)
    _note(visit, visitor, made=key.id)
    return DeviceKey(id=key.id, user=visitor.user, key=text, expires_at=expires_at)


def _visitor(visit: Visit, who: Identity) -> Visitor:
    """The user whom an identity is; made where they may come by themselves. Raises Refused."""
    provider = _provider(visit)
    accounts = visit.services.access.accounts
    user = accounts.roll.user_of(who.issuer, who.subject)
    if user is None and provider.settings.new_users is not None:
        scope = provider.settings.new_users
        user = accounts.add_identity(who, scope=scope, now=visit.services.now(), is_taken=visit.services.is_somebody)
        what = {"name": user.name, "subject": who.subject}
        visit.services.audit.note(Act(at=visit.services.now(), user=user.name, act="user-made", what=what))
    visitor = visit.services.access.visitor_of(user.name) if user is not None else None
    if visitor is None:
        visit.services.audit.note(
            Act(at=visit.services.now(), user=who.name[:100], act="login-refused", what={"subject": who.subject})
        )
        raise Refused(
            403,
            f"{who.name[:100]} may not come in here",
            why="nobody made a user for this login, or that user is disabled",
            do=f"ask an admin for `holter server users add NAME --subject {who.subject[:200]}`",
        )
    return visitor


def _note(visit: Visit, visitor: Visitor, **what: str) -> None:
    visit.services.audit.note(Act(at=visit.services.now(), user=visitor.user, act="login", what={"by": "oidc", **what}))


def _provider(visit: Visit) -> Provider:
    if visit.services.oidc is None:
        raise Refused(404, "this server has no login server", do="log in with a key")
    return visit.services.oidc


def _redirect_uri(visit: Visit) -> str:
    base = _provider(visit).settings.server_url
    if not base:
        base = f"{'https' if visit.is_secure else 'http'}://{visit.headers.get('host', '')}"
    return f"{base}/api/v1/oidc/callback"


def _cookie(visit: Visit) -> str:
    return f"{visit.services.access.cookie}-oidc"


ROUTES = [
    Route(
        method="GET",
        path="/oidc/login",
        touches="server",
        answer=begin_login,
        result=bytes,
        media=HTML,
        needs="nothing",
    ),
    Route(
        method="GET",
        path="/oidc/callback",
        touches="server",
        answer=come_back,
        asked=CameBack,
        result=bytes,
        media=HTML,
        needs="nothing",
    ),
    Route(
        method="POST",
        path="/oidc/device",
        touches="server",
        answer=begin_device,
        result=Device,
        needs="nothing",
        body="json",
    ),
    Route(
        method="POST",
        path="/oidc/device/key",
        touches="server",
        answer=finish_device,
        asked=Confirmed,
        result=DeviceKey,
        needs="nothing",
        body="json",
    ),
]
