"""kill -9 of the server at random moments in ingest: nothing is lost, nothing is there twice, the order is kept."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.received import Compared, compare
from benchmarks.server_process import ServerProcess
from holter.journal.rundir import run_directory

KILLS = 200
# Rows in bursts, with prints between them, until somebody says that it is enough.
TRAINING = """
import os, sys, time, holter
run = holter.init(project="kills", id=sys.argv[1])
step = 0
while not os.path.exists(sys.argv[2]):
    for _ in range(50):
        run.log({"loss": 1 / (step + 1), "again": step})
        step += 1
    print("step", step, flush=True)
    time.sleep(0.02)
"""


class Training:
    """A program that records and sends until it is told to end."""

    def __init__(self, home: Path, run: str, *, url: str, key: str) -> None:
        self.run = run
        self.directory = run_directory(str(home), run)
        self._enough = home.parent / f"{run}.enough"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLTER_")}
        environment |= {"HOLTER_DIR": str(home), "HOLTER_URL": url, "HOLTER_API_KEY": key, "HOLTER_SILENT": "1"}
        command = [sys.executable, "-c", TRAINING, run, str(self._enough)]
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    def end(self) -> int:
        """Let it finish; returns its exit code."""
        self._enough.touch()
        return self._process.wait(60)

    def close(self) -> None:
        """Idempotent."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def kill_in_ingest(scratch: Path, *, kills: int, seed: int = 1) -> tuple[Compared, int]:
    """Kill a server so often while a run is sent to it; returns what is there at the end, and the program's code."""
    rng = random.Random(seed)
    server = ServerProcess(scratch / "server")
    server.start()
    training = Training(scratch / "home", "tormented", url=server.url, key=server.key)
    try:
        for _ in range(kills):
            _await_growth(server, training.run)
            time.sleep(rng.uniform(0, 0.4))
            server.kill()
            server.start()
        _await_growth(server, training.run)
        code = training.end()
        return compare(server, training.directory, run=training.run, key="loss"), code
    finally:
        training.close()
        server.close()


def _await_growth(server: ServerProcess, run: str) -> None:
    """Until something more of the run has arrived: then the next message is on its way soon."""
    before = _size(server, run)
    deadline = time.monotonic() + 60
    while _size(server, run) == before:
        if time.monotonic() > deadline:
            raise RuntimeError("nothing arrives any more")
        time.sleep(0.02)


def _size(server: ServerProcess, run: str) -> int:
    kept = Path(run_directory(str(server.data), run))
    return sum(path.stat().st_size for path in kept.glob("*.seg"))


def measure(plan: Plan) -> Measured:
    kills = plan.pick(KILLS, 3)
    scratch = plan.scratch / "kills"
    scratch.mkdir()
    found, code = kill_in_ingest(scratch, kills=kills)
    return Measured(
        figures=[
            Figure(name="points lost", measured=found.lost, unit="", at_most=0),
            Figure(name="points there twice", measured=found.doubled, unit="", at_most=0),
            Figure(name="runs out of order", measured=int(not found.is_in_order), unit="", at_most=0),
            Figure(name="runs whose bytes differ", measured=int(not found.is_same_bytes), unit="", at_most=0),
        ],
        notes=[
            f"{found.points:,} points sent while the server was killed {kills} times; the program left with {code}."
        ],
    )
