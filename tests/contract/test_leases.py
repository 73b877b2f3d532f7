"""Who digests a run, and what changed, between servers with a real PostgreSQL in the middle."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from holter.alerts.file import FILE
from holter.model.run_row import RunRow
from holter.server.domain.removal import hide, restore
from holter.server.domain.services import ServerSettings, Services
from holter.server.ingest import leases as module
from holter.server.ingest.copies import CopiedRuns
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.leases import SharedLeases
from holter.server.live import alerting, shared_changes
from holter.server.live.alerting import Alerting
from holter.server.live.changes import Wanted
from holter.server.live.shared_changes import SharedChanges, Telling
from holter.storage.changes import Change, Woken
from holter.storage.opening import open_changes, open_journals, open_leases, open_storage
from holter.storage.places import Places
from holter.storage.postgres import changes as store_module
from holter.storage.postgres.changes import PostgresChanges
from holter.storage.postgres.leases import PostgresLeases
from holter.storage.series import Line
from tests.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.e2e.receivers import web
from tests.postgres import PostgresServer, running_postgres
from tests.unit.server.remote import RemoteJournal, send


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as found:
        yield found


@pytest.fixture
def places(postgres: PostgresServer) -> Places:
    url = postgres.new_place()
    return msgspec.structs.replace(Places.at(url), blobs="memory:", journals=url)


@pytest.fixture
def store(places: Places) -> Iterator[PostgresLeases]:
    found = open_leases(places)
    assert isinstance(found, PostgresLeases)
    yield found
    found.close()


@pytest.fixture
def told(places: Places) -> Iterator[PostgresChanges]:
    found = open_changes(places)
    assert isinstance(found, PostgresChanges)
    yield found
    found.close()


def test_a_run_is_one_server_s_until_that_leaves_or_is_not_heard_of(store: PostgresLeases) -> None:
    for server in ("one", "two"):
        store.beat(server)
    assert store.take("one", {"a": 1, "b": 1}) == {"a": 1, "b": 1}
    assert store.take("two", {"a": 2}) == {}
    assert store.beat("two").others == {"a", "b"}
    assert store.take("two", {"a": 2}, dead_s=0.0) == {"a": 2}
    assert store.beat("one").ours == {"b": 1}
    store.leave("one")
    standing = store.beat("two")
    assert (standing.left, standing.servers) == (["b"], 1)
    assert store.take("two", {"b": 1}) == {"b": 2}


def test_what_is_digested_is_taken_again_only_where_there_is_more(store: PostgresLeases) -> None:
    store.beat("one")
    store.beat("two")
    store.take("one", {"a": 10})
    store.settle("two", {"a": 99})  # it is not theirs
    assert store.take("two", {"a": 100}) == {}
    store.settle("one", {"a": 20})
    assert store.beat("one").ours == {}
    assert store.take("two", {"a": 20}) == {}
    assert store.take("two", {"a": 21}) == {"a": 2}
    store.forget("a")
    assert store.take("one", {"a": 1}) == {"a": 1}


def test_a_server_that_is_not_heard_of_takes_nothing(store: PostgresLeases) -> None:
    assert store.take("stranger", {"a": 1}) == {}


def test_a_server_that_could_not_beat_believes_in_nothing_and_gives_others_time(
    store: PostgresLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "VALID_S", 60.0)
    leases = SharedLeases(store)
    assert leases.take({"a": 1}) == {"a": 1}
    store.beat("dead")
    store.take("dead", {"b": 1})
    assert leases.take({"b": 1}) == {}
    monkeypatch.setattr(module, "VALID_S", 0.0)
    assert leases.numbers() == {}
    monkeypatch.setattr(module, "VALID_S", 60.0)
    assert leases.numbers() == {"a": 1}


def test_what_comes_right_after_the_store_was_away_is_taken_all_the_same(
    store: PostgresLeases, places: Places, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = SharedLeases(store)
    assert leases.take({"before": 1}) == {"before": 1}
    postgres.execute(places.runs, "UPDATE server SET beat_at = beat_at - INTERVAL '1 hour'")
    monkeypatch.setattr(leases, "_beaten_at", time.monotonic() - 3600)
    assert leases.numbers() == {}
    # Whoever is given nothing believes that another has it, and never looks again.
    assert leases.take({"new": 1}) == {"new": 1}
    assert leases.numbers() == {"before": 1, "new": 1}
    assert leases.beat() == {"before"}  # ours again: its copy may be behind


def server(data: Path, places: Places, lease: int, *, clock: FakeClock) -> Ingest:
    """One that believes that it digests all runs, under the lease of this number."""
    received = CopiedRuns(str(data), open_journals(str(data), places), is_settled=lambda run: False)
    received.leases = _Believing(lease)
    return Ingest(str(data), open_storage(places), clock=clock, received=received)


class _Believing:
    def __init__(self, number: int) -> None:
        self.number = number

    def take(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        return dict.fromkeys(sizes, self.number)

    def numbers(self) -> None:
        return None

    def is_elsewhere(self, run: str) -> bool:
        return False

    def settle(self, sizes: Mapping[str, int]) -> None:
        return

    def forget(self, run: str) -> None:
        return


def test_two_that_believe_they_have_a_run_do_no_harm(tmp_path: Path, places: Places) -> None:
    late = FakeClock()
    late.ns -= 3600 * 10**9  # that of a server that was stopped
    old = server(tmp_path / "old", places, 1, clock=late)
    new = server(tmp_path / "new", places, 2, clock=FakeClock())
    journal = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    journal.describe()
    journal.log(3000)
    have = send(old, journal)
    old.catch_up()
    journal.log(3000)
    send(new, journal, have=have)
    for each in (new, old):  # the one that has lost it comes last, and knows as much
        assert each._copies is not None
        each._copies.look(0.0)
        each.announce("r1")
        each.catch_up()
    row = new._storage.runs.get("r1")
    assert row is not None
    assert (row.rows, row.heard_ns) == (6000, FakeClock().ns)
    found = new._storage.series.points(Line("r1", "loss"))
    assert found.steps.tolist() == list(range(6000))
    assert found.values.tolist() == [step * 0.5 for step in range(6000)]
    for each in (old, new):
        each.close()
        each._storage.close()


def test_what_comes_while_a_run_is_let_go_of_is_digested_all_the_same(
    tmp_path: Path, places: Places, store: PostgresLeases, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = server(tmp_path / "data", places, 1, clock=FakeClock())
    assert ingest._copies is not None
    ingest._copies.leases = ingest.leases = SharedLeases(store)
    journal = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    journal.describe()
    journal.log(10)
    journal.finish()
    have = send(ingest, journal)
    put = ingest._storage.runs.put

    def put_late(rows: Sequence[RunRow]) -> None:
        put(rows)
        if len(late) == 0 and not ingest._live:
            late.append(send(ingest, journal, have=have))

    late: list[int] = []
    journal.log(5)
    monkeypatch.setattr(ingest._storage.runs, "put", put_late)
    ingest.catch_up()
    assert late
    ingest.catch_up()
    row = ingest._storage.runs.get("r1")
    assert row is not None
    assert row.rows == 15
    assert ingest.leases.numbers() == {}
    ingest.close()
    ingest._storage.close()


def change(run: str, kind: str = "run", data: bytes = b"{}") -> Change:
    return Change(0, kind, run, "p", data)


def test_a_change_that_is_committed_late_is_missed_by_nobody(told: PostgresChanges) -> None:
    """Numbers become visible out of order: the later transaction is there before the earlier one."""
    told.tell([change("first")])
    has_begun, may_end = threading.Event(), threading.Event()
    write = told._database.write

    def slowly() -> None:
        with write() as connection:
            connection.execute("SELECT pg_current_xact_id()")
            connection.execute(
                "INSERT INTO change SELECT 'run', 'slow', 'slow', 'p', NULL, '{}',"
                " CAST(CAST(PG_CURRENT_XACT_ID() AS TEXT) AS BIGINT), NOW()"
            )
            has_begun.set()
            may_end.wait(60)

    thread = threading.Thread(target=slowly)
    thread.start()
    has_begun.wait(60)
    told.tell([change("quick")])
    found = told.since(0, most=100)
    assert [each.run for each in found.changes] == ["first", "quick"]
    assert found.seq < found.changes[-1].seq
    may_end.set()
    thread.join()
    again = told.since(found.seq, most=100)
    assert [each.run for each in again.changes] == ["slow", "quick"]
    assert again.seq >= again.changes[-1].seq


def test_a_stream_goes_on_at_another_server_and_misses_nothing(told: PostgresChanges) -> None:
    one, two = (SharedChanges(told, learn=lambda change: None) for _ in range(2))

    def note(changes: SharedChanges, run: str) -> None:
        changes.note("rows", run, project="p", data={"run": run})
        changes.tell()

    async def read(changes: SharedChanges, after: int, wanted: int) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        stream = changes.follow(after, Wanted(), is_welcome=lambda: True)
        while len(found) < wanted:
            lines = (await anext(stream)).decode().split("\n")
            assert "event: reset" not in lines
            found += [msgspec.json.decode(line[6:]) for line in lines if line.startswith("data: ")]
        return found

    note(one, "a")
    one.refresh()
    seen = one.seq
    note(two, "b")
    two.refresh()
    note(one, "c")
    two.refresh()
    assert [each["run"] for each in asyncio.run(read(two, seen, 2))] == ["b", "c"]
    one.refresh()
    assert [each["run"] for each in asyncio.run(read(one, seen, 2))] == ["b", "c"]
    assert one.seq_of("rows", "c") == two.seq_of("rows", "c") > one.seq_of("rows", "b")
    late = SharedChanges(told, learn=lambda change: None)
    assert [each["run"] for each in asyncio.run(read(late, seen, 2))] == ["b", "c"]


def test_what_was_forgotten_is_a_gap_for_whoever_asks_for_it(told: PostgresChanges) -> None:
    changes = SharedChanges(told, learn=lambda change: None)
    before = changes.seq
    told.tell([change("a")])
    told.forget(-60.0)
    told.tell([change("b")])
    changes.refresh()
    late = SharedChanges(told, learn=lambda change: None)
    for each in (changes, late):
        assert each.since(before, Wanted()) is None
        assert [one.run for one in each.since(each.seq, Wanted()) or []] == []


def test_numbers_of_another_database_that_came_with_a_dump_are_no_gap(told: PostgresChanges) -> None:
    far = 1 << 50
    with told._database.write() as connection:
        connection.execute("INSERT INTO forgotten_change VALUES (1, ?)", (far,))
        connection.execute("INSERT INTO change VALUES ('run', 'old', 'old', 'p', NULL, '{}', ?, NOW())", (far,))
    changes = SharedChanges(told, learn=lambda change: None)
    told.tell([change("a")])
    changes.refresh()
    seen = changes.seq
    told.tell([change("b")])
    changes.refresh()
    assert [each.run for each in changes.since(seen, Wanted()) or []] == ["b"]
    told.forget(-60.0)
    told.tell([change("c")])
    assert seen < told.since(0, most=9).forgotten < far
    assert [each.run for each in told.since(0, most=9).changes] == ["c"]


def test_changes_come_also_where_nobody_can_be_woken(
    places: Places, told: PostgresChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As through a pooler, which hands each transaction to any connection and has no use for NOTIFY."""

    def wait(self: PostgresChanges, within_s: float) -> Woken:
        self._is_closed.wait(within_s)
        return Woken()

    monkeypatch.setattr(PostgresChanges, "wait", wait)
    other = open_changes(places)
    assert other is not None
    here, there = SharedChanges(told, learn=lambda change: None), SharedChanges(other, learn=lambda change: None)
    telling = [Telling(each, wake=lambda: None, complain=pytest.fail) for each in (here, there)]
    for each in telling:
        each.start()
    here.note("rows", "a", project="p", data={"run": "a"})
    wait_until(lambda: there.seq_of("rows", "a") > there.first_seq)
    for each in telling:
        each.close()
    other.close()


