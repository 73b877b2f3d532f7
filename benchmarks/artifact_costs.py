"""What versions cost: the calling thread, the process behind it, the disk, the wire, and two who want one alias.

`python -m benchmarks.artifact_costs [NAME…]` measures all, or some of call, copy, frozen, small, alias and aliases;
`--small` looks whether all of it works. COSTS_IN is the folder in which it is done (ext4 as a rule; on XFS or btrfs
`call` tells of reflinks).
"""

import contextlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.artifact_kills import Server, finish, shared_places, start_worker
from holter.artifacts.asks import URL, Ask, list_asks, submit
from holter.artifacts.far import open_far
from holter.artifacts.store import Store
from holter.artifacts.uploading import RATE
from holter.artifacts.wishes import Source, Wanted, state_of
from holter.artifacts.working_off import LINGER_S
from holter.errors import Refused
from holter.wire.connection import Connection, parse_address

SMALL = "--small" in sys.argv
LARGE_BYTES = (8 << 20) if SMALL else (2 << 30)
CALL = """
import json, sys, time, holter
path, policy = sys.argv[1:3]
run = holter.init(project="p", mode="offline", settings={"silent": True})
run.log({"a": 1})
found = []
for number in range(3):
    artifact = holter.Artifact(f"large{number}", "dataset")
    began, used = time.perf_counter(), time.thread_time()
    artifact.add_file(path, policy=policy)
    run.log_artifact(artifact)
    found.append((round(1000 * (time.perf_counter() - began), 2), round(1000 * (time.thread_time() - used), 2)))
    artifact.wait()
    time.sleep(4)  # until nobody is there to take the next one
print(json.dumps(found), flush=True)
"""
WRITER = """
import sys, time
from holter.artifacts.store import Store
from holter.errors import AliasMoved
data, number, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = Store(data)
for _ in range(rounds):
    sys.stdin.readline()
    before = store.book("p", "model").aliases["best"].number
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        with store.change("p", "model") as book:
            book.move("best", number, expected=before, at_ns=time.time_ns())
        print("won", flush=True)
    except AliasMoved:
        print("told", flush=True)
"""


def main() -> None:
    """Print each figure as a line of JSON."""
    names = [name for name in sys.argv[1:] if not name.startswith("--")] or list(MEASURES)
    for name in names:
        with tempfile.TemporaryDirectory(dir=os.environ.get("COSTS_IN"), prefix="costs-") as folder:
            print(json.dumps({"measure": name, **MEASURES[name](Path(folder))}), flush=True)


def call(folder: Path) -> dict[str, Any]:
    """How long `log_artifact` keeps its caller, by policy: milliseconds of three calls, and of CPU in its thread."""
    path = folder / "large.bin"
    write_random(path, LARGE_BYTES)
    found: dict[str, Any] = {}
    for policy in ("immutable", "mutable"):
        environment = {**os.environ, "HOLTER_DIR": str(folder / policy)}
        command = [sys.executable, "-c", CALL, str(path), policy]
        out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, timeout=900)
        found[f"{policy}_ms"], found[f"{policy}_cpu_ms"] = zip(*json.loads(out.stdout), strict=True)
        shutil.rmtree(folder / policy, ignore_errors=True)  # its sidecar may be at work there
    return found


def copy(folder: Path) -> dict[str, Any]:
    """CPU of the process that keeps a file, to that of `cp` and one pass of its digest; and to these where the copy is
    brought to the disk, too, for `cp` leaves that to somebody else."""
    path, data = folder / "large.bin", folder / "data"
    write_random(path, LARGE_BYTES)
    cp = cpu_of(["cp", str(path), str(folder / "copy.bin")])
    digest = "import hashlib, sys\nwith open(sys.argv[1], 'rb') as f: hashlib.file_digest(f, 'sha256')"
    (folder / "copy.bin").unlink()
    synced = cpu_of(["dd", f"if={path}", f"of={folder / 'copy.bin'}", "bs=1M", "conv=fsync", "status=none"])
    (folder / "copy.bin").unlink()
    digested = cpu_of([sys.executable, "-c", digest, str(path)])
    by_hand = cp + digested
    status = path.stat()
    ask(data, "large", [Source("large.bin", str(path), state_of(status), bytes=status.st_size)])
    ours = cpu_of([sys.executable, "-m", "holter.artifacts", str(data)])
    assert not list_asks(str(data))
    return {
        "by_hand_cpu_s": round(by_hand, 2),
        "ours_cpu_s": round(ours, 2),
        "ratio": round(ours / by_hand, 2),
        "synced_ratio": round(ours / (synced + digested), 2),
    }


