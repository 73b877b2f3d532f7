"""Kills whoever makes, keeps or receives versions, at random moments; then everything must be whole, and nothing left.

`python -m benchmarks.artifact_kills [ROUNDS] [--shared]` kills a client, the process that keeps and sends, and the
server; with `--shared` one of two, which have PostgreSQL and an object store in common.
"""

import contextlib
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from holter.artifacts.asks import URL, list_asks
from holter.artifacts.book import Version
from holter.artifacts.collecting import collect
from holter.artifacts.fetching import Reading
from holter.artifacts.store import Store
from holter.artifacts.uploading import is_waited_for
from holter.artifacts.versions import Versions
from holter.errors import ArtifactDamaged
from holter.server.domain.artifacts import open_artifacts
from holter.storage.objects.bucket import Bucket
from holter.storage.places import NAMES, Places, choose_places, places_in
from tests.object_store import KEYS, ObjectStore
from tests.postgres import running_postgres

CLIENT = """
import hashlib, json, os, random, struct, sys, time
from holter.artifacts.asks import Ask, stage, staged_folder, submit
from holter.artifacts.wishes import Source, Wanted
data, number, url = sys.argv[1], int(sys.argv[2]), sys.argv[3]
mine = random.Random(number)
frozen = random.Random(0).randbytes(600_000)
parts = {"frozen": frozen, "new": mine.randbytes(900_000)}
header, at = {}, 0
for name, part in parts.items():
    header[name] = {"dtype": "U8", "shape": [len(part)], "data_offsets": [at, at + len(part)]}
    at += len(part)
text = json.dumps(header).encode()
whole = struct.pack("<Q", len(text)) + text + b"".join(parts.values())
path = os.path.join(data, f"m{number}.safetensors")
with open(path, "wb") as file:
    file.write(whole)
digest = hashlib.sha256(whole).hexdigest()
about = {"run": "r", "metadata": {"sha256": digest}}
wanted = Wanted(project="p", name="model", type="model", at_ns=time.time_ns(), ask=f"a{number}", **about)
sources = stage([Source("model.safetensors", path)], staged_folder(data, wanted.ask))
submit(data, Ask(wanted=wanted, sources=tuple(sources), url=url))
print("asked", flush=True)
"""

VICTIMS = ("client", "worker", "worker", "server")


class Found(msgspec.Struct):
    """What was found when all was over."""

    rounds: int
    killed: dict[str, int] = {}
    """How often each of them was, while it was at work."""
    asked: int = 0
    versions_here: int = 0
    versions_there: int = 0
    torn: int = 0
    lost: int = 0
    orphans: int = 0

    def note(self, victim: str, was_alive: bool, /) -> None:
        """Count a kill, unless there was nobody left to be killed."""
        self.killed[victim] = self.killed.get(victim, 0) + was_alive


class Watched:
    """A place of versions: what was seen there has to stay, and to be whole at any moment."""

    def __init__(self, versions: Versions, found: Found) -> None:
        self.versions = versions
        self._found = found
        self._seen: set[str] = set()

    def look(self) -> set[str]:
        """What is there; the newest is read."""
        live = self._live()
        if live:
            self._found.torn += not is_whole(self.versions, live[-1])
        there = {version.digest for version in live}
        self._found.lost += len(self._seen - there)
        self._seen |= there
        return there

    def account(self, left: Callable[[set[str]], int]) -> None:
        """Read all of it, collect, and count what nobody names with what else is left."""
        for version in self._live():
            self._found.torn += not is_whole(self.versions, version)
        done = collect(self.versions, now_ns=time.time_ns(), grace_s=0)
        assert done.is_done, done
        assert not done.trouble, done
        manifests = [self.versions.manifest(version.digest) for version in self._live()]
        self._found.orphans += left({piece for manifest in manifests for piece, _ in manifest.pieces})

    def _live(self) -> list[Version]:
        book = self.versions.look("p", "model")
        return book.live() if book is not None else []


