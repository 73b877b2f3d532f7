"""Logs people in by their organisation's OpenID Connect server: authorization code with PKCE, and the device flow."""

import base64
import hashlib
import json
import secrets
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from holter.errors import Refused, UsageError
from holter.server.security.keys import SCOPES, Scope
from holter.wire.connection import is_loopback

SCOPE = "openid profile email"
WITHIN_S = 10.0
MOST_BYTES = 1 << 20
KEYS_FRESH_S, KEYS_AGAIN_S = 3600.0, 30.0
LEEWAY_S = 60
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
# Signatures with a key that only the issuer has: none, and none with a secret that others know too.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA"]


class OidcSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where people log in, and what this server is there."""

    issuer: str
    client_id: str
    client_secret: str = ""
    """Empty for a public client, which PKCE protects alone."""
    new_users: Scope | None = None
    """What somebody may do who comes for the first time; None where they must be made before."""
    server_url: str = ""
    """This server's own address as browsers know it; empty where the request tells it."""


class Identity(msgspec.Struct, frozen=True):
    """Who somebody is for good: (issuer, subject). `name` is only what they would like to be called."""

    issuer: str
    subject: str
    name: str


class Pending(Refused):
    """Nobody has confirmed the device yet: ask again after `retry_s`."""


def read_oidc(environ: Mapping[str, str]) -> OidcSettings | None:
    """The settings of the environment; None where there are none. Raises UsageError."""
    issuer = environ.get("HOLTER_OIDC_ISSUER", "").strip()
    if not issuer:
        return None
    client_id = environ.get("HOLTER_OIDC_CLIENT_ID", "").strip()
    if not client_id:
        raise UsageError("HOLTER_OIDC_ISSUER needs HOLTER_OIDC_CLIENT_ID: what this server is called there")
    parts = urlsplit(issuer)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise UsageError(f"HOLTER_OIDC_ISSUER must be an https:// address, not {issuer!r}: passwords go there")
    new_users = environ.get("HOLTER_OIDC_NEW_USERS", "").strip()
    if new_users and new_users not in SCOPES:
        raise UsageError(f"HOLTER_OIDC_NEW_USERS is one of {', '.join(SCOPES)} or empty, not {new_users!r}")
    try:
        import joserfc  # noqa: F401  only servers that log people in so need it
    except ImportError:
        raise UsageError("HOLTER_OIDC_ISSUER needs one package more: pip install 'holter[oidc]'") from None
    return OidcSettings(
        issuer=issuer,
        client_id=client_id,
        client_secret=environ.get("HOLTER_OIDC_CLIENT_SECRET", ""),
        new_users=new_users or None,
        server_url=environ.get("HOLTER_SERVER_URL", "").rstrip("/"),
    )