def test_who_waits_is_woken_by_others_and_told_why(told: PostgresChanges, places: Places) -> None:
    other = open_changes(places)
    assert other is not None
    told.wait(0.01)  # from now on it listens
    other.tell([change("a")])
    assert told.wait(60) == (True, False)
    other.tell([], has_grown=True)
    assert told.wait(60) == (True, True)
    told.tell([change("b")])
    began = time.monotonic()
    assert told.wait(0.5) == (False, False)  # what it said itself
    assert time.monotonic() - began < 60
    other.close()


def test_what_a_server_did_not_come_to_say_is_said_by_one_other(told: PostgresChanges, places: Places) -> None:
    other = open_changes(places)
    assert other is not None
    assert told.is_first("said", b"1")
    assert told.is_first("saying", b"2")
    assert told.is_first("left", b"3")
    assert not other.is_first("left", b"3")
    assert other.unsaid([], [], most=9) == {}
    with told._database.write() as connection:
        connection.execute("UPDATE said_once SET until = until - INTERVAL '1 hour'")
        connection.execute("INSERT INTO said_once (word, said_at) VALUES ('old', NOW())")  # by the version before
    assert told.unsaid(["said"], ["saying"], most=0) == {}
    assert not other.is_first("old", b"4")
    assert other.unsaid([], [], most=9) == {"left": b"3"}
    assert told.unsaid([], [], most=9) == {}
    with told._database.write() as connection:
        connection.execute(
            "UPDATE said_once SET said_at = said_at - INTERVAL '1 day', until = until - INTERVAL '1 day'"
        )
    assert told.unsaid([], [], most=9) == {}  # it is no news any more
    other.close()


