"""Artifacts on one machine, and on the rows and objects that several servers share: the same suite for both."""

import contextlib
import functools
import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holter.artifacts import versions
from holter.artifacts.book import TRASH_NS, Keep
from holter.artifacts.collecting import collect
from holter.artifacts.fetching import Reading
from holter.artifacts.manifest import Entry, Manifest, Span, decode
from holter.artifacts.moving import move
from holter.artifacts.packing import pack
from holter.artifacts.shelf import Stored
from holter.artifacts.store import Store
from holter.artifacts.versions import Versions
from holter.artifacts.wishes import Wanted
from holter.errors import AliasMoved, ArtifactDamaged, NoArtifact, PiecesMissing, StorageFailing, UsageError
from holter.server.domain.housekeeping import Housekeeper
from holter.server.domain.services import ServerSettings, Services
from holter.storage.objects.bucket import Bucket
from holter.storage.opening import open_shelf
from holter.storage.places import Places
from holter.storage.postgres.artifacts import PostgresShelf
from tests.artifacts.files import noise
from tests.e2e.programs import wait_until
from tests.object_store import KEYS, ObjectStore
from tests.postgres import PostgresServer, running_postgres

Open = Callable[[], Versions]


@pytest.fixture(scope="module")
def bucket() -> Iterator[ObjectStore]:
    found = ObjectStore()
    yield found
    found.close()


@pytest.fixture(scope="module")
def postgres(bucket: ObjectStore) -> Iterator[PostgresServer]:
    with running_postgres() as found:  # while the other one comes up
        yield found


