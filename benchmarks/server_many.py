"""1,000 live runs of 10 keys at 1 Hz: what the server needs for them, and whether any looks late."""

import time
from pathlib import Path

from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.processes import snapshot
from benchmarks.server_process import ServerProcess
from benchmarks.server_writers import Fleet

RUNS, KEYS = 1000, 10
FOR_S, SETTLES_S = 300.0, 30.0
LOOK_EVERY_S = 5.0


def measure(plan: Plan) -> Measured:
    runs = plan.pick(RUNS, 20)
    for_s, settles_s = plan.pick(FOR_S, 6.0), plan.pick(SETTLES_S, 3.0)
    home = Path(plan.scratch / "many")
    home.mkdir()
    server = ServerProcess(home / "server")
    server.start()
    fleet = Fleet(server, home / "runs", runs=runs, keys=KEYS)
    late = 0
    try:
        fleet.start()
        time.sleep(settles_s)
        before = snapshot(server.pid)
        while time.monotonic() < before.at_s + for_s:
            time.sleep(min(LOOK_EVERY_S, for_s))
            late = max(late, _late_runs(server, runs))
        after = snapshot(server.pid)
        arrived = sum(each["rows"] for each in server.get("/runs", limit=10_000)["runs"])
    finally:
        fleet.close()
        server.close()
    cores = (after.cpu_s - before.cpu_s) / (after.at_s - before.at_s)
    logged = sum(run.step for run in fleet.runs)
    return Measured(
        figures=[
            Figure(name="runs with a late heartbeat", measured=late, unit="", at_most=0),
            Figure(name="cores of the server", measured=cores, unit="", at_most=1.0),
            Figure(name="most memory of the server", measured=after.peak_mb, unit="MB", at_most=600),
            Figure(name="requests that failed", measured=fleet.failures, unit=""),
        ],
        notes=[
            f"{runs} runs for {after.at_s - before.at_s:.0f} s; {arrived:,} of {logged:,} rows were in the table then."
        ],
    )


def _late_runs(server: ServerProcess, runs: int) -> int:
    table = server.get("/runs", limit=10_000)["runs"]
    late = [each["id"] for each in table if each["is_stale"] or each["state"] != "running"]
    return max(0, runs - len(table)) + len(late)
