"""Versions reach a server whole, once, and an interrupted upload goes on where it stopped."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holter
from holter.artifacts import uploading
from holter.artifacts.collecting import collect
from holter.artifacts.fetching import download
from holter.artifacts.store import Store
from holter.artifacts.uploading import Uploader, Waiting, enqueue, list_waiting, read_frames, upload_all
from holter.artifacts.wishes import Wanted
from holter.errors import Refused, Unreachable, UsageError
from holter.server.domain.services import ServerSettings, Services
from holter.storage.places import Places
from holter.wire.connection import Answer
from tests.artifacts.files import keep, noise, write_safetensors
from tests.e2e.programs import wait_until
from tests.e2e.servers import holter as command
from tests.e2e.servers import team_server
from tests.unit.server.asking import Asking

URL = "http://there"


class Far:
    """A server in this process; `calls` counts requests, and the one after `dies_after` finds nobody."""

    def __init__(self, data: Path) -> None:
        self.services = Services(ServerSettings(data=str(data), kind="server", places=Places.at("memory:")), {})
        self.key = self.services.access.keys.add("ada", "write", now=1.0)[1]
        self.reader = self.services.access.keys.add("rita", "read", now=1.0)[1]
        self.asking = Asking(self.services)
        self.store = Store(str(data))
        self.calls: list[str] = []
        self.dies_after = 1 << 30
        self.bytes = 0

    def ask(self, method: str, path: str, *, key: str = "", **sent: Any) -> Answer:
        if len(self.calls) >= self.dies_after:
            raise Unreachable("nobody answers")
        self.calls.append(path)
        self.bytes += len(sent.get("data", b""))
        answer = self.asking.ask(
            method,
            path,
            key=key or self.key,
            params=sent.get("query"),
            content=sent.get("data"),
            headers={"content-type": sent.get("media", "application/json")},
        )
        if answer.status_code >= 400:
            raise Refused(answer.status_code, answer.json()["error"]["what"])
        return Answer(answer.status_code, answer.content)

    def close(self) -> None:
        self.asking.__exit__(None, None, None)
        self.services.close()


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Far]:
    found = Far(tmp_path / "far")
    yield found
    found.close()


@pytest.fixture
def here(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "here"))


def waiting(number: int = 0) -> Waiting:
    wanted = Wanted(project="p", name="model", type="model", at_ns=number + 1, ask=f"a{number}", run="r")
    return Waiting(url=URL, wanted=wanted, number=number)


def connect(far: Far) -> Callable[[str], Any]:
    return lambda url: far.ask if url == URL else None


def test_a_version_arrives_as_it_is_and_what_is_there_is_not_sent_again(far: Far, here: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "f").mkdir()
    for number in range(10):
        tensors = {f"frozen{i}": noise(i, 200_000) for i in range(8)}
        tensors |= {f"new{i}": noise(100 + 2 * number + i, 200_000) for i in range(2)}
        write_safetensors(folder / "m.safetensors", tensors)
        (folder / "small.txt").write_text(str(number))
        keep(here, folder, at_ns=number + 1)
        assert Uploader(here, far.ask, rate=1e12).send(waiting(number)) is not None
    book = far.store.book("p", "model")
    assert [version.name for version in book.live()] == [f"v{number}" for number in range(10)]
    download(far.store.manifest(book.find("latest").digest), far.store.pieces.read, str(tmp_path / "got"))
    assert (tmp_path / "got" / "m.safetensors").read_bytes() == (folder / "m.safetensors").read_bytes()
    assert far.bytes < 0.3 * 10 * 2_000_000


def test_an_interrupted_upload_goes_on_and_is_never_half(far: Far, here: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "f").mkdir()
    for number in range(4):
        (folder / f"{number}.bin").write_bytes(noise(number, 9 << 20))
    keep(here, folder)
    data = os.path.dirname(here.root)
    enqueue(data, waiting())
    far.dies_after = 3
    assert not upload_all(data, connect(far))
    assert far.store.look("p", "model") is None
    sent, far.dies_after = far.bytes, 1 << 30
    assert upload_all(data, connect(far))
    assert [version.name for version in far.store.book("p", "model").live()] == ["v0"]
    assert far.bytes - sent < (4 - 1) * (9 << 20)
    assert list_waiting(data) == []


class Clock:
    """Time that passes only where somebody sleeps."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_no_more_is_sent_in_a_second_than_is_allowed(
    far: Far, here: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "f").mkdir()
    for number in range(3):
        (folder / f"{number}.bin").write_bytes(noise(number, 9 << 20))
    keep(here, folder)
    monkeypatch.setattr(uploading, "time", clock := Clock())
    monkeypatch.setenv(uploading.RATE, str(1 << 20))
    enqueue(os.path.dirname(here.root), waiting())
    assert upload_all(os.path.dirname(here.root), connect(far))
    assert 27.0 <= clock.now < 28.0


