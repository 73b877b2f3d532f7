"""200 live runs: from the call of `log()` to the event on the live stream of a browser."""

import http.client
import threading
import time
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.server_process import ServerProcess
from benchmarks.server_writers import Fleet

RUNS, KEYS = 200, 10
FOR_S = 60.0
SETTLES_S = 5.0


class Listener(threading.Thread):
    """Reads the live stream; remembers when it heard of how many rows of each run."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(daemon=True)
        self.heard: list[tuple[float, str, int]] = []
        self._server = server

    def run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=60)
        connection.request("GET", "/api/v1/events", headers={"authorization": f"Bearer {self._server.key}"})
        response = connection.getresponse()
        kind = ""
        try:
            while line := response.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind == "rows":
                    data = msgspec.json.decode(value)
                    self.heard.append((time.monotonic(), data["run"], data["rows"]))
        except (OSError, http.client.HTTPException):  # the server is gone: the measurement is over
            return


def delays_s(fleet: Fleet, listener: Listener, *, since: float) -> list[float]:
    """Of each row that was logged since then, how long it took until the stream told of it."""
    runs = {run.id: run for run in fleet.runs}
    seen = dict.fromkeys(runs, 0)
    found = []
    for at, run, rows in listener.heard:
        for step in range(seen[run], seen[run] + rows):
            logged_at = runs[run].logged_at.get(step)
            if logged_at is not None and logged_at >= since:
                found.append(at - logged_at)
        seen[run] += rows
    return found


def measure(plan: Plan) -> Measured:
    runs, for_s = plan.pick(RUNS, 10), plan.pick(FOR_S, 6.0)
    home = Path(plan.scratch / "live")
    home.mkdir()
    server = ServerProcess(home / "server")
    server.start()
    listener = Listener(server)
    fleet = Fleet(server, home / "runs", runs=runs, keys=KEYS)
    try:
        listener.start()
        time.sleep(0.5)
        fleet.start()
        time.sleep(SETTLES_S)
        since = time.monotonic()
        time.sleep(for_s)
        fleet.close()
        time.sleep(2)
        delays = delays_s(fleet, listener, since=since)
    finally:
        fleet.close()
        server.close()
    p50, p95, p99 = np.percentile(delays, [50, 95, 99]) if delays else (np.nan,) * 3
    return Measured(
        figures=[
            Figure(name="row logged until seen on the stream, p95", measured=float(p95), unit="s", at_most=1.5),
            Figure(name="the same, median", measured=float(p50), unit="s"),
            Figure(name="the same, p99", measured=float(p99), unit="s"),
        ],
        notes=[
            f"{len(delays):,} rows of {runs} runs, each at 1 Hz with {KEYS} keys; {fleet.failures} requests failed."
        ],
    )
