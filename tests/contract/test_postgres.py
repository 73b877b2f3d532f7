"""What all that is kept in PostgreSQL relies on: transactions, migrations, and a server that comes and goes."""

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest

from holter.errors import NewerStorage, StorageError, StorageFailing, UsageError
from holter.storage.journals import Part
from holter.storage.objects.bucket import Bucket, Found
from holter.storage.postgres import schema
from holter.storage.postgres.database import PostgresDatabase
from holter.storage.postgres.journals import PostgresJournals
from tests.postgres import PostgresServer, running_postgres

SCRIPTS = ("CREATE TABLE thing (id BIGINT PRIMARY KEY, name TEXT)",)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as found:
        yield found


@pytest.fixture
def url(server: PostgresServer) -> str:
    return server.new_place()


def names(database: PostgresDatabase) -> list[str]:
    with database.read() as connection:
        return [name for [name] in connection.execute("SELECT name FROM thing ORDER BY id")]


def test_what_was_written_is_there_and_what_raised_is_not(url: str) -> None:
    database = PostgresDatabase(url, "things", scripts=SCRIPTS)
    with database.write() as connection:
        connection.execute("INSERT INTO thing VALUES (?, ?)", (1, "100 %"))
        connection.executemany("INSERT INTO thing VALUES (:id, :name)", [{"id": 2, "name": "b"}])
    with pytest.raises(StorageError, match="duplicate key"), database.write() as connection:
        connection.executemany("INSERT INTO thing VALUES (?, ?)", [(3, "c"), (3, "d")])
    assert names(database) == ["100 %", "b"]
    database.close()
    database.close()


def test_what_it_can_not_hold_as_text_is_marked(url: str) -> None:
    database = PostgresDatabase(url, "things", scripts=SCRIPTS)
    with database.write() as connection:
        connection.execute("INSERT INTO thing VALUES (?, ?)", (1, "a\0b"))
        connection.execute("INSERT INTO thing VALUES (:id, :name)", {"id": 2, "name": "\ud800"})
        connection.executemany("INSERT INTO thing VALUES (?, ?)", [(3, "\0")])
    assert names(database) == ["a�b", "�", "�"]
    database.close()


def test_many_who_start_at_once_make_the_tables_once(url: str) -> None:
    with ThreadPoolExecutor(8) as starting:
        found = list(starting.map(lambda _: PostgresDatabase(url, "things", scripts=SCRIPTS), range(8)))
    assert [names(each) for each in found] == [[]] * 8
    for each in found:
        each.close()


def test_a_newer_version_takes_what_an_older_one_made_and_not_the_other_way_round(url: str) -> None:
    older = PostgresDatabase(url, "things", scripts=SCRIPTS)
    with older.write() as connection:
        connection.execute("INSERT INTO thing VALUES (1, 'a')")
    newer = PostgresDatabase(
        url, "things", scripts=[*SCRIPTS, "ALTER TABLE thing ADD COLUMN size BIGINT NOT NULL DEFAULT 7"]
    )
    with newer.read() as connection:
        assert connection.execute("SELECT * FROM thing").fetchall() == [(1, "a", 7)]
    assert names(older) == ["a"]
    with pytest.raises(NewerStorage, match=r"things in .* has version 2, this holter knows up to 1"):
        PostgresDatabase(url, "things", scripts=SCRIPTS)
    older.close()
    newer.close()


def test_of_many_who_start_at_once_after_an_upgrade_one_takes_the_step(url: str) -> None:
    older = PostgresDatabase(url, "things", scripts=SCRIPTS)
    with older.write() as connection:
        connection.execute("INSERT INTO thing VALUES (1, 'a')")
    newer = [*SCRIPTS, "ALTER TABLE thing ADD COLUMN size BIGINT; INSERT INTO thing VALUES (2, 'b')"]
    with ThreadPoolExecutor(8) as starting:
        found = list(starting.map(lambda _: PostgresDatabase(url, "things", scripts=newer), range(8)))
    assert [names(each) for each in (older, *found)] == [["a", "b"]] * 9
    for each in (older, *found):
        each.close()


def test_it_goes_on_after_a_restart_of_the_server(url: str, server: PostgresServer) -> None:
    database = PostgresDatabase(url, "things", scripts=SCRIPTS)
    with database.write() as connection:
        connection.execute("INSERT INTO thing VALUES (1, 'a')")
    server.kill()
    try:
        with pytest.raises(StorageFailing, match=r"can't be reached .*nothing is lost"):
            names(database)
    finally:
        server.start()
    assert names(database) == ["a"]
    database.close()


def test_who_stands_still_in_the_middle_of_a_change_keeps_nobody_waiting_for_long(url: str) -> None:
    slow, quick = (PostgresDatabase(url, "things", scripts=SCRIPTS, alone_s=1) for _ in range(2))
    has_begun, may_go_on = threading.Event(), threading.Event()

    def stand_still() -> None:
        with slow.write("x") as connection:
            connection.execute("INSERT INTO thing VALUES (1, 'slow')")
            has_begun.set()
            may_go_on.wait(60)

    with ThreadPoolExecutor(1) as pool:
        standing = pool.submit(stand_still)
        has_begun.wait(60)
        began = time.monotonic()
        killer = threading.Timer(20, may_go_on.set)  # where nobody ended it, the test ends all the same
        killer.start()
        with quick.write("x") as connection:
            connection.execute("INSERT INTO thing VALUES (1, 'quick')")
        took_s = time.monotonic() - began
        killer.cancel()
        may_go_on.set()
        with pytest.raises(StorageFailing, match="nothing is lost"):
            standing.result(60)
    assert took_s < 15
    assert names(slow) == ["quick"]
    for each in (slow, quick):
        each.close()


def test_a_machine_that_is_gone_without_a_word_is_noticed_within_seconds(url: str) -> None:
    assert parameters(url) == {
        "keepalives_idle": "10",
        "keepalives_interval": "5",
        "keepalives_count": "2",
        "tcp_user_timeout": "20000",
    }
    assert parameters(f"{url}&keepalives_idle=60")["keepalives_idle"] == "60"


def parameters(url: str) -> dict[str, str]:
    database = PostgresDatabase(url, "things", scripts=SCRIPTS)
    with database.connect() as connection:
        found = connection.info.get_parameters()
    database.close()
    return {name: text for name, text in found.items() if name.startswith(("keepalives_", "tcp_"))}


class Away:
    """An object store that does not answer."""

    def list(self, prefix: str) -> list[Found]:
        raise StorageFailing(f"{prefix} can't be listed")

    def remove(self, *names: str) -> None:
        raise StorageFailing("nothing can be removed")


def test_a_run_whose_objects_can_not_be_removed_is_there_as_before(url: str) -> None:
    journals = PostgresJournals(PostgresDatabase(url, "journals", scripts=schema.JOURNALS), cast("Bucket", Away()))
    journals.accept_all([Part(run="r1", kind="text", name="output.log", offset=0, data=b"hello\n")])
    with pytest.raises(StorageFailing, match=r"received/r1/ can't be listed"):
        journals.delete("r1")
    assert journals.held("r1").texts == {"output.log": 6}
    journals.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ada:secret@db/x?schema=A;DROP", "'A;DROP' is no schema"),
        ("postgresql://ada:secret@db/x?speed=9", "'postgresql://ada:…@db/x?speed=9' is no address"),
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        PostgresDatabase(url, "things", scripts=SCRIPTS)
