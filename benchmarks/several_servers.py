"""Three servers on one PostgreSQL: how soon a row is seen on another one, and how soon another goes on for it."""

import argparse
import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx

from tests.e2e.balancer import Balancer
from tests.e2e.programs import start, wait_until
from tests.e2e.servers import Served, stream, team_server
from tests.object_store import KEYS, ObjectStore
from tests.postgres import running_postgres

LOGGING = """
import os, random, time, holter
run = holter.init(project="far")
print("id", run.id, flush=True)
step = 0
while not os.path.exists(os.environ["ENOUGH"]):
    run.log({"loss": float(step)})
    print(time.time(), flush=True)
    step += 1
    time.sleep(random.uniform(0.1, 0.9))
"""


class Logging:
    """A run that logs about twice a second, and says when."""

    def __init__(self, opened: ExitStack, url: str, *, key: str, enough: Path) -> None:
        environment = {"HOLTER_URL": url, "HOLTER_API_KEY": key, "ENOUGH": str(enough)}
        opened.callback(enough.touch)
        self._program = opened.enter_context(start(LOGGING, **environment))
        assert self._program.stdout is not None
        self.run = self._program.stdout.readline().split()[1]
        self.logged_at: list[float] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._program.stdout is not None
        with contextlib.suppress(ValueError):  # we are leaving
            for line in self._program.stdout:
                self.logged_at.append(float(line))


def delays(server: Served, logging: Logging, *, seconds: float) -> Iterator[float]:
    """Of each row, until the stream of a server told of it and its point was in an answer of that server."""
    deadline, seen = time.time() + seconds, len(logging.logged_at)
    with stream(server) as told:
        while time.time() < deadline:
            told.wait_for("rows", run=logging.run)
            [(_, columns)] = server.series(runs=[logging.run], keys=["loss"], buckets=1)
            now, last = time.time(), int(columns["value"][-1]) if len(columns["value"]) else -1
            while seen <= last and seen < len(logging.logged_at):
                yield now - logging.logged_at[seen]
                seen += 1


def is_digesting(server: Served) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        text = httpx.get(f"{server.address}/metrics", headers=server.authorization, timeout=1).text
        found = re.search(r"^holter_followed_runs (\d+)", text, re.MULTILINE)
        return found is not None and int(found[1]) > 0
    return False


def digesting(servers: list[Served]) -> Served | None:
    return next((each for each in servers if is_digesting(each)), None)


def take_over(servers: list[Served], death: signal.Signals) -> tuple[Served, float]:
    """Who was ended, and how long until another one digested its run."""
    wait_until(lambda: digesting(servers) is not None)
    gone = digesting(servers)
    assert gone is not None
    left = [each for each in servers if each is not gone]
    began = time.monotonic()
    os.kill(gone.process.pid, death)
    while digesting(left) is None:
        time.sleep(0.02)
    return gone, time.monotonic() - began


def shown(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"{len(ordered)} times: median {statistics.median(ordered):.2f} s, p95 {p95:.2f} s, most {ordered[-1]:.2f} s"


def cpu_of_fleet(address: str, key: str, pids: list[int], *, runs: int, seconds: float) -> tuple[float, int]:
    """The cores that some processes take, with their children, while so many runs send; and the rows that were sent."""
    port = address.rpartition(":")[2]
    command = [sys.executable, "benchmarks/fleet.py", port, key, f"--runs={runs}", f"--seconds={seconds}"]
    before, began = sum(map(cpu_s, pids)), time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    told = json.loads(done.stdout)
    return (sum(map(cpu_s, pids)) - before) / (time.monotonic() - began), told["rows"]


def cpu_s(pid: int) -> float:
    """Of a process and all of its children, also those that have ended."""
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            own, fields = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
            if own == pid or int(fields[1]) == pid:
                total += sum(map(int, fields[11 : 15 if own == pid else 13])) / os.sysconf("SC_CLK_TCK")
    return total


def compare_cpu(opened: ExitStack, place: Path, servers: list[Served], postgres: int, *, runs: int) -> None:
    """What the same runs cost one server with all in its directory, and several with a storage between them."""
    one = opened.enter_context(team_server(place / "embedded"))
    alone, rows = cpu_of_fleet(one.address, one.key, [one.process.pid], runs=runs, seconds=40)
    print(f"one embedded server, {runs} runs: {alone:.2f} cores, {rows:,} rows", flush=True)
    balancer = opened.enter_context(contextlib.closing(Balancer(*(each.address for each in servers))))
    pids = [each.process.pid for each in servers]
    before, began = cpu_s(postgres), time.monotonic()
    cores, rows = cpu_of_fleet(balancer.url, servers[0].key, pids, runs=runs, seconds=40)
    database = (cpu_s(postgres) - before) / (time.monotonic() - began)
    told = f"{cores:.2f} cores, {cores / alone:.2f} times as much, {rows:,} rows; PostgreSQL {database:.2f} cores"
    print(f"{len(servers)} servers, {runs} runs: {told}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--deaths", type=int, default=6)
    parser.add_argument("--runs", type=int, default=200)
    args = parser.parse_args()
    with ExitStack() as opened:
        place = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="holter-several-")))
        os.environ |= {**KEYS, "HOLTER_DIR": str(place / "holter")}
        bucket = opened.enter_context(contextlib.closing(ObjectStore()))
        postgres = opened.enter_context(running_postgres())
        url = postgres.new_place()
        places = ["--runs", url, "--journals", url, "--blobs", bucket.new_place()]
        servers = [opened.enter_context(team_server(place / "s0", *places))]
        key = servers[0].key
        servers += [opened.enter_context(team_server(place / f"s{at}", *places, key=key)) for at in (1, 2)]
        if args.runs:
            compare_cpu(opened, place, servers, postgres.pid, runs=args.runs)
        balancer = opened.enter_context(contextlib.closing(Balancer(*(each.address for each in servers))))
        logging = Logging(opened, servers[1].address, key=key, enough=place / "enough")
        if not args.seconds:
            return 0
        found = list(delays(servers[2], logging, seconds=args.seconds))
        print(f"a row until it is seen on another server: {shown(found)}", flush=True)
        (place / "enough").touch()
        wait_until(lambda: servers[0].state(logging.run) == "finished" and digesting(servers) is None)
        Logging(opened, balancer.url, key=key, enough=place / "enough-2")
        for death in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):
            times = []
            for number in range(args.deaths):
                gone, took = take_over(servers, death)
                times.append(took)
                if death == signal.SIGSTOP:
                    os.kill(gone.process.pid, signal.SIGCONT)
                else:
                    gone.process.wait()
                    servers.remove(gone)
                    folder = place / f"{death.name}-{number}"
                    servers.append(opened.enter_context(team_server(folder, *places, key=key)))
                    balancer.addresses = [each.address for each in servers]
                time.sleep(1.0)
            print(f"{death.name} until another digests its run: {shown(times)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