class Provider:
    """Talks to one issuer. Thread-safe; each call may wait for the network for some seconds. Raises Refused."""

    def __init__(self, settings: OidcSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._about: dict[str, Any] = {}
        self._keys: dict[str, Any] = {}
        self._keys_at = float("-inf")

    def authorization_url(self, redirect_uri: str, *, state: str, nonce: str, verifier: str) -> str:
        """Where the browser goes to log in."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "client_id": self.settings.client_id,
            "response_type": "code",
            "scope": SCOPE,
            "redirect_uri": redirect_uri,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = self._endpoint("authorization_endpoint")
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    def redeem(self, code: str, redirect_uri: str, *, nonce: str, verifier: str) -> Identity:
        """Who came back with a code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        return self._identity(self._post("token_endpoint", form), nonce=nonce)

    def begin_device(self) -> dict[str, Any]:
        """A code for somebody to confirm on another device, as the issuer has it."""
        return self._post("device_authorization_endpoint", {"scope": SCOPE})

    def redeem_device(self, device_code: str) -> Identity:
        """Who has confirmed it. Raises Pending while nobody has."""
        return self._identity(self._post("token_endpoint", {"grant_type": DEVICE_GRANT, "device_code": device_code}))

    def _identity(self, answer: dict[str, Any], *, nonce: str | None = None) -> Identity:
        """Whoever an ID token names, if the issuer signed it for us, now, and for this login."""
        from joserfc import jwt
        from joserfc.errors import JoseError

        text = answer.get("id_token")
        if not isinstance(text, str):
            raise _distrusted("it sent no ID token")
        wanted: dict[str, Any] = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "aud": {"essential": True, "value": self.settings.client_id},
            "sub": {"essential": True},
            "exp": {"essential": True},
        }
        if nonce is not None:
            wanted["nonce"] = {"essential": True, "value": nonce}
        try:
            token = jwt.decode(text, self._key_set(text), algorithms=ALGORITHMS)
            jwt.JWTClaimsRegistry(leeway=LEEWAY_S, **wanted).validate(token.claims)
        except (JoseError, ValueError) as error:
            raise _distrusted(f"its ID token is not good ({error})") from error
        claims = token.claims
        audience = claims["aud"]
        if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != self.settings.client_id:
            raise _distrusted("its ID token is for somebody else too")
        name = claims.get("preferred_username") or str(claims.get("email", "")).partition("@")[0] or claims["sub"]
        return Identity(self.settings.issuer, str(claims["sub"]), str(name))

    def _key_set(self, token: str) -> Any:
        """The issuer's keys; asked for again where a token has one that is not known yet, but not all the time."""
        from joserfc.jwk import KeySet

        head = token.partition(".")[0]
        said = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
        kid = said.get("kid") if isinstance(said, dict) else None
        with self._lock:
            age_s = time.monotonic() - self._keys_at
            is_known = kid is None or any(key.get("kid") == kid for key in self._keys.get("keys", ()))
        if age_s > KEYS_FRESH_S or (not is_known and age_s > KEYS_AGAIN_S):
            found = _fetch(urllib.request.Request(self._endpoint("jwks_uri")))
            with self._lock:
                self._keys, self._keys_at = found, time.monotonic()
        usable = [key for key in self._keys.get("keys", ()) if key.get("use", "sig") == "sig"]
        return KeySet.import_key_set({"keys": usable})

    def _post(self, endpoint: str, form: dict[str, str]) -> dict[str, Any]:
        settings = self.settings
        headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        if settings.client_secret:
            pair = f"{quote(settings.client_id, safe='')}:{quote(settings.client_secret, safe='')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        data = urlencode({**form, "client_id": settings.client_id}).encode()
        return _fetch(urllib.request.Request(self._endpoint(endpoint), data=data, headers=headers))

    def _endpoint(self, name: str) -> str:
        with self._lock:
            about = self._about
        if not about:
            issuer = self.settings.issuer
            about = _fetch(urllib.request.Request(f"{issuer.rstrip('/')}/.well-known/openid-configuration"))
            if about.get("issuer") != issuer:
                raise _distrusted(f"it calls itself {about.get('issuer')!r}, and HOLTER_OIDC_ISSUER is {issuer!r}")
            with self._lock:
                self._about = about
        address = about.get(name)
        if not isinstance(address, str):
            raise Refused(501, f"the login server has no {name}", do="log in with a key")
        return address


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **named: Any) -> None:
        """Codes and secrets go nowhere else."""
        return


def _fetch(request: urllib.request.Request) -> dict[str, Any]:
    """The JSON object that somebody answers. Raises Refused, Pending."""
    opener = urllib.request.build_opener(_NoRedirects)
    try:
        with opener.open(request, timeout=WITHIN_S) as response:
            data = response.read(MOST_BYTES)
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error.code, error.read(MOST_BYTES)) from None
    except (OSError, ValueError) as error:
        raise Refused(
            502, "the login server can't be reached", why=str(error), do="try again, or log in with a key", retry_s=10
        ) from error
    return _object(data)


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = None
    if not isinstance(found, dict):
        raise _distrusted("its answer is no JSON object")
    return found


def _refusal(status: int, data: bytes) -> Refused:
    try:
        said = _object(data)
    except Refused:
        said = {}
    word = str(said.get("error", ""))
    if word in ("authorization_pending", "slow_down"):
        return Pending(428, "nobody has confirmed it yet", do="ask again", retry_s=10 if word == "slow_down" else 5)
    why = str(said.get("error_description") or word or f"it answers {status}")[:300]
    return Refused(401, "the login server refuses this login", why=why, do="begin again")


def _distrusted(because: str) -> Refused:
    return Refused(502, "the login server can't be trusted with this login", why=because, do="tell whoever runs it")


def new_secret() -> str:
    """For a state, a nonce or a verifier."""
    return secrets.token_urlsafe(32)