def frozen(folder: Path) -> dict[str, Any]:
    """Ten checkpoints of which four fifths stay the same: kept here, sent, and kept on the server, to their sum."""
    size, data = (2 << 20) if SMALL else (500 << 20), folder / "data"
    server = Server(folder / "there")
    base = random.Random(0)
    still = [base.randbytes(size // 20) for _ in range(16)]
    total = 0
    try:
        for number in range(10):
            mine = random.Random(number + 1)
            path = folder / "m.safetensors"
            write_safetensors(path, [*still, *(mine.randbytes(size // 20) for _ in range(4))])
            total += path.stat().st_size
            status = path.stat()
            ask(
                data,
                "model",
                [Source("m.safetensors", str(path), state_of(status), bytes=status.st_size)],
                url=server.url,
            )
            while list_asks(str(data)):
                start_worker(data, "").wait()
        finish(data, server)
        here, there = tree_bytes(data / "artifacts" / "pieces"), tree_bytes(folder / "there" / "artifacts" / "pieces")
        versions = [len(Store(str(each)).book("p", "model").live()) for each in (data, folder / "there")]
    finally:
        server.process.kill()
        server.process.wait()
    assert versions == [10, 10], versions
    return {"kept": round(here / total, 3), "sent_and_kept_there": round(there / total, 3), "sum_mb": total >> 20}


def small(folder: Path) -> dict[str, Any]:
    """Many small files as one version: in, and out again, to `cp -r`."""
    count, chance = 500 if SMALL else 100_000, random.Random(1)
    files = folder / "files"
    for number in range(count):
        if number % 1000 == 0:
            inner = files / f"{number // 1000:03d}"
            inner.mkdir(parents=True)
        (inner / f"{number}.json").write_bytes(chance.randbytes(chance.randrange(200, 3000)))
    os.sync()
    cp = wall_of(["cp", "-r", str(files), str(folder / "copy")])
    cp = min(cp, wall_of(["cp", "-r", str(files), str(folder / "copy2")]))
    found: dict[str, Any] = {"files": count, "cp_s": round(cp[0], 1), "cp_cpu_s": round(cp[1], 1)}
    environment = {**os.environ, "HOLTER_DIR": str(folder / "data"), "HOLTER_SILENT": "1"}
    holter = [sys.executable, "-m", "holter", "artifact"]
    for name, command in (
        ("put", [*holter, "put", "p/files", str(files)]),
        ("get", [*holter, "get", "p/files", "--root", str(folder / "out")]),
    ):
        wall, cpu, rss = wall_of(command, environment)
        found |= {f"{name}_s": round(wall, 1), f"{name}_cpu_s": round(cpu, 1), f"{name}_mb": rss >> 20}
        found[f"{name}_ratio"] = round(wall / cp[0], 2)
    script = (
        "import holter, sys, resource\nrun = holter.init(project='p', mode='offline')\n"
        "a = holter.Artifact('logged', 'dataset')\na.add_dir(sys.argv[1])\nrun.log_artifact(a)\n"
    )
    wall, cpu, rss = wall_of([sys.executable, "-c", script, str(files)], environment)
    found |= {"log_s": round(wall, 1), "log_cpu_s": round(cpu, 1), "log_mb": rss >> 20}
    found |= sent(folder, files, cp[0])
    subprocess.run(["diff", "-r", str(files), str(folder / "out")], check=True, stdout=subprocess.DEVNULL)
    return found


def sent(folder: Path, files: Path, cp_s: float) -> dict[str, Any]:
    """The same to a server: how long, and the most memory of the process that keeps and sends, and of the server."""
    server, data = Server(folder / "there"), folder / "sender"
    try:
        paths = (path for path in files.rglob("*") if path.is_file())
        ask(data, "files", [Source(str(path.relative_to(files)), str(path)) for path in paths], url=server.url)
        environment = {**os.environ, URL: server.url, "HOLTER_API_KEY": os.environ["KILLS_KEY"], RATE: str(1 << 40)}
        wall, cpu, rss = wall_of([sys.executable, "-m", "holter.artifacts", str(data)], environment)
        memory = Path(f"/proc/{server.process.pid}/status").read_text().split("VmHWM:")[1].split()[0]
        there = Store(str(folder / "there")).book("p", "files").find("latest")
    finally:
        server.process.kill()
        server.process.wait()
    wall -= LINGER_S  # in which it waits for more
    return {
        "sent_files": there.files,
        "sent_s": round(wall, 1),
        "sent_ratio": round(wall / cp_s, 2),
        "sent_cpu_s": round(cpu, 1),
        "sender_mb": rss >> 20,
        "server_mb": int(memory) >> 10,
    }


def alias(folder: Path) -> dict[str, Any]:
    """Twenty processes that all want one alias, a hundred times: each time one gets it, and the others are told."""
    rounds, writers = 5 if SMALL else 100, 20
    for number in range(writers):
        path = folder / "m.bin"
        path.write_bytes(b"%d" % number)
        ask(folder, "model", [Source("m.bin", str(path), bytes=path.stat().st_size)], aliases=("best",) * (not number))
        start_worker(folder, "").wait()
    command = [sys.executable, "-c", WRITER, str(folder)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    processes = [subprocess.Popen([*command, str(number), str(rounds)], **pipes) for number in range(writers)]

    def say_to_all() -> list[str]:
        for each in processes:
            each.stdin.write("\n")  # type: ignore[union-attr]  # a pipe
        return [each.stdout.readline().strip() for each in processes]  # type: ignore[union-attr]

    wrong, book = 0, Store(str(folder))
    for _ in range(rounds):
        assert say_to_all() == ["ready"] * writers
        said = say_to_all()
        winners = [number for number, word in enumerate(said) if word == "won"]
        has = book.book("p", "model").aliases["best"].number
        # Whoever had it already may have it again: nobody else has seen it move.
        wrong += said.count("won") + said.count("told") != writers or has not in winners or _too_many(winners, has)
    for each in processes:
        each.wait()
    return {"rounds": rounds, "writers": writers, "wrong": wrong, "versions": len(book.book("p", "model").live())}


def aliases(folder: Path) -> dict[str, Any]:
    """The same where twenty ask two servers that share PostgreSQL and an object store."""
    rounds, writers, wrong = 5 if SMALL else 100, 20, 0
    with contextlib.ExitStack() as opened:
        shared = opened.enter_context(shared_places())
        options = [word for name in ("runs", "journals", "blobs") for word in (f"--{name}", getattr(shared, name))]
        servers = [Server(folder / f"there{number}", options=options) for number in range(2)]
        for server in servers:
            opened.callback(server.process.wait)
            opened.callback(server.process.kill)
        key = os.environ["KILLS_KEY"]
        connections = [Connection(parse_address(servers[n % 2].url), key, timeout_s=60) for n in range(writers)]
        fars = [open_far(server.url, key, data=str(folder / "near")) for server in servers]
        for number in range(writers):
            path = folder / f"{number}.bin"
            path.write_bytes(b"%d" % number)
            ask(folder, "model", [Source("m.bin", str(path), bytes=path.stat().st_size)], url=servers[number % 2].url)
        for server in servers:
            finish(folder, server)
        pool = opened.enter_context(ThreadPoolExecutor(writers))
        before = None
        for _ in range(rounds):
            winners = [n for n, won in enumerate(pool.map(partial(_move, before), connections, range(writers))) if won]
            found = {far.book("p", "model").aliases["best"].number for far in fars}
            before = found.pop()
            wrong += bool(found) or before not in winners or _too_many(winners, before)
        live = len(fars[0].book("p", "model").live())
    return {"rounds": rounds, "writers": writers, "wrong": wrong, "versions": live}


def _move(before: int | None, connection: Connection, number: int) -> bool:
    """Whether the alias was moved to this version; false for whoever is told that somebody else was quicker."""
    asked = {"project": "p", "name": "model", "version": f"v{number}", "alias": "best"}
    asked["expected"] = "" if before is None else f"v{before}"
    try:
        connection.ask("POST", "/artifact/alias", data=msgspec.json.encode(asked))
    except Refused as error:
        if error.status != 409:
            raise
        return False
    return True


def _too_many(winners: list[int], has: int) -> bool:
    return len([number for number in winners if number != has]) > 1


def ask(data: Path, name: str, sources: list[Source], *, url: str = "", aliases: tuple[str, ...] = ()) -> None:
    number = os.urandom(8).hex()
    wanted = Wanted(project="p", name=name, type="model", at_ns=time.time_ns(), ask=number, aliases=aliases, run="r")
    submit(str(data), Ask(wanted=wanted, sources=tuple(sources), url=url))


def write_random(path: Path, size: int) -> None:
    chance, left = random.Random(5), size
    with path.open("wb") as file:
        while left:
            part = chance.randbytes(min(8 << 20, left))
            left -= file.write(part)
        os.fsync(file.fileno())


def write_safetensors(path: Path, parts: list[bytes]) -> None:
    header, at = {}, 0
    for number, part in enumerate(parts):
        header[f"t{number}"] = {"dtype": "U8", "shape": [len(part)], "data_offsets": [at, at + len(part)]}
        at += len(part)
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for part in parts:
            file.write(part)


def tree_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def cpu_of(command: list[str]) -> float:
    return wall_of(command)[1]


def wall_of(command: list[str], environment: dict[str, str] | None = None) -> tuple[float, float, int]:
    """Seconds, seconds of CPU, and the most memory of the process, with its children."""
    began = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    assert status == 0, command
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss << 10


MEASURES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "call": call,
    "copy": copy,
    "frozen": frozen,
    "small": small,
    "alias": alias,
    "aliases": aliases,
}

if __name__ == "__main__":
    main()
