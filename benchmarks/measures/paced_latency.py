"""`log()` of 10 scalars at 1,000 calls a second, while the sidecar syncs.

A call that sleeps in between finds cold caches, and after each sync of the sidecar its page is write-protected: both
are in here. 2,000 calls in a fresh process; holter and the limit take turns, the limit without any sync. Then 5,000
calls while another process writes 4 MiB at a time to the same disk and syncs each; there the journal also goes on to
its next segment.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from benchmarks.figures import Figure, Measured, median, median_ratio
from benchmarks.measures.log_latency import Latency, latency_table
from benchmarks.plan import Plan
from benchmarks.trials import ROOT, in_turn, run_trial

AT_MOST_LIMITS = 3.0
RATE = 1000.0
# The disturbance ends by itself, also when nobody ends it.
BUSY_S = 120.0

DISTURBANCE = """
import os, sys, time
path, seconds = sys.argv[1], float(sys.argv[2])
block, deadline, number = os.urandom(4 << 20), time.monotonic() + seconds, 0
fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
while time.monotonic() < deadline:
    os.pwrite(fd, block, (number % 32) * len(block))
    os.fsync(fd)
    number += 1
"""


def measure(plan: Plan) -> Measured:
    # Short and often: what else runs on the machine matters more here than anywhere, and a pair must share it.
    quiet = take_turns(plan, repetitions=plan.pick(10, 1), calls=plan.pick(2000, 300))
    with busy_disk(plan):
        busy = take_turns(plan, repetitions=plan.pick(4, 1), calls=plan.pick(5000, 300))
    ratio = median_ratio(*([each.p50 for each in quiet[tracker]] for tracker in ("holter", "limit")))
    figures = [
        Figure(name="paced log() p50", measured=median([each.p50 for each in quiet["holter"]]), unit="µs"),
        Figure(name="paced log() p50 / limit", measured=ratio, unit="×", at_most=AT_MOST_LIMITS),
        *_tail("paced log()", quiet["holter"]),
        *_tail("paced log(), busy disk,", busy["holter"]),
    ]
    tables = [latency_table("1,000 calls a second", quiet), latency_table("The same on a busy disk", busy)]
    raw = {
        f"{tracker}, {disk}": [msgspec.structs.asdict(each) for each in found[tracker]]
        for disk, found in (("quiet disk", quiet), ("busy disk", busy))
        for tracker in found
    }
    return Measured(figures=figures, tables=tables, raw=raw)


def _tail(name: str, latencies: list[Latency]) -> list[Figure]:
    return [
        Figure(name=f"{name} p99", measured=median([each.p99 for each in latencies]), unit="µs"),
        Figure(name=f"{name} p99.9", measured=median([each.p999 for each in latencies]), unit="µs"),
        Figure(name=f"{name} most", measured=max(each.most for each in latencies), unit="µs"),
    ]


def take_turns(plan: Plan, *, repetitions: int, calls: int) -> dict[str, list[Latency]]:
    found: dict[str, list[Latency]] = {"limit": [], "holter": []}
    arguments = {"calls": calls, "bound_s": 2 * calls / RATE, "rate": RATE}
    for tracker in in_turn(list(found), repetitions):
        latency, _ = run_trial(plan, "latency", tracker, Latency, arguments=arguments)
        found[tracker].append(latency)
    return found


@contextmanager
def busy_disk(plan: Plan) -> Iterator[None]:
    path = plan.scratch / "disturbance"
    command = [sys.executable, "-c", DISTURBANCE, str(path), str(BUSY_S)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            yield
        finally:
            process.terminate()
    path.unlink(missing_ok=True)
