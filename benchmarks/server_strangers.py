"""5,000 idle connections and 64 slow senders: whether those who send and read notice."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.processes import Snapshot, snapshot
from benchmarks.server_process import ServerProcess
from benchmarks.server_writers import SimulatedRun
from holter.errors import Refused, Unreachable
from holter.sidecar.sending import RunSender

IDLE, SLOW = 5000, 64
SENDERS, READERS = 20, 4
KEYS, ROWS = 8, 10
QUIET_S, LOUD_S = 20.0, 40.0
ROUNDS = 2
EVERY_S = 1.0
# So long before all are there, and after they were told to leave, there is no peace.
COMES_S, GOES_S = 8.0, 2.0


class Worker(threading.Thread):
    """Sends or reads once a second; remembers when each answer came and how long it took."""

    def __init__(self, server: ServerProcess, run: SimulatedRun | None) -> None:
        super().__init__(daemon=True)
        self.took: list[tuple[float, float]] = []
        self.failures = 0
        self.enough = threading.Event()
        self._connection = server.connect()
        self._run = run
        self._sender = RunSender(str(run.directory), run.id, connection=self._connection) if run is not None else None

    def run(self) -> None:
        while not self.enough.wait(EVERY_S):
            if self._run is not None:
                for _ in range(ROWS):
                    self._run.log()
            began = time.monotonic()
            try:
                if self._sender is not None:
                    self._sender.send()
                else:
                    self._connection.ask("GET", "/runs")
            except (Refused, Unreachable):
                self.failures += 1
            self.took.append((began, time.monotonic() - began))
        self._connection.close()


def measure(plan: Plan) -> Measured:
    home = Path(plan.scratch / "strangers")
    home.mkdir()
    idle, quiet_s, loud_s = plan.pick(IDLE, 300), plan.pick(QUIET_S, 10.0), plan.pick(LOUD_S, 4.0)
    server = ServerProcess(home / "server")
    server.start()
    runs = [SimulatedRun(home / "runs", number, keys=KEYS) for number in range(SENDERS)]
    workers = [Worker(server, run) for run in runs] + [Worker(server, None) for _ in range(READERS)]
    loud: list[tuple[Snapshot, Snapshot]] = []
    try:
        for worker in workers:
            worker.start()
        time.sleep(quiet_s / 2)  # each has begun
        began = snapshot(server.pid)
        for _ in range(plan.pick(ROUNDS, 1)):
            time.sleep(quiet_s)
            loud.append(_disturb(server, idle, for_s=loud_s))
        time.sleep(quiet_s)
        after = snapshot(server.pid)
    finally:
        for worker in workers:
            worker.enough.set()
        for worker in workers:
            worker.join()
        for run in runs:
            run.close()
        server.close()
    figures = []
    for name, chosen in (("senders", workers[:SENDERS]), ("readers", workers[SENDERS:])):
        in_peace, disturbed = _parted(chosen, since=began.at_s, loud=loud)
        figures += [
            Figure(
                name=f"{name}: 95 of 100 answers, disturbed, to that in peace", measured=disturbed / in_peace, at_most=2
            ),
            Figure(name=f"{name}: 95 of 100 answers in peace", measured=1000 * in_peace, unit="ms"),
            Figure(name=f"{name}: 95 of 100 answers, disturbed", measured=1000 * disturbed, unit="ms"),
        ]
    failures = sum(worker.failures for worker in workers)
    cores = sum(stop.cpu_s - start.cpu_s for start, stop in loud) / sum(stop.at_s - start.at_s for start, stop in loud)
    figures += [
        Figure(name="cores of the server, disturbed", measured=cores),
        Figure(name="requests that failed", measured=failures, at_most=0),
        Figure(name="most memory of the server", measured=after.peak_mb, unit="MB"),
    ]
    return Measured(
        figures=figures, notes=[f"{idle:,} connections that say nothing, {SLOW} senders by the byte, from one address."]
    )


def _disturb(server: ServerProcess, idle: int, *, for_s: float) -> tuple[Snapshot, Snapshot]:
    """The server when all of them were there, and when they left."""
    words = ["benchmarks/strangers.py", str(server.port), server.key, "--idle", str(idle), "--slow", str(SLOW)]
    root = Path(__file__).resolve().parents[1]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *words], cwd=root, stdin=pipe, stdout=pipe, text=True) as crowd:
        assert crowd.stdin is not None
        assert crowd.stdout is not None
        crowd.stdout.readline()
        began = snapshot(server.pid)
        time.sleep(for_s)
        ended = snapshot(server.pid)
        crowd.stdin.close()
    return began, ended


def _parted(workers: list[Worker], *, since: float, loud: list[tuple[Snapshot, Snapshot]]) -> tuple[float, float]:
    """95 of 100 answers took so long in peace, and so long disturbed; while the crowd comes or goes is neither."""
    took = [each for worker in workers for each in worker.took if each[0] >= since]
    times = [(start.at_s, stop.at_s) for start, stop in loud]
    disturbed = [took_s for at, took_s in took if any(start <= at <= stop for start, stop in times)]
    in_peace = [
        took_s for at, took_s in took if not any(start - COMES_S <= at <= stop + GOES_S for start, stop in times)
    ]
    return float(np.percentile(in_peace, 95)), float(np.percentile(disturbed, 95))
