"""A sweep whose trials, agents and server are killed: whether every trial ends once, and how long a slot stays idle.

Usage: python -m benchmarks.sweep_chaos [TRIALS [AGENTS]]. Server and agents are killed five times each; of the trials
30 % kill themselves once and 10 % run out of the memory of a cgroup of their own (needs root). Prints one line of JSON.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from holter.sweeps.opening import open_local
from holter.sweeps.state import SweepState

PROGRAM = """
import json, os, random, signal, time
fate = random.Random(round(json.loads(os.environ["HOLTER_TRIAL"])["config"]["x"] * 1e6)).random()
if fate > 0.9:
    from tests.zoo.cgroups import make_cgroup
    group = make_cgroup("memory")
    with open("groups", "a") as file:
        file.write(f"{group.path}\\n")
    group.limit_memory(160 << 20)
    group.procs.write_text(str(os.getpid()))
import holter
run = holter.init()
x = run.config["x"]
first = not run.id.rpartition("-")[2].isdigit() or run.id.count("-") == 1
if fate < 0.3 and first:
    os.kill(os.getpid(), signal.SIGKILL)
held = []
while fate > 0.9:
    held.append(b"x" * (4 << 20))
    time.sleep(0.02)
for step in range(3):
    holter.log({"loss": x + step})
    time.sleep(0.05)
holter.log({"loss": x})
"""


class Chaos:
    """The processes of one such sweep."""

    def __init__(self, folder: Path, trials: int, agents: int) -> None:
        self.folder = folder
        self.data = folder / "server"
        self.random = random.Random(5)
        self.port = 0
        self.environ = {**os.environ, "HOLTER_DIR": str(folder / "here"), "HOLTER_SILENT": "1"}
        self.serve()
        program = folder / "train.py"
        program.write_text(PROGRAM)
        about: dict[str, Any] = {
            "program": str(program),
            "method": "random",
            "run_cap": trials,
            "metric": {"name": "loss"},
            "parameters": {"x": {"min": 0.0, "max": 1.0}},
            "command": ["${interpreter}", "${program}"],
        }
        (folder / "sweep.yaml").write_text(json.dumps(about))
        found = self.holter("sweep", str(folder / "sweep.yaml"), "--json")
        self.sweep = str(json.loads(found.stdout)["sweep"])
        self.agents = [self.agent() for _ in range(agents)]

    def holter(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "holter", *arguments]
        return subprocess.run(command, env=self.environ, capture_output=True, text=True, check=True)

    def serve(self) -> None:
        """Start the server, on the port that it had."""
        output = self.folder / f"server-{time.monotonic_ns()}.out"
        command = [sys.executable, "-m", "holter", "server", "--data", str(self.data), "--port", str(self.port)]
        with output.open("w") as file:
            self.server = subprocess.Popen(command, env=self.environ, stdout=file, stderr=subprocess.STDOUT)
        until = time.monotonic() + 60
        while "http://127.0.0.1:" not in (text := output.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        self.port = int(text.partition("http://127.0.0.1:")[2].split()[0].strip("/.,"))
        if "HOLTER_API_KEY" not in self.environ:
            key = next(word for word in text.split() if word.startswith("hk_"))
            self.environ |= {"HOLTER_URL": f"http://127.0.0.1:{self.port}", "HOLTER_API_KEY": key}

    def agent(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "holter", "agent", self.sweep]
        paths = [str(Path(__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        environ = {**self.environ, "PYTHONPATH": os.pathsep.join(paths).rstrip(os.pathsep)}
        nothing = subprocess.DEVNULL
        return subprocess.Popen(command, env=environ, cwd=self.folder, stdout=nothing, stderr=nothing)

    def state(self) -> SweepState:
        return open_local(str(self.data), self.sweep).state()

    def run(self, trials: int) -> None:
        """Until all agents have left."""
        kills = sorted(self.random.sample(range(5, max(16, trials - 5)), 10))
        while any(each.poll() is None for each in self.agents):
            ended = sum(each.is_over for each in self.state().trials)
            if kills and ended >= kills[0]:
                kills.pop(0)
                if len(kills) % 2:
                    self.server.kill()
                    self.server.wait()
                    self.serve()
                else:
                    place = self.random.randrange(len(self.agents))
                    self.agents[place].kill()
                    self.agents[place].wait()
                    self.agents[place] = self.agent()
            time.sleep(0.1)

    def close(self) -> None:
        for each in (self.server, *self.agents):
            with contextlib.suppress(ProcessLookupError):
                each.send_signal(signal.SIGTERM)
            each.wait(60)
        groups = self.folder / "groups"
        for line in groups.read_text().splitlines() if groups.exists() else ():
            with contextlib.suppress(OSError):
                Path(line).rmdir()


def measure(trials: int, agents: int) -> dict[str, Any]:
    """What came of it."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        chaos = Chaos(Path(folder), trials, agents)
        try:
            chaos.run(trials)
            state = chaos.state()
        finally:
            chaos.close()
    attempts = [attempt for each in state.trials for attempt in each.attempts]
    waits = [
        (later.started_ns - earlier.ended_ns) / 1e9
        for each in state.trials
        for earlier, later in zip(each.attempts, each.attempts[1:], strict=False)
        if earlier.ended_ns is not None
    ]
    states: dict[str, int] = {}
    for each in state.trials:
        states[each.state] = states.get(each.state, 0) + 1
    causes: dict[str, int] = {}
    for attempt in attempts:
        causes[attempt.cause or "none"] = causes.get(attempt.cause or "none", 0) + 1
    return {
        "trials": len(state.trials),
        "causes": causes,
        "states": states,
        "not_ended": sum(not each.is_over for each in state.trials),
        "attempts": len(attempts),
        "attempts_twice_open": len(attempts) - len({each.run for each in attempts}),
        "longest_until_tried_again_s": round(max(waits, default=0.0), 2),
        "took_s": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:3]]
    print(json.dumps(measure(*(given + [200, 4][len(given) :]))))
