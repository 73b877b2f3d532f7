"""Users, their keys, and what was decided about projects."""

from pathlib import Path

import msgspec
import pytest

from holter.catalog.change.deletions import Deletions
from holter.errors import UsageError
from holter.model.run_row import RunRow
from holter.server.domain.arrivals import Arrivals
from holter.server.security.access import Access
from holter.server.security.accounts import Accounts
from holter.server.security.keyring import open_registers
from holter.server.security.rights import Roll, User


class Hours:
    """A clock that a test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hours:
    return Hours()


@pytest.fixture
def door(tmp_path: Path, clock: Hours) -> Access:
    return Access(open_registers(str(tmp_path)), b"s" * 32, token="", user="", now=clock)


def test_a_disabled_users_keys_and_sessions_are_worthless_at_once_and_all_of_them(door: Access) -> None:
    door.accounts.add_user("ann", scope="write", now=1.0)
    keys = [door.keys.add(name, "write", now=1.0, user="ann")[1] for name in ("laptop", "cluster")]
    visitor = door.check(keys[0])
    assert visitor is not None
    cookie = {"cookie": f"{door.cookie}={door.open_session(visitor)}"}
    assert door.identify(cookie) is not None
    door.accounts.change_user("ann", disabled_at=5.0)
    assert [door.check(key) for key in keys] == [None, None]
    assert (door.identify(cookie), door.is_welcome(visitor)) == (None, False)
    door.accounts.change_user("ann", disabled_at=0.0)
    assert door.is_welcome(visitor)


def test_a_key_may_not_do_more_than_its_user(door: Access) -> None:
    door.accounts.add_user("ann", scope="read", now=1.0)
    _, key = door.keys.add("laptop", "admin", now=1.0, user="ann")
    visitor = door.check(key)
    assert visitor is not None
    assert (visitor.user, visitor.name, visitor.scope) == ("ann", "ann", "read")


def test_a_key_of_a_user_who_is_not_there_is_none(door: Access) -> None:
    _, key = door.keys.add("laptop", "write", now=1.0, user="gone")
    assert door.check(key) is None


def test_a_key_ends_when_it_expires_and_so_do_its_sessions(door: Access, clock: Hours) -> None:
    _, key = door.keys.add("ci", "write", now=1.0, expires_at=2000.0)
    visitor = door.check(key)
    assert visitor is not None
    cookie = {"cookie": f"{door.cookie}={door.open_session(visitor)}"}
    clock.now = 2000.0
    assert (door.check(key), door.identify(cookie), door.is_welcome(visitor)) == (None, None, False)


def test_the_last_use_of_a_key_is_known_after_a_restart(door: Access, tmp_path: Path) -> None:
    key, text = door.keys.add("ci", "write", now=1.0)
    assert door.last_use.get(key.id) is None
    door.check(text)
    door.last_use.keep(1000.0)
    assert open_registers(str(tmp_path)).last_use.get(key.id) == 1000.0


def test_a_keys_file_from_before_there_were_users_works_as_it_did(door: Access, tmp_path: Path) -> None:
    key, text = door.keys.add("ci", "write", now=1.0)
    path = tmp_path / "access" / "keys.json"
    old = (
        f'{{"keys": [{{"id": "{key.id}", "name": "ci", "scope": "write", "made_at": 1.0, "digest": "{key.digest}"}}]}}'
    )
    path.write_text(old)
    visitor = door.check(text)
    assert visitor is not None
    assert (visitor.name, visitor.user, visitor.scope) == ("ci", "ci", "write")
    rights = door.rights(visitor)
    assert (rights.hidden, rights.may_change("any")) == (frozenset(), True)


def test_another_process_may_change_people(tmp_path: Path) -> None:
    path = str(tmp_path / "access" / "people.json")
    mine, other = Accounts(path), Accounts(path)
    assert mine.roll == Roll()
    other.add_user("ann", scope="write", kind="service", now=1.0)
    other.change_project("secret", kind="private", members={"ann": "writer"})
    other.grant("r1", "ann")
    assert mine.roll.users == {"ann": User(name="ann", kind="service", made_at=1.0)}
    assert mine.roll.rights("bob", "write").hidden == {"secret"}
    assert mine.roll.rights("ann", "write").may_send("r1")
    other.change_project("secret", kind="open", members={"ann": None})
    other.grant("r1", "ann", is_in=False)
    assert (mine.roll.projects, mine.roll.grants) == ({}, {})
    assert (tmp_path / "access" / "people.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["", "a b", "-x", "a/b", "x" * 101, "ä"])
def test_a_users_name_is_one_word(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="a user's name has"):
        Accounts(str(tmp_path / "people.json")).add_user(name, scope="write", now=1.0)


def test_nobody_is_made_twice_and_nobody_changed_who_is_not_there(tmp_path: Path) -> None:
    accounts = Accounts(str(tmp_path / "people.json"))
    accounts.add_user("ann", scope="write", now=1.0)
    with pytest.raises(UsageError, match="there is a user ann already"):
        accounts.add_user("ann", scope="admin", now=1.0)
    with pytest.raises(UsageError, match="there is no user 'bob'"):
        accounts.change_user("bob", disabled_at=1.0)


def test_nobody_writes_their_run_into_a_project_that_does_not_take_it(door: Access, tmp_path: Path) -> None:
    """What a journal says about its project nobody can check on the way."""
    arrivals = Arrivals(str(tmp_path), door, deletions=Deletions(str(tmp_path)), is_shared=True)
    keys = {name: door.keys.add(name, "write", now=1.0)[1] for name in ("ann", "bob")}
    door.accounts.change_project("secret", kind="private", members={"ann": "writer"})
    for name, key in keys.items():
        visitor = door.check(key)
        assert visitor is not None
        arrivals.claim(visitor, f"of-{name}", project="p", journals=())
        arrivals.admit(visitor, f"old-{name}")
    placed = [arrivals.placed(RunRow(id=run, project="secret")).project for run in ("of-ann", "of-bob", "old-bob")]
    assert placed == ["secret", "p", ""]
    # One that can't be read, or has not said what it is yet, is where its sender said: not in everybody's sight.
    assert arrivals.placed(RunRow(id="of-ann", project="")).project == "p"
    assert arrivals.placed(RunRow(id="old-ann", project="secret")).project == "secret"
    door.accounts.change_project("secret", members={"ann": None})
    assert arrivals.placed(RunRow(id="old-ann", project="secret")).project == "secret"


def test_a_link_shows_its_runs_to_read_as_long_as_its_maker_may(door: Access, clock: Hours) -> None:
    _, key = door.keys.add("ann", "write", now=1.0)
    ann = door.check(key)
    assert ann is not None
    share, link = door.accounts.add_share(["r1", "r2"], by="ann", now=1000.0, expires_at=2000.0)
    guest = door.check(link)
    assert guest is not None
    rights = door.rights(guest)
    assert (guest.scopes, rights.may_see("r1", "p"), rights.may_see("r3", "p")) == (("read",), True, False)
    assert not rights.may_change("p")
    door.accounts.change_project("p", kind="private", members={"bob": "writer"})
    assert not door.rights(guest).may_see("r1", "p")
    door.accounts.change_project("p", members={"ann": "reader"})
    assert door.rights(guest).may_see("r1", "p")
    cookie = {"cookie": f"{door.cookie}={door.open_session(guest)}"}
    assert door.identify(cookie) == msgspec.structs.replace(guest, session=cookie["cookie"].partition("=")[2])
    for wrong in (link[:-1], f"hs_{share.id}_", f"hs_{share.id}", "hs__", link.replace("hs_", "hk_")):
        assert door.check(wrong) is None, wrong
    clock.now = 2000.0
    assert (door.check(link), door.identify(cookie), door.is_welcome(guest)) == (None, None, False)


def test_a_revoked_link_is_worthless_at_once_with_all_its_sessions(door: Access) -> None:
    share, link = door.accounts.add_share(["r1"], by="ann", now=1000.0, expires_at=None)
    guest = door.check(link)
    assert guest is not None
    door.accounts.remove_share(share.id)
    assert (door.check(link), door.is_welcome(guest)) == (None, False)


def test_the_links_of_a_disabled_user_are_worthless(door: Access) -> None:
    door.accounts.add_user("ann", scope="write", now=1.0)
    _, link = door.accounts.add_share(["r1"], by="ann", now=1000.0, expires_at=None)
    assert door.check(link) is not None
    door.accounts.change_user("ann", disabled_at=5.0)
    assert door.check(link) is None
