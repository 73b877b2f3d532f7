"""What live runs cost a server and its parts in CPU time, with all on its disk and with PostgreSQL and a bucket."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from tests.clickhouse.server import running_chdb
from tests.e2e.servers import team_server
from tests.object_store import KEYS, ObjectStore
from tests.postgres import running_postgres

FLEET = Path(__file__).with_name("fleet.py")


def cpu_s(process: psutil.Process) -> float:
    """Of a process and those that it has begun."""
    found = 0.0
    for each in (process, *process.children(recursive=True)):
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        found += times.user + times.system + times.children_user + times.children_system
    return found


def watch(data: Path, places: list[str], parts: Mapping[str, psutil.Process], asked: argparse.Namespace) -> None:
    with team_server(data, *places) as server:
        found = {"server": psutil.Process(server.process.pid), **parts}
        before = {name: cpu_s(process) for name, process in found.items()}
        began = time.monotonic()
        port = server.address.rpartition(":")[2]
        fleet = [sys.executable, str(FLEET), port, server.key, "--rows-per-s", "1", "--runs", str(asked.runs)]
        done = subprocess.run([*fleet, "--seconds", str(asked.seconds)], capture_output=True, text=True, check=True)
        took = time.monotonic() - began
        told = json.loads(done.stdout)
        spent = {name: 1000 * (cpu_s(process) - before[name]) / took / asked.runs for name, process in found.items()}
        shown = ", ".join(f"{name} {each:.2f}" for name, each in spent.items())
        print(f"ms of CPU each second for each run: {shown}; {told['rows']:,} of {told['logged']:,} rows kept")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args()
    os.environ.update(KEYS)
    bucket = ObjectStore()
    me = psutil.Process()
    try:
        with tempfile.TemporaryDirectory() as folder, running_postgres() as postgres, running_chdb() as clickhouse:
            print("all on its disk")
            watch(Path(folder) / "near", [], {}, asked)
            mine = {each.name(): each for each in me.children() if each.name() in ("postgres", "weed")}
            url = postgres.new_place()
            places = ["--runs", url, "--journals", url, "--blobs", bucket.new_place()]
            print("PostgreSQL, object store")
            watch(Path(folder) / "far", places, mine, asked)
            print("PostgreSQL, ClickHouse, object store")
            url = postgres.new_place()
            places = ["--runs", url, "--journals", url, "--console", url, "--blobs", bucket.new_place()]
            watch(Path(folder) / "three", [*places, "--series", clickhouse.new_place()], mine, asked)
    finally:
        bucket.close()


if __name__ == "__main__":
    main()