def test_an_alert_comes_once_though_the_server_that_was_to_send_it_has_died(
    tmp_path: Path, told: PostgresChanges, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "SAYS_S", 0.5)
    monkeypatch.setattr(shared_changes, "SAYS_EVERY_S", 0.0)
    monkeypatch.setattr(alerting, "LEAVE_WITHIN_S", 0.0)
    row = RunRow(id="r1", project="p", name="otter", started_ns=time.time_ns(), ended_ns=time.time_ns())
    said = {"state": "failed", "cause": "python-exception", "title": "it raised"}
    with contextlib.ExitStack() as opened, web() as chat, contextlib.closing(open_storage("memory:")) as storage:
        (tmp_path / FILE).write_text(
            f'allow = ["127.0.0.1"]\n[[target]]\nkind = "json"\nname = "chat"\nurl = "{chat.url}/hook"\n'
        )
        chat.answers = [(503, {"retry-after": "600"})]
        changes = [SharedChanges(told, learn=lambda change: None) for _ in range(3)]
        servers = [
            Alerting(str(tmp_path), storage=storage, address="", complain=lambda text: None, changes=each)
            for each in changes
        ]
        for each in servers:
            opened.callback(each.close)
        dead, heir, third = servers
        dead.ended(row, said)
        for each in (heir, third):  # whoever digests it from now on
            each.ended(row, said)
        chat.wait_for(1)

        def is_told() -> bool:
            heir.look_after()
            return len(chat.posted) > 1 and not changes[1]._saying

        wait_until(is_told, within_s=20)
        heir.look_after()
        time.sleep(1.0)
        third.look_after()
        time.sleep(0.5)
        assert [each.json["title"] for each in chat.posted] == [chat.posted[0].json["title"]] * 2


def test_a_run_is_deleted_for_good_as_another_server_could_not_bring_it_back(tmp_path: Path, places: Places) -> None:
    services = Services(ServerSettings(data=str(tmp_path / "data"), kind="server", places=places), {})
    services.open()
    with contextlib.closing(services):
        journal = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
        journal.describe()
        journal.finish()
        send(services.ingest, journal)
        wait_until(lambda: services.storage.runs.get("r1") is not None)
        assert not hide(services, "r1", by="ada", user="ada")
        assert services.storage.runs.get("r1") is None
        assert not restore(services, "r1")
        deletion = services.deletions.find("r1")
        assert deletion is not None
        assert deletion.user == ""
