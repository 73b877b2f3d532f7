"""Keys, tokens, sessions: who somebody is, and for how long."""

import hmac
from pathlib import Path

import msgspec
import pytest

from holter.errors import Refused, UsageError
from holter.server.security.access import SESSION_S, Access
from holter.server.security.keyring import open_registers
from holter.server.security.keys import KeyRing
from holter.server.security.limits import Limiter, Rate

SECRET = b"s" * 32


class Hours:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def keys(tmp_path: Path) -> KeyRing:
    return KeyRing(str(tmp_path / "access" / "keys.json"))


def access(keys: KeyRing, clock: Hours | None = None, *, token: str = "", secret: bytes = SECRET) -> Access:
    registers = msgspec.structs.replace(open_registers(str(Path(keys.path).parent.parent)), keys=keys)
    return Access(registers, secret, token=token, user="ada", now=clock or Hours())


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


def test_a_key_is_known_until_it_is_revoked(keys: KeyRing) -> None:
    key, text = keys.add("ci", "write", now=1.0)
    visitor = access(keys).identify(bearer(text))
    assert visitor is not None
    assert (visitor.name, visitor.scopes) == ("ci", ("read", "write"))
    assert KeyRing(keys.path).revoke(key.id)
    assert access(keys).identify(bearer(text)) is None
    assert not keys.revoke(key.id)


def test_nothing_like_a_key_is_one(keys: KeyRing) -> None:
    key, text = keys.add("ci", "admin", now=1.0)
    door = access(keys)
    for wrong in ("", "hk", "hk__", f"hk_{key.id}_", f"xx_{text[3:]}", text[:-1], text + "x", key.digest, "ü" * 40):
        assert door.check(wrong) is None, wrong
    assert door.identify({"authorization": f"Basic {text}"}) is None


def test_every_secret_is_compared_in_constant_time(keys: KeyRing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the one function that does so says no, nothing opens: so nothing else decides."""
    _, text = keys.add("ci", "admin", now=1.0)
    door = access(keys, token="t" * 64)
    visitor = door.check(text)
    assert visitor is not None
    session = msgspec.structs.replace(visitor, session=door.open_session(visitor))
    cookie = {"cookie": f"{door.cookie}={session.session}"}
    assert None not in (door.check("t" * 64), door.identify(cookie))
    assert door.is_from_page(session, door.csrf(session.session))
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: False)
    assert (door.check(text), door.check("t" * 64), door.identify(cookie)) == (None, None, None)
    assert not door.is_from_page(session, door.csrf(session.session))


def test_only_the_hash_of_a_key_is_kept(keys: KeyRing, tmp_path: Path) -> None:
    _, text = keys.add("ci", "read", now=1.0)
    path = tmp_path / "access" / "keys.json"
    assert text.split("_", 2)[2] not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_key_needs_a_name_that_can_be_printed(keys: KeyRing) -> None:
    for name in ("", "a\nb", "x" * 101):
        with pytest.raises(UsageError):
            keys.add(name, "read", now=1.0)


def test_a_session_lasts_for_its_time_and_no_longer(keys: KeyRing) -> None:
    clock = Hours()
    door = access(keys, clock, token="t" * 64)
    visitor = door.check("t" * 64)
    assert visitor is not None
    cookie = {"cookie": f"other=1; {door.cookie}={door.open_session(visitor)}"}
    clock.now += SESSION_S - 1
    known = door.identify(cookie)
    assert known is not None
    assert (known.id, known.name, known.scope) == ("ui", "ada", "admin")
    clock.now += 2
    assert door.identify(cookie) is None


def test_a_session_that_was_changed_or_signed_by_another_is_none(keys: KeyRing) -> None:
    key, text = keys.add("reader", "read", now=1.0)
    door = access(keys)
    visitor = door.check(text)
    assert visitor is not None
    session = door.open_session(visitor)
    for changed in (session.replace(key.id, "ui"), session[:-1], "a.b.c.d", "....", session + "0"):
        assert door.identify({"cookie": f"{door.cookie}={changed}"}) is None, changed
    other = access(keys, secret=b"x" * 32)
    assert other.identify({"cookie": f"{other.cookie}={session}"}) is None


def test_a_session_that_was_ended_is_none_in_any_process_and_the_others_go_on(keys: KeyRing) -> None:
    clock = Hours()
    _, text = keys.add("reader", "read", now=1.0)
    door = access(keys, clock)
    visitor = door.check(text)
    assert visitor is not None
    ended, other = door.open_session(visitor), door.open_session(visitor)
    known = door.identify({"cookie": f"{door.cookie}={ended}"})
    assert known is not None
    assert door.is_welcome(known)
    door.end_session(ended)
    door.end_session(ended)
    for each in (door, access(keys, clock)):
        assert each.identify({"cookie": f"{each.cookie}={ended}"}) is None
        assert each.identify({"cookie": f"{each.cookie}={other}"}) is not None
    assert not door.is_welcome(known)


def test_what_is_remembered_of_ended_sessions_goes_when_they_would_have_expired(keys: KeyRing, tmp_path: Path) -> None:
    clock = Hours()
    _, text = keys.add("reader", "read", now=1.0)
    door = access(keys, clock)
    visitor = door.check(text)
    assert visitor is not None
    door.end_session(door.open_session(visitor))
    clock.now += SESSION_S + 1
    door.end_session(door.open_session(visitor))
    assert len(list((tmp_path / "access" / "ended-sessions").iterdir())) == 1


def test_a_token_of_the_ui_means_nothing_to_a_server_without_one(keys: KeyRing) -> None:
    with_token = access(keys, token="t" * 64)
    visitor = with_token.check("t" * 64)
    assert visitor is not None
    cookie = {"cookie": f"{with_token.cookie}={with_token.open_session(visitor)}"}
    assert access(keys).identify(cookie) is None
    assert access(keys).check("") is None


def test_a_wrong_header_is_not_made_good_by_a_cookie(keys: KeyRing) -> None:
    _, text = keys.add("reader", "read", now=1.0)
    door = access(keys)
    visitor = door.check(text)
    assert visitor is not None
    cookie = {"cookie": f"{door.cookie}={door.open_session(visitor)}"}
    assert door.identify({**cookie, **bearer("wrong")}) is None


def test_writes_with_a_cookie_need_the_word_that_belongs_to_the_session(keys: KeyRing) -> None:
    _, text = keys.add("writer", "write", now=1.0)
    door = access(keys)
    visitor = door.check(text)
    assert visitor is not None
    assert door.is_from_page(visitor, "")
    first, second = door.open_session(visitor), door.open_session(visitor)
    by_cookie = door.identify({"cookie": f"{door.cookie}={first}"})
    assert by_cookie is not None
    assert door.is_from_page(by_cookie, door.csrf(first))
    assert not door.is_from_page(by_cookie, door.csrf(second))
    assert not door.is_from_page(by_cookie, "")


def test_permits_come_back_with_time() -> None:
    limiter = Limiter(Rate(per_s=1, burst=2))
    limiter.spend("a", 0.0)
    limiter.spend("a", 0.0)
    with pytest.raises(Refused) as refused:
        limiter.spend("a", 0.5)
    assert (refused.value.status, refused.value.retry_s) == (429, 1)
    limiter.spend("b", 0.5)
    limiter.spend("a", 1.5)
