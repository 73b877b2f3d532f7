"""What several servers must have alike, in directories of two of them and a real PostgreSQL between."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from holter.catalog.change.deletions import Deletion, Deletions
from holter.errors import Refused
from holter.server.process.shared_papers import SharedPapers
from holter.server.security.audit import Act
from holter.server.security.keyring import Registers, open_audit, open_keys, open_registers
from holter.server.security.owners import Owners, Sender
from holter.server.security.shared_audit import SharedAudit
from holter.storage.opening import open_papers
from holter.storage.places import Places
from tests.postgres import PostgresServer, running_postgres


class Server:
    """One of several: its directory, and what it shares."""

    def __init__(self, data: Path, url: str) -> None:
        self.data = data
        store = open_papers(msgspec.structs.replace(Places.at("memory:"), journals=url))
        assert store is not None
        self.papers = SharedPapers(str(data), store)
        self.papers.look()
        self.registers: Registers = open_registers(str(data), self.papers.alone)
        self.owners = Owners(
            str(data / "access" / "owners.jsonl"), journals=lambda run: (), is_taken=lambda run: False, book=self.papers
        )
        self.owners.share()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as found:
        yield found


@pytest.fixture
def servers(tmp_path: Path, postgres: PostgresServer) -> Iterator[tuple[Server, Server]]:
    url = postgres.new_place()
    found = Server(tmp_path / "one", url), Server(tmp_path / "two", url)
    yield found
    for each in found:
        each.papers.close()


def test_keys_that_two_servers_make_at_once_are_all_kept(servers: tuple[Server, Server]) -> None:
    def make(server: Server) -> None:
        for number in range(5):
            server.registers.keys.add(f"{server.data.name}-{number}", "read", now=1.0)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(make, servers))
    for each in servers:
        each.papers.look()
        assert len(each.registers.keys.all()) == 10
    one, two = servers
    made, text = one.registers.keys.add("new", "read", now=1.0)
    two.papers.newest(two.registers.keys.path)
    assert two.registers.keys.check(text) == made
    assert two.registers.keys.revoke(made.id)
    one.papers.look()
    assert one.registers.keys.check(text) is None


def test_a_command_changes_what_all_have_also_while_no_server_runs(
    servers: tuple[Server, Server], tmp_path: Path, postgres: PostgresServer
) -> None:
    one, two = servers
    one.registers.keys.add("first", "admin", now=1.0)
    two.papers.look()
    open_keys(str(one.data)).add("by command", "read", now=1.0)
    two.registers.keys.add("meanwhile", "read", now=1.0)
    one.papers.look()  # both changed the same version: that of the server that was alone with it holds
    assert [key.name for key in one.registers.keys.all()] == ["first", "meanwhile"]
    open_keys(str(one.data)).add("again", "read", now=1.0)
    one.papers.look()
    two.papers.look()
    assert [key.name for key in two.registers.keys.all()] == ["first", "meanwhile", "again"]


def test_a_restart_keeps_what_a_command_changed_and_what_others_did(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.new_place()
    one = Server(tmp_path / "one", url)
    one.registers.keys.add("first", "admin", now=1.0)
    one.papers.look()
    one.papers.close()
    open_keys(str(one.data)).add("by command", "read", now=1.0)
    again, fresh = Server(tmp_path / "one", url), Server(tmp_path / "two", url)
    for each in (again, fresh):
        assert [key.name for key in each.registers.keys.all()] == ["first", "by command"]
        each.papers.close()


def test_ended_sessions_and_deletions_are_known_to_all_and_taken_back_for_all(servers: tuple[Server, Server]) -> None:
    one, two = servers
    one.registers.ended.end("a session", expires=5e9, now=1.0)
    Deletions(str(one.data)).note("gone", Deletion(by="ann", at=1.0))
    one.papers.look()
    two.papers.look()
    assert two.registers.ended.has("a session")
    two.registers.ended.end("another", expires=5e9, now=2e9)  # which forgets those that have expired
    assert two.registers.ended.has("a session")
    with pytest.raises(Refused):
        Deletions(str(two.data)).check("gone")
    Deletions(str(two.data)).forget("gone")
    two.papers.look()
    one.papers.look()
    Deletions(str(one.data)).check("gone")


def test_a_run_belongs_to_whoever_claimed_it_first_on_any_server(servers: tuple[Server, Server]) -> None:
    one, two = servers
    assert one.owners.claim(Sender(user="ann", run="r")) == "r"
    assert two.owners.claim(Sender(user="bob", run="r")) == "r-2"
    assert two.owners.claim(Sender(user="ann", run="r")) == "r"
    one.papers.look()
    assert one.owners.claim(Sender(user="bob", run="r")) == "r-2"
    two.owners.admit("ann", "s")
    with pytest.raises(Refused):
        one.owners.admit("bob", "s")
    with ThreadPoolExecutor(4) as pool:
        names = ["ann", "bob", "eve", "joe"]
        got = list(
            pool.map(
                lambda each: each[0].owners.claim(Sender(user=each[1], run="t")),
                zip([one, two] * 2, names, strict=True),
            )
        )
    assert sorted(got) == ["t", "t-2", "t-3", "t-4"]


def test_what_people_did_on_one_server_all_can_tell(tmp_path: Path, postgres: PostgresServer) -> None:
    places = msgspec.structs.replace(Places.at("memory:"), journals=postgres.new_place())
    data = [str(tmp_path / name) for name in ("one", "two")]
    one, two = (open_audit(each, places) for each in data)
    assert isinstance(one, SharedAudit)
    assert isinstance(two, SharedAudit)
    one.note(Act(at=1.0, user="ann", act="login"))
    two.note(Act(at=3.0, user="bob", act="run-deleted", what={"run": "r1"}))
    open_audit(data[0]).note(Act(at=2.0, user="root", act="key-made"))  # by a command on the first one's machine
    one.look()
    assert [act.user for act in two.acts()] == [act.user for act in one.acts()] == ["ann", "root", "bob"]
    again = open_audit(data[0], places)  # it asks about all of its lines once more
    assert [act.user for act in again.acts()] == ["ann", "root", "bob"]
    for each in (one, two, again):
        assert isinstance(each, SharedAudit)
        each.close()


def test_what_was_here_before_there_were_others_is_told(tmp_path: Path, postgres: PostgresServer) -> None:
    url, data = postgres.new_place(), tmp_path / "one"
    _, text = open_keys(str(data)).add("old", "admin", now=1.0)
    Deletions(str(data)).note("gone", Deletion(by="ann", at=1.0))
    before = Owners(str(data / "access" / "owners.jsonl"), journals=lambda run: (), is_taken=lambda run: False)
    before.claim(Sender(user="ann", run="r"))
    for name in ("one", "two"):
        server = Server(tmp_path / name, url)
        with pytest.raises(Refused):
            server.owners.admit("bob", "r")
        assert server.registers.keys.check(text) is not None
        assert os.path.exists(server.data / "deleted" / "gone")
        server.papers.close()
