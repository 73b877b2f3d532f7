"""What it takes to move a server from SQLite to PostgreSQL and an object store, killed on the way, in one go."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.run_copies import copy_run
from benchmarks.server_data import write_journal
from holter.journal.rundir import segment_path
from tests.object_store import KEYS, ObjectStore
from tests.postgres import running_postgres


def make_data(data: Path, *, runs: int, rows: int, keys: int) -> None:
    """A server's directory with runs that ended, and its index."""
    first = data / "runs" / "original"
    first.mkdir(parents=True, mode=0o700)
    journal, content = write_journal(first, "original", rows=rows, keys=keys, seed=1)
    Path(segment_path(str(first), journal, number=1)).write_bytes(content)
    for number in range(runs - 1):
        copy_run(first, number)


def run(*arguments: str, kill_every_s: float = 0.0) -> tuple[float, float, int, str]:
    """Wall seconds, CPU seconds, how often it was killed, and what it printed."""
    began, before, kills = time.monotonic(), os.times(), 0
    while True:
        command = [sys.executable, "-m", "holter", "server", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                out, _ = process.communicate(timeout=kill_every_s * (1 + kills / 4) or None)
            except subprocess.TimeoutExpired:
                process.kill()
                out, _ = process.communicate()
        if process.returncode != -signal.SIGKILL:
            break
        kills += 1
    if process.returncode:
        raise RuntimeError(f"{arguments[0]} failed with {process.returncode}: {out}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - began, cpu, kills, out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--kill-every", type=float, default=0.0, help="seconds; a quarter more each time")
    args = parser.parse_args()
    os.environ.update(KEYS)
    bucket = ObjectStore()
    try:
        with tempfile.TemporaryDirectory() as folder, running_postgres() as postgres:
            data = Path(folder) / "data"
            make_data(data, runs=args.runs, rows=args.rows, keys=args.keys)
            points = args.runs * args.rows * args.keys
            print(f"{args.runs:,} runs, {points:,} points", flush=True)
            took, cpu, _, _ = run("rebuild", "--data", str(data))
            print(f"index in SQLite: {took:.0f} s, CPU {cpu:.0f} s", flush=True)
            places = ["--from", f"sqlite:{data}", "--to", postgres.new_place(), "--blobs", bucket.new_place()]
            took, cpu, kills, out = run("migrate", *places, "--json", kill_every_s=args.kill_every)
            done = json.loads(out)
            print(f"migrated: {took:.0f} s, CPU of holter {cpu:.0f} s, killed {kills} times")
            print(f"{points / took:,.0f} points/s, {done['journal_bytes']:,} bytes of journals")
    finally:
        bucket.close()


if __name__ == "__main__":
    main()