@pytest.fixture
def places(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Places:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    postgres, bucket = (request.getfixturevalue(name) for name in ("postgres", "bucket"))
    return msgspec.structs.replace(Places.at(postgres.new_place()), blobs=bucket.new_place())


@pytest.fixture(params=["directory", "postgresql+s3"])
def open_versions(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same place each time, as another server does."""
    if request.param == "directory":
        yield functools.partial(Store, str(tmp_path / "data"))
        return
    found, opened = request.getfixturevalue("places"), list[PostgresShelf]()

    def open_shared() -> Versions:
        shelf = open_shelf(found)
        assert shelf is not None
        opened.append(shelf)
        return Versions(shelf)

    yield open_shared
    for each in opened:
        each.close()


@pytest.fixture
def one(open_versions: Open) -> Versions:
    return open_versions()


@pytest.fixture
def two(open_versions: Open) -> Versions:
    return open_versions()


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def made_of(files: dict[str, bytes]) -> tuple[Manifest, list[Stored]]:
    """A manifest with a piece for each file, every other one compressed."""
    entries = tuple(
        Entry(path, len(data), f"sha256:{digest_of(data)}", (Span(place, 0, len(data)),))
        for place, (path, data) in enumerate(files.items())
    )
    pieces = [(digest_of(data), pack(data) if place % 2 else data, bool(place % 2)) for place, data in _numbered(files)]
    return Manifest(entries=entries, pieces=tuple((digest_of(data), len(data)) for data in files.values())), pieces


def _numbered(files: dict[str, bytes]) -> list[tuple[int, bytes]]:
    return list(enumerate(files.values()))


def keep(versions: Versions, files: dict[str, bytes], name: str = "model", **wanted: Any) -> str:
    """As a sender does it: the pieces, then the version; again where pieces went meanwhile."""
    manifest, pieces = made_of(files)
    asked = Wanted(project="p", name=name, type="model", **{"at_ns": 1, **wanted})
    while True:
        lacking = set(versions.shelf.lacking([digest for digest, _, _ in pieces]))
        with contextlib.suppress(PiecesMissing, StorageFailing):
            versions.add([piece for piece in pieces if piece[0] in lacking])
            return versions.publish(manifest, asked).name


def contents(versions: Versions, alias: str = "latest", name: str = "model") -> dict[str, bytes]:
    manifest = versions.manifest(versions.book("p", name).find(alias).digest)
    reading = Reading(manifest, versions.read)
    return {entry.path: b"".join(map(bytes, reading.parts(entry))) for entry in manifest.entries}


WANTED = [Wanted(project="p", name=f"other{number}", type="model", at_ns=1) for number in range(24)]
FILES = {"a.bin": noise(1, 5000), "b.txt": b"hello " * 1000}


def test_what_one_server_was_sent_another_has_whole(one: Versions, two: Versions) -> None:
    assert keep(one, FILES, metadata={"acc": 0.5}, aliases=("best",)) == "v0"
    assert contents(two) == contents(two, "best") == FILES
    assert keep(two, {**FILES, "c": b"c"}, at_ns=2) == "v1"
    assert [version.name for version in one.book("p", "model").live()] == ["v0", "v1"]
    assert one.book("p", "model").find("best").metadata == {"acc": 0.5}
    assert keep(two, FILES, at_ns=3) == "v0"
    assert [book.name for book in one.all_books("p")] == [book.name for book in one.all_books()] == ["model"]
    assert one.all_books("other") == []
    assert one.look("p", "other") is None
    assert one.projects_with("model") == ["p"]
    assert two.shelf.stored_bytes([digest_of(FILES["a.bin"])]) == 5000


def test_there_is_no_version_before_all_of_its_pieces_are_there(one: Versions, two: Versions) -> None:
    manifest, pieces = made_of(FILES)
    one.add(pieces[:1])
    with pytest.raises(PiecesMissing) as missing:
        two.publish(manifest, Wanted(project="p", name="model", type="model", at_ns=1))
    assert missing.value.missing == [pieces[1][0]]
    assert two.look("p", "model") is None
    assert two.shelf.lacking([digest for digest, _, _ in pieces]) == [pieces[1][0]]
    two.add(pieces)
    one.publish(manifest, Wanted(project="p", name="model", type="model", at_ns=1))
    assert contents(two) == FILES


def test_who_looks_at_file_after_file_waits_for_the_list_of_files_once(
    one: Versions, two: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(one, FILES)
    decoded: list[str] = []

    def counted(data: bytes, digest: str) -> Manifest:
        decoded.append(digest)
        return decode(data, digest)

    monkeypatch.setattr(versions, "decode", counted)
    assert [contents(one) for _ in range(3)] == [FILES] * 3
    assert len(decoded) == 1
    with one.change("p", "model") as book:
        book.trash(0, at_ns=1)
    collect(two, now_ns=2 * TRASH_NS, grace_s=0)
    with pytest.raises(ArtifactDamaged, match="is missing"):
        one.manifest(decoded[0])


def test_pieces_that_are_not_what_they_are_called_are_not_kept(one: Versions) -> None:
    good = (digest_of(b"x"), b"x", False)
    for bad in [(digest_of(b"y"), b"z", False), (digest_of(b"y"), b"no zstd", True)]:
        with pytest.raises(ArtifactDamaged):
            one.add([good, bad])
    assert one.shelf.lacking([good[0], digest_of(b"y")]) == [good[0], digest_of(b"y")]
    with pytest.raises(UsageError, match="no digest"):
        one.add([("../../x", b"x", False)])
    with pytest.raises(ArtifactDamaged, match="is missing"):
        one.read(good[0])
    with pytest.raises(ArtifactDamaged, match="is missing"):
        one.manifest(digest_of(b"nobody"))


def move_both(versions: Versions) -> None:
    with versions.change("p", "model") as book:
        book.move("best", 0, at_ns=1)
        book.move("other", 7, at_ns=1)


def test_a_change_that_raises_changes_nothing(one: Versions, two: Versions) -> None:
    keep(one, FILES)
    with pytest.raises(NoArtifact):
        move_both(one)
    assert set(two.book("p", "model").aliases) == {"latest"}
    with pytest.raises(NoArtifact), one.change("p", "nobody"):
        pass
    assert two.look("p", "nobody") is None
    with pytest.raises(UsageError, match="of type"):
        one.publish(made_of(FILES)[0], Wanted(project="p", name="model", type="dataset", at_ns=1))


def test_of_two_who_move_an_alias_one_wins_and_the_other_is_told(one: Versions, two: Versions) -> None:
    writers, rounds = 6, 8
    for number in range(rounds + 1):
        keep(one, {"f": str(number).encode()}, at_ns=number + 1)

    def move(number: int, expected: int | None, versions: Versions) -> bool:
        try:
            with versions.change("p", "model") as book:
                book.move("best", number, expected=expected, at_ns=1)
        except AliasMoved:
            return False
        return True

    with ThreadPoolExecutor(writers) as pool:
        for each in range(rounds):
            before = each - 1 if each else None
            won = list(pool.map(functools.partial(move, each, before), [one, two] * (writers // 2)))
            assert won.count(True) == 1
            assert one.book("p", "model").find("best").number == two.book("p", "model").find("best").number == each


def test_versions_of_many_senders_all_are_there(one: Versions, two: Versions) -> None:
    same = {"frozen": noise(0, 3000)}

    def send(number: int) -> str:
        return keep((one, two)[number % 2], {**same, "own": str(number).encode()}, at_ns=number + 1)

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(send, range(24)))
    assert sorted(made, key=lambda name: int(name[1:])) == [f"v{number}" for number in range(24)]
    assert {contents(two, name)["own"] for name in made} == {str(number).encode() for number in range(24)}
    assert one.book("p", "model").find("latest").made_ns == 24


def test_what_nobody_names_goes_and_what_somebody_names_stays(one: Versions, two: Versions) -> None:
    keep(one, {**FILES, "old": b"old" * 500})
    keep(one, FILES, at_ns=2)
    left = made_of({"left": b"left over"})[1]
    one.add(left)
    with two.change("p", "model") as book:
        book.trash(0, at_ns=1)
    assert collect(two, now_ns=TRASH_NS).pieces == 0  # of what was added in the last hour, too
    assert collect(two, now_ns=TRASH_NS // 2, grace_s=0).pieces == 1
    with one.change("p", "model") as book:
        book.restore(0)
        book.trash(0, at_ns=1)
    done = collect(two, now_ns=TRASH_NS + 2, grace_s=0)
    assert (done.versions, done.pieces, done.is_done) == (1, 2, True)
    assert one.shelf.lacking([digest_of(b"old" * 500), left[0][0]]) == [digest_of(b"old" * 500), left[0][0]]
    assert contents(one) == FILES
    assert keep(one, {**FILES, "old": b"old" * 500}, at_ns=3) == "v2"
    assert contents(two)["old"] == b"old" * 500


def test_a_rule_takes_versions_away_on_any_server(one: Versions, two: Versions) -> None:
    rule = Keep(last=2, best="loss")
    for number, loss in enumerate([0.3, 0.1, 0.2, 0.4, 0.5]):
        versions = (one, two)[number % 2]
        keep(versions, {"f": str(number).encode()}, at_ns=number + 1, metadata={"loss": loss}, keep=rule)
    assert [version.name for version in one.book("p", "model").live()] == ["v1", "v3", "v4"]
    assert one.book("p", "model").find("best").name == "v1"


def test_a_collector_beside_senders_takes_nothing_that_is_named(one: Versions, open_versions: Open) -> None:
    other, is_over = open_versions(), threading.Event()
    troubles: list[str] = []

    def collect_on_and_on() -> None:
        while not is_over.is_set():
            troubles.append(collect(other, now_ns=1 << 62, grace_s=0.02).trouble)

    collector = threading.Thread(target=collect_on_and_on)
    collector.start()
    try:
        for number in range(25):  # the same pieces come and go
            keep(one, {"same": b"same" * 100, "other": b"other"}, at_ns=number + 1)
            assert contents(one) == {"same": b"same" * 100, "other": b"other"}
            with one.change("p", "model") as book:
                book.trash(book.find("latest").number, at_ns=1)
        keep(one, FILES, at_ns=100)
    finally:
        is_over.set()
        collector.join()
    assert contents(other) == FILES
    assert {*troubles} == {""}


@pytest.fixture
def shared(places: Places) -> Iterator[tuple[Versions, Bucket]]:
    shelf = open_shelf(places)
    assert shelf is not None
    yield Versions(shelf), Bucket(places.blobs)
    shelf.close()


def test_no_object_of_postgres_is_forgotten_whoever_fails_when(
    shared: tuple[Versions, Bucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions, bucket = shared
    put = Bucket.put

    def die_at_second(self: Bucket, name: str, data: bytes) -> None:
        put(self, name, data)
        if digest_of(FILES["b.txt"]) in name:
            raise StorageFailing("the server is gone")

    def die(self: Bucket, *names: str) -> None:
        raise StorageFailing("the server is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Bucket, "put", die_at_second)
        with pytest.raises(StorageFailing):
            versions.add(made_of(FILES)[1])
    assert len(bucket.list("pieces/")) == 2
    assert collect(versions, now_ns=1).is_done
    assert len(bucket.list("pieces/")) == 2  # whoever is at it has an hour
    collect(versions, now_ns=1, grace_s=0)
    assert bucket.list("pieces/") == []
    versions.add(made_of(FILES)[1])
    with monkeypatch.context() as patched:
        patched.setattr(Bucket, "remove", die)
        with pytest.raises(StorageFailing):
            collect(versions, now_ns=1, grace_s=0)
    assert len(bucket.list("pieces/")) == 2
    keep(versions, {"a.bin": FILES["a.bin"]})
    collect(versions, now_ns=1)  # what was to be removed is, and nobody waits an hour for it
    assert [each.size for each in bucket.list("pieces/")] == [5000]
    assert contents(versions) == {"a.bin": FILES["a.bin"]}


def test_two_servers_with_postgres_that_keep_the_same_piece_keep_it_once(
    shared: tuple[Versions, Bucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions, bucket = shared
    pieces, put = made_of(FILES)[1], Bucket.put

    def after_somebody_else(self: Bucket, name: str, data: bytes) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Bucket, "put", put)
            versions.add(pieces)
        put(self, name, data)

    with monkeypatch.context() as patched:
        patched.setattr(Bucket, "put", after_somebody_else)
        versions.add(pieces[:1])
    assert len(bucket.list("pieces/")) == 3
    keep(versions, FILES)
    collect(versions, now_ns=1)
    assert len(bucket.list("pieces/")) == 2
    assert contents(versions) == FILES


def test_pieces_in_an_object_store_that_were_collected_while_postgres_waited_are_refused(
    shared: tuple[Versions, Bucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions, bucket = shared
    put = Bucket.put

    def slow(self: Bucket, name: str, data: bytes) -> None:
        put(self, name, data)
        collect(versions, now_ns=1, grace_s=0)  # as if hours went by

    with monkeypatch.context() as patched:
        patched.setattr(Bucket, "put", slow)
        with pytest.raises(StorageFailing, match="send them again"):
            versions.add(made_of(FILES)[1][:1])
    assert versions.shelf.lacking([digest_of(FILES["a.bin"])]) == [digest_of(FILES["a.bin"])]
    assert bucket.list("pieces/") == []


def test_what_was_kept_before_is_moved_to_postgres_once_also_by_several_servers(
    shared: tuple[Versions, Bucket], tmp_path: Path
) -> None:
    versions, bucket = shared
    near, other = Store(str(tmp_path / "one")), Store(str(tmp_path / "two"))
    keep(near, {"old": b"old"})
    keep(near, FILES, at_ns=2, aliases=("best",))
    keep(near, FILES, "data", at_ns=3)
    with near.change("p", "model") as book:
        book.trash(0, at_ns=4)
        book.protected.append("best")
    keep(other, {**FILES, "more": b"more"}, at_ns=5)
    before = near.book("p", "model")
    assert move(near, versions, now_ns=9) == 2
    assert versions.book("p", "model") == before
    assert (near.all_books(), list(near.pieces.all()), move(near, versions, now_ns=9)) == ([], [], 0)
    assert move(other, versions, now_ns=9) == 1
    assert contents(versions)["more"] == b"more"
    assert contents(versions, "best") == contents(versions, "v1") == contents(versions, name="data") == FILES
    assert len(bucket.list("pieces/")) == 4
    with versions.change("p", "model") as book:
        book.restore(0)
    assert contents(versions, "v0") == {"old": b"old"}


def test_a_server_with_postgres_moves_what_its_directory_has(places: Places, tmp_path: Path) -> None:
    keep(Store(str(tmp_path)), FILES)
    services = Services(ServerSettings(data=str(tmp_path), kind="server", places=places), {})
    try:
        Housekeeper(services).sweep()
        assert contents(services.artifacts) == FILES
        assert Store(str(tmp_path)).all_books() == []
    finally:
        services.close()


def test_a_collector_of_postgres_needs_no_connection_that_those_have_who_wait_for_it(
    shared: tuple[Versions, Bucket],
) -> None:
    versions, _ = shared
    keep(versions, FILES)
    assert isinstance(versions.shelf, PostgresShelf)
    pool = versions.shelf._database._pool
    with ThreadPoolExecutor(24) as senders:
        with versions.shelf.alone() as remove:
            sent = [senders.submit(versions.miss, wanted, "why") for wanted in WANTED]
            wait_until(lambda: pool.get_stats().get("requests_waiting", 0) > 0)
            named = {version.digest for book in versions.all_books() for version in book.versions}
            assert len(versions.manifest(min(named)).entries) == 2
            remove(named, 3600.0)
        assert [each.result() for each in sent] == [None] * len(WANTED)
    assert contents(versions) == FILES