def kill_often(
    folder: Path, *, rounds: int, seed: int, victims: Sequence[str] = VICTIMS, shared: Places | None = None
) -> Found:
    """Do it. A server that was killed comes back on its port, which must be free then.

    Args:
        shared: where two servers keep what they are sent; left out, there is one server with a directory.
    """
    chance, found = random.Random(seed), Found(rounds)
    here = folder / "here"
    here.mkdir(parents=True)
    options = [word for name in NAMES if shared and (url := getattr(shared, name)) for word in (f"--{name}", url)]
    servers = [Server(folder / f"there{number}", options=options) for number in range(2 if shared else 1)]
    there = Watched(open_artifacts(str(servers[0].data), shared or places_in(str(servers[0].data / "index"))), found)
    near = Watched(Store(str(here)), found)
    try:
        for number in range(rounds):
            server = chance.choice(servers)
            victim = chance.choice(victims)
            command = [sys.executable, "-c", CLIENT, str(here), str(number), server.url]
            client = subprocess.Popen(command, stdout=subprocess.PIPE)
            if victim == "client":
                time.sleep(chance.uniform(0.01, 0.2))
                found.note(victim, kill(client))
            out, _ = client.communicate()
            found.asked += b"asked" in out
            worker = start_worker(here, server.url)
            time.sleep(chance.uniform(0.05, 0.7))
            if victim == "worker":
                found.note(victim, kill(worker))
            elif victim == "server":
                found.note(victim, kill(server.process))
                server.start()
                kill(worker)
            else:
                kill(worker)
            near.look()
            there.look()
        for server in servers:
            finish(here, server)
        found.versions_here, found.versions_there = len(near.look()), len(there.look())
        found.lost += max(0, found.asked - found.versions_here) + found.versions_here - found.versions_there
        near.account(lambda named: left_in(here, named))
        there.account(lambda named: left_in_bucket(shared, named) if shared else left_in(servers[0].data, named))
    finally:
        for server in servers:
            kill(server.process)
        there.versions.close()
    return found


class Server:
    """A real one on a port that stays the same over its deaths."""

    def __init__(self, data: Path, *, options: Sequence[str] = ()) -> None:
        self.data = data
        self._options = options
        self._port = 0
        self.start()

    def start(self) -> None:
        """Until it answers."""
        output = self.data.parent / f"server-{time.time_ns()}.out"
        place = ["--data", str(self.data), "--port", str(self._port)]
        command = [sys.executable, "-m", "holter", "server", *place, *self._options]
        with output.open("w") as file:
            self.process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        until = time.monotonic() + 60
        while "http://" not in (text := output.read_text()):
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError(f"the server did not start: {text}")
            time.sleep(0.05)
        self.url = re.findall(r"http://[\w.]+:\d+", text)[0]
        self._port = int(self.url.rpartition(":")[2])
        keys = re.findall(r"hk_\S+", text)
        if keys:
            os.environ["KILLS_KEY"] = keys[0]


def start_worker(data: Path, url: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, URL: url, "HOLTER_API_KEY": os.environ.get("KILLS_KEY", "")}
    return subprocess.Popen([sys.executable, "-m", "holter.artifacts", str(data)], env=environment)


def kill(process: "subprocess.Popen[bytes]") -> bool:
    """Whether it was still alive."""
    was_alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return was_alive


def is_whole(versions: Versions, version: Version) -> bool:
    manifest = versions.manifest(version.digest)
    reading, digest = Reading(manifest, versions.read), hashlib.sha256()
    try:
        for entry in manifest.entries:
            for part in reading.parts(entry):
                digest.update(part)
    except ArtifactDamaged:
        return False
    return str(version.metadata["sha256"]) == digest.hexdigest()


def finish(data: Path, server: Server) -> None:
    """Let it come to an end, undisturbed."""
    until = time.monotonic() + 300
    while list_asks(str(data)) or is_waited_for(str(data), server.url):
        if time.monotonic() > until:
            raise RuntimeError("it does not come to an end")
        worker = start_worker(data, server.url)
        while (list_asks(str(data)) or is_waited_for(str(data), server.url)) and worker.poll() is None:
            time.sleep(0.1)
        kill(worker)


def left_in(data: Path, named: set[str]) -> int:
    """What is in a data directory without a version that needs it."""
    store = Store(str(data))
    count = len({digest for digest, _ in store.pieces.all()} - named)
    for place in ("staging", "asks", "uploads"):
        folder = os.path.join(store.root, place)
        names = os.listdir(folder) if os.path.isdir(folder) else []
        count += len([name for name in names if name not in (".worker", ".uploader")])
    return count


def left_in_bucket(places: Places, named: set[str]) -> int:
    """Objects that no version needs, or that are there twice."""
    return len(Bucket(places.blobs).list("pieces/")) - len(named)


@contextlib.contextmanager
def shared_places() -> Iterator[Places]:
    """A real PostgreSQL and a real object store, for as long as it is open."""
    with contextlib.closing(ObjectStore()) as bucket, running_postgres() as postgres:
        os.environ |= KEYS
        url = postgres.new_place()
        yield choose_places({"runs": url, "journals": url, "blobs": bucket.new_place()}, "")


def main() -> None:
    """Print what was found."""
    rounds = next((int(word) for word in sys.argv[1:] if word.isdecimal()), 200)
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(dir=os.environ.get("KILLS_IN"))))
        shared = opened.enter_context(shared_places()) if "--shared" in sys.argv else None
        print(json.dumps(msgspec.to_builtins(kill_often(folder, rounds=rounds, seed=7, shared=shared))))


if __name__ == "__main__":
    main()
