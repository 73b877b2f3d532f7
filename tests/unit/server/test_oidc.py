"""Whom an ID token names is believed only where the issuer signed it, for us, for this login, and not long ago."""

import time
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from holter.errors import Refused, UsageError
from holter.server.security.accounts import Accounts
from holter.server.security.oidc import Identity, OidcSettings, Provider, read_oidc

Key = ECKey | RSAKey | OctKey
ISSUER = "https://login.example.org"
KEY = ECKey.generate_key("P-256", {"kid": "one", "use": "sig"})


@pytest.fixture
def provider() -> Provider:
    found = Provider(OidcSettings(issuer=ISSUER, client_id="holter"))
    found._keys = {"keys": [KEY.as_dict(private=False)]}
    found._keys_at = time.monotonic()
    return found


def token(key: Key = KEY, *, algorithm: str = "ES256", kid: str = "one", **changed: Any) -> dict[str, str]:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": "holter", "sub": "s1", "exp": now + 300, "iat": now, "nonce": "n1"}
    claims = {name: value for name, value in {**claims, **changed}.items() if value is not None}
    return {"id_token": jwt.encode({"alg": algorithm, "kid": kid}, claims, key, algorithms=[algorithm])}


def test_a_good_token_names_its_subject(provider: Provider) -> None:
    told = provider._identity(token(preferred_username="ann"), nonce="n1")
    assert told == Identity(ISSUER, "s1", "ann")
    assert provider._identity(token(email="ann@example.org"), nonce="n1").name == "ann"
    assert provider._identity(token(), nonce="n1").name == "s1"


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"aud": ["holter", "another"]},
        {"exp": 1000},
        {"exp": None},
        {"sub": None},
        {"nonce": "another"},
        {"nonce": None},
        {"iat": 10**11},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_this_login_is_none(provider: Provider, changed: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="can't be trusted"):
        provider._identity(token(**changed), nonce="n1")


def test_a_token_that_somebody_else_signed_is_none(provider: Provider) -> None:
    other = ECKey.generate_key("P-256", {"kid": "one"})
    rsa = RSAKey.generate_key(2048, {"kid": "one"})
    shared = OctKey.generate_key(256, {"kid": "one"})
    for forged in (token(other), token(rsa, algorithm="RS256"), token(shared, algorithm="HS256")):
        with pytest.raises(Refused, match="can't be trusted"):
            provider._identity(forged, nonce="n1")
    head, body, _ = token()["id_token"].split(".")
    unsigned = "eyJhbGciOiJub25lIn0"
    for text in (
        f"{unsigned}.{body}.",
        f"{head}.{body}.",
        f"{head}.{body}",
        "x",
        "",
        f"!.{body}.x",
        "e30.e30.e30",
        "W10.e30.e30",
    ):
        with pytest.raises(Refused, match="can't be trusted"):
            provider._identity({"id_token": text}, nonce="n1")


def test_an_answer_without_a_token_is_none(provider: Provider) -> None:
    with pytest.raises(Refused, match="can't be trusted"):
        provider._identity({"access_token": "x"}, nonce="n1")


def test_a_newcomer_gets_a_name_that_stands_for_nobody(tmp_path: Path) -> None:
    accounts = Accounts(str(tmp_path / "people.json"))
    accounts.change_project("secret", kind="private", members={"ann": "writer"})
    first = accounts.add_identity(Identity(ISSUER, "s1", "ann"), scope="write", now=1.0)
    second = accounts.add_identity(
        Identity(ISSUER, "s2", "first"), scope="write", now=1.0, is_taken=lambda name: name == "first"
    )
    odd = accounts.add_identity(Identity(ISSUER, "s3", "../é é"), scope="write", now=1.0)
    assert (first.name, second.name, odd.name) == ("ann-2", "first-2", "user")
    with pytest.raises(UsageError, match="that login is the user ann-2 already"):
        accounts.add_user("another", scope="write", now=1.0, identity=Identity(ISSUER, "s1", ""))
    assert accounts.roll.user_of(ISSUER, "s1") == first
    assert accounts.roll.user_of("https://other.example", "s1") is None


def test_settings_are_checked_before_anybody_comes() -> None:
    wanted = {"HOLTER_OIDC_ISSUER": ISSUER, "HOLTER_OIDC_CLIENT_ID": "holter"}
    assert read_oidc({}) is None
    assert read_oidc(wanted) == OidcSettings(issuer=ISSUER, client_id="holter")
    for wrong in (
        {"HOLTER_OIDC_ISSUER": "http://login.example.org"},
        {"HOLTER_OIDC_CLIENT_ID": ""},
        {"HOLTER_OIDC_NEW_USERS": "everything"},
    ):
        with pytest.raises(UsageError, match="HOLTER_OIDC_"):
            read_oidc({**wanted, **wrong})