def test_sync_goes_on_with_a_version_where_its_upload_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with team_server(tmp_path / "server") as served:
        monkeypatch.setenv("HOLTER_URL", served.address)
        monkeypatch.setenv("HOLTER_API_KEY", served.key)
        monkeypatch.setenv("HOLTER_MODE", "online")
        monkeypatch.setattr("holter.client.artifact_calls.start_worker", lambda data, environment: None)
        (tmp_path / "m.bin").write_bytes(noise(1, 300_000))
        with holter.init(project="p", id="r") as run:
            run.log_model(str(tmp_path / "m.bin"), "model")
        assert served.http.get("/artifact", params={"project": "p", "name": "model"}).status_code == 404
        done = command("sync", "r")
        assert done.returncode == 0, done.stderr
        assert "1 version of artifacts sent" in done.stdout
        asked = {"project": "p", "name": "model", "version": "latest", "path": "m.bin"}
        assert served.http.get("/artifact/content", params=asked).content == noise(1, 300_000)


def test_hundred_thousand_small_files_need_few_requests(far: Far, here: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "f").mkdir()
    for number in range(2_000):
        (folder / f"{number}").write_bytes(noise(number, 1000))
    keep(here, folder)
    assert Uploader(here, far.ask, rate=1e12).send(waiting()) is not None
    assert len(far.calls) == 3


def test_pieces_that_were_collected_before_the_manifest_came_are_sent_again(
    far: Far, here: Store, tmp_path: Path
) -> None:
    (folder := tmp_path / "f").mkdir()
    (folder / "a.bin").write_bytes(noise(1, 100_000))
    keep(here, folder)
    collected: list[bool] = []

    def ask(method: str, path: str, **sent: Any) -> Answer:
        if path == "/artifact/publish" and not collected:
            collected.append(True)
            collect(far.store, now_ns=0, grace_s=0)
        return far.ask(method, path, **sent)

    assert Uploader(here, ask, rate=1e12).send(waiting()) is not None
    assert [version.name for version in far.store.book("p", "model").live()] == ["v0"]


def test_who_may_not_write_is_refused_and_that_is_told_once(far: Far, here: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "f").mkdir()
    (folder / "a").write_text("a")
    keep(here, folder)
    data, told = os.path.dirname(here.root), list[str]()
    enqueue(data, waiting())

    def ask(method: str, path: str, **sent: Any) -> Answer:
        return far.ask(method, path, key=far.reader, **sent)

    assert upload_all(data, lambda url: ask, tell=lambda each, why: told.append(why))
    assert len(told) == 1
    assert list_waiting(data) == []


def test_nothing_goes_to_another_server_than_it_is_for(far: Far, here: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "f").mkdir()
    (folder / "a").write_text("a")
    keep(here, folder)
    data = os.path.dirname(here.root)
    enqueue(data, waiting())
    assert upload_all(data, lambda url: None)
    assert len(list_waiting(data)) == 1


@pytest.mark.parametrize("body", [b"x", b"\0" * 37 + b"\1" * 3, b"\0" * 32 + b"\0\xff\xff\xff\xff"])
def test_a_batch_that_ends_in_the_middle_is_refused(body: bytes) -> None:
    with pytest.raises(UsageError, match="ends in the middle"):
        list(read_frames(body[:37] + b"\1\0\0\0"[:0] if len(body) == 37 else body))


def test_a_piece_with_other_bytes_than_its_name_is_not_kept(far: Far) -> None:
    body = bytes(32) + b"\0" + (5).to_bytes(4, "little") + b"hello"
    with pytest.raises(Refused, match="are not the piece"):
        far.ask("POST", "/artifact/pieces", query={"project": "p"}, data=body, media="application/octet-stream")
    assert list(far.store.pieces.all()) == []


def test_what_a_program_logs_is_on_its_server_without_waiting_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with team_server(tmp_path / "server") as served:
        monkeypatch.setenv("HOLTER_URL", served.address)
        monkeypatch.setenv("HOLTER_API_KEY", served.key)
        monkeypatch.setenv("HOLTER_MODE", "online")
        (tmp_path / "m.bin").write_bytes(noise(1, 300_000))
        program = f"import holter; holter.init(project='p', id='r').log_model({str(tmp_path / 'm.bin')!r}, 'model')"
        subprocess.run([sys.executable, "-c", program], check=True)
        asked = {"project": "p", "name": "model", "version": "latest", "path": "m.bin"}
        wait_until(lambda: served.http.get("/artifact/content", params=asked).status_code == 200, within_s=60)
        assert served.http.get("/artifact/content", params=asked).content == noise(1, 300_000)
        found = served.get("/artifact", project="p", name="model")
        assert found["versions"][0]["made_by"]["id"] == "r"
