"""Versions are whole or absent, kept once, and given back bit for bit."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.artifacts.book import TRASH_NS, Alias, Book, Keep, Version
from holter.artifacts.collecting import collect
from holter.artifacts.fetching import differences, download
from holter.artifacts.manifest import Entry, Manifest, Span, decode, encode
from holter.artifacts.sealing import seal
from holter.artifacts.splitting import LARGEST_BYTES, parts_of
from holter.artifacts.store import Store
from holter.artifacts.wholeness import judge
from holter.artifacts.wishes import Source, Wanted, state_of
from holter.errors import AliasMoved, ArtifactDamaged, NoArtifact, NotSealed, UsageError
from tests.artifacts.files import keep, noise, sources, write_safetensors, write_torch_zip

MB = 1 << 20


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "data"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    (made / "sub").mkdir(parents=True)
    (made / "weights.bin").write_bytes(noise(1, 300_000))
    (made / "config.json").write_text('{"width": 64}')
    (made / "sub" / "empty").touch()
    return made


def held(store: Store) -> int:
    return sum(os.stat(path).st_size for _, path in store.pieces.all())


def test_files_come_back_bit_for_bit(store: Store, folder: Path, tmp_path: Path) -> None:
    write_safetensors(folder / "model.safetensors", {"a": noise(2, 100_000), "b": noise(3, 10), "c": noise(4, 200_000)})
    write_torch_zip(folder / "state.pt", {"0": noise(5, 100_000), "1": noise(6, 70_000)})
    keep(store, folder)

    manifest = store.manifest(store.book("p", "model").find("latest").digest)
    download(manifest, store.pieces.read, str(tmp_path / "there"))

    for source in sources(folder):
        assert (tmp_path / "there" / source.path).read_bytes() == Path(source.at).read_bytes()
    assert differences(manifest, str(tmp_path / "there")) == []


@given(st.binary(max_size=400), st.integers(0, 120), st.booleans())
def test_whatever_a_file_says_of_itself_its_parts_are_the_file(data: bytes, size: int, is_zip: bool) -> None:
    from io import BytesIO

    begin = b"PK\x03\x04" if is_zip else size.to_bytes(8, "little") + b"{"
    whole = begin + data + bytes(70_000)
    assert sum(parts_of(BytesIO(whole), len(whole))) == len(whole)
    assert parts_of(BytesIO(b""), 2 * LARGEST_BYTES + 5) == [LARGEST_BYTES, LARGEST_BYTES, 5]


def test_ranks_that_download_a_version_at_one_moment_all_get_it(store: Store, folder: Path, tmp_path: Path) -> None:
    keep(store, folder)
    manifest = store.manifest(store.book("p", "model").find("latest").digest)
    ranks, there = 3, str(tmp_path / "there")
    all_have_begun = threading.Barrier(ranks)

    def fetch(rank: int) -> None:
        has_begun = False

        def read(digest: str) -> bytes:
            nonlocal has_begun
            if not has_begun:
                all_have_begun.wait(60)
            has_begun = True
            return store.pieces.read(digest)

        download(manifest, read, there)
        assert differences(manifest, there) == []

    with ThreadPoolExecutor(ranks) as pool:
        list(pool.map(fetch, range(ranks)))
    assert sorted(os.listdir(tmp_path)) == ["data", "files", "there"]


def test_the_same_content_is_the_same_version(store: Store, folder: Path) -> None:
    assert [keep(store, folder, at_ns=1), keep(store, folder, at_ns=2)] == ["v0", "v0"]
    (folder / "config.json").write_text("{}")
    assert keep(store, folder, at_ns=3) == "v1"


@pytest.mark.parametrize("write", [write_safetensors, write_torch_zip])
def test_what_is_frozen_is_kept_once(store: Store, tmp_path: Path, write: object) -> None:
    (folder := tmp_path / "f").mkdir()
    for step in range(10):
        tensors = {f"frozen{i}": noise(i, 200_000) for i in range(8)} | {
            f"trained{i}": noise(100 + 2 * step + i, 200_000) for i in range(2)
        }
        write(folder / "model", tensors)  # type: ignore[operator]  # one of the two above
        keep(store, folder, at_ns=step)
    assert held(store) < 0.3 * 10 * 2_000_000


def test_what_gets_smaller_is_compressed_and_what_does_not_is_left_alone(store: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "f").mkdir()
    (folder / "words.txt").write_bytes(b"the same words again " * 50_000)
    (folder / "noise.bin").write_bytes(noise(1, 1_000_000))
    keep(store, folder)
    names = {os.path.basename(path): os.stat(path).st_size for _, path in store.pieces.all()}
    assert [size for name, size in names.items() if not name.endswith(".zst")] == [1_000_000]
    assert sum(size for name, size in names.items() if name.endswith(".zst")) < 10_000


def test_small_files_share_pieces_and_unchanged_ones_are_not_kept_again(store: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "many").mkdir()
    for number in range(300):
        (folder / f"{number}.txt").write_bytes(noise(number, 1000))
    keep(store, folder, at_ns=1)
    before = held(store)
    assert len(list(store.pieces.all())) == 1
    (folder / "7.txt").write_text("changed")
    keep(store, folder, at_ns=2)
    assert held(store) - before < 100


def test_a_file_that_changed_since_it_was_named_makes_no_version(store: Store, folder: Path) -> None:
    named = [Source("w", str(folder / "weights.bin"), state_of(os.stat(folder / "weights.bin")))]
    (folder / "weights.bin").write_bytes(noise(9, 300_001))
    wanted = Wanted(project="p", name="model", type="model", at_ns=1, ask="a")
    with pytest.raises(NotSealed, match="w changed while it was kept"):
        seal(store, named, wanted)
    store.miss(wanted, "w changed")
    assert store.book("p", "model").live() == []
    assert [absent.why for absent in store.book("p", "model").absent] == ["w changed"]
    collect(store, now_ns=0, grace_s=0)
    assert list(store.pieces.all()) == []


@pytest.mark.parametrize("name", ["../out", "/abs", "a//b", "", ".", "a\\b"])
def test_a_name_that_leaves_the_folder_is_refused(store: Store, folder: Path, name: str) -> None:
    with pytest.raises(NotSealed, match="can't be the name"):
        seal(store, [Source(name, str(folder / "config.json"))], Wanted(project="p", name="m", type="t", at_ns=1))
    bad = Manifest(entries=(Entry(name, 0, "sha256:0"),))
    from holter.artifacts.manifest import content_digest

    with pytest.raises(ArtifactDamaged, match="can't be the name"):
        decode(encode(bad), content_digest(bad.entries))


def test_a_manifest_that_names_bytes_outside_of_a_piece_is_refused() -> None:
    from holter.artifacts.manifest import content_digest

    bad = Manifest(entries=(Entry("a", 5, "sha256:0", (Span(0, 8, 5),)),), pieces=(("0" * 64, 10),))
    with pytest.raises(ArtifactDamaged, match="outside of its piece"):
        decode(encode(bad), content_digest(bad.entries))


def test_a_piece_that_the_disk_changed_is_never_given_out(store: Store, folder: Path, tmp_path: Path) -> None:
    keep(store, folder)
    digest, path = max(store.pieces.all(), key=lambda found: os.stat(found[1]).st_size)
    Path(path).write_bytes(b"\0" * os.stat(path).st_size)
    with pytest.raises(ArtifactDamaged, match=f"the piece {digest[:12]}"):
        download(store.manifest(store.book("p", "model").find("v0").digest), store.pieces.read, str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_an_older_call_that_is_sealed_later_does_not_take_the_alias(store: Store, folder: Path) -> None:
    keep(store, folder, at_ns=20, aliases=("best",))
    (folder / "config.json").write_text("older")
    assert keep(store, folder, at_ns=10, aliases=("best",)) == "v1"
    book = store.book("p", "model")
    assert (book.find("latest").name, book.find("best").name) == ("v0", "v0")


def test_of_two_who_move_an_alias_one_wins_and_the_other_is_told(store: Store, folder: Path) -> None:
    for at_ns in (1, 2, 3):
        (folder / "config.json").write_text(str(at_ns))
        keep(store, folder, at_ns=at_ns)
    told: list[int | None] = []

    def move(number: int) -> None:
        try:
            with store.change("p", "model") as book:
                book.move("production", number, expected=None, at_ns=9)
        except AliasMoved as moved:
            told.append(moved.have)

    threads = [threading.Thread(target=move, args=(number,)) for number in (0, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [store.book("p", "model").find("production").number] * 2


def test_a_deleted_version_can_come_back_for_seven_days_and_its_number_never_means_another(
    store: Store, folder: Path
) -> None:
    keep(store, folder, at_ns=1)
    with store.change("p", "model") as book:
        book.trash(0, at_ns=5)
    collect(store, now_ns=5 + TRASH_NS - 1, grace_s=0)
    with store.change("p", "model") as book:
        book.restore(0)
    assert held(store) > 300_000
    assert store.book("p", "model").find("latest").name == "v0"
    with store.change("p", "model") as book:
        book.trash(0, at_ns=5)
    collect(store, now_ns=5 + TRASH_NS, grace_s=0)
    assert held(store) == 0
    assert list(store.manifests()) == []
    assert keep(store, folder, at_ns=2) == "v1"


def test_a_protected_version_is_not_deleted(store: Store, folder: Path) -> None:
    keep(store, folder, at_ns=1, aliases=("production",))
    book = store.book("p", "model")
    book.protected.append("production")
    with pytest.raises(UsageError, match="protected alias 'production'"):
        book.trash(0, at_ns=2)
    assert [version.name for version in store.book("p", "model").live()] == ["v0"]


def test_retention_keeps_the_last_and_the_best_and_whatever_has_an_alias(store: Store, folder: Path) -> None:
    for step, loss in enumerate([5.0, 1.0, float("nan"), 3.0, 4.0, 2.0]):
        (folder / "config.json").write_text(str(step))
        aliases = ("mine",) if step == 0 else ()
        rule = Keep(last=2, best="loss")
        keep(store, folder, at_ns=step, metadata={"loss": loss}, keep=rule, aliases=aliases)
    book = store.book("p", "model")
    assert [version.name for version in book.live()] == ["v0", "v1", "v4", "v5"]
    assert book.find("best").name == "v1"


def test_a_version_expires_unless_it_has_a_name(store: Store, folder: Path) -> None:
    keep(store, folder, at_ns=1, ttl_s=1.0)
    (folder / "config.json").write_text("2")
    keep(store, folder, at_ns=2, ttl_s=1.0, aliases=("kept",))
    collect(store, now_ns=10 * 10**9)
    assert [version.name for version in store.book("p", "model").live()] == ["v1"]


def test_what_a_writer_adds_meanwhile_is_not_collected(store: Store, folder: Path) -> None:
    stop, failures = threading.Event(), list[str]()

    def collect_all_the_time() -> None:
        while not stop.is_set():
            failures.extend(filter(None, [collect(store, now_ns=time.time_ns(), grace_s=0).trouble]))

    collector = threading.Thread(target=collect_all_the_time)
    collector.start()
    try:
        for step in range(30):
            (folder / "weights.bin").write_bytes(noise(step % 3, 100_000))
            (folder / "config.json").write_text(str(step))
            name = keep(store, folder, at_ns=step, keep=Keep(last=2))
            manifest = store.manifest(store.book("p", "model").find(name).digest)
            assert all(store.pieces.find(piece) for piece, _ in manifest.pieces)
    finally:
        stop.set()
        collector.join()
    assert failures == []


def test_a_name_belongs_to_one_type(store: Store, folder: Path) -> None:
    keep(store, folder)
    with pytest.raises(UsageError, match="is of type 'model', not 'dataset'"):
        seal(store, sources(folder), Wanted(project="p", name="model", type="dataset", at_ns=2))


def test_what_is_not_there_is_said_with_what_is() -> None:
    book = Book(project="p", name="m", versions=[Version(0, "0" * 64, 1, 1, 1)], aliases={"latest": Alias(0, 1)})
    with pytest.raises(NoArtifact, match="there are latest, v0"):
        book.find("best")


def test_what_is_kept_again_lives_as_long_as_the_last_one_wants(store: Store, folder: Path) -> None:
    keep(store, folder, at_ns=1, ttl_s=1.0)
    keep(store, folder, at_ns=2, ttl_s=100.0)
    collect(store, now_ns=10 * 10**9)
    assert [version.name for version in store.book("p", "model").live()] == ["v0"]
    collect(store, now_ns=200 * 10**9)
    assert store.book("p", "model").live() == []
    keep(store, folder, at_ns=3)
    collect(store, now_ns=2 * TRASH_NS)
    assert [version.name for version in store.book("p", "model").live()] == ["v0"]


def test_an_expired_version_that_is_brought_back_stays(store: Store, folder: Path) -> None:
    keep(store, folder, at_ns=1, ttl_s=1.0)
    collect(store, now_ns=10 * 10**9)
    with store.change("p", "model") as book:
        book.restore(0)
    collect(store, now_ns=2 * TRASH_NS)
    assert [version.name for version in store.book("p", "model").live()] == ["v0"]


def test_a_protected_latest_keeps_no_other_from_being_collected(store: Store, folder: Path) -> None:
    keep(store, folder, at_ns=1, ttl_s=1.0)
    with store.change("p", "model") as book:
        book.protected.append("latest")
    assert collect(store, now_ns=10 * 10**9).trouble == ""
    assert [version.name for version in store.book("p", "model").live()] == ["v0"]


def test_a_damaged_book_is_said_and_nothing_goes(store: Store, folder: Path) -> None:
    keep(store, folder)
    [path] = Path(store.root, "books").rglob("*.json")
    path.write_text("{")
    assert "can't be read" in collect(store, now_ns=2 * TRASH_NS, grace_s=0).trouble
    assert held(store) > 300_000


@pytest.mark.parametrize(
    "header",
    [b'{"a":' + b"[" * 100_000, b'{"a": {"data_offsets": [0, 1e999]}}', b'{"a": {"data_offsets": [0]}}'],
)
def test_a_header_that_is_odd_is_bytes_as_any_others(header: bytes, tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(70_000))
    size = (tmp_path / "m.safetensors").stat().st_size
    with open(tmp_path / "m.safetensors", "rb") as file:
        assert parts_of(file, size) == [size]
    assert judge(str(tmp_path / "m.safetensors")).trouble
