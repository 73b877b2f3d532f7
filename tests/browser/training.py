"""Runs to look at: short programs that really log, end, raise and are killed."""

from typing import Any

from tests.e2e.programs import Program, run, start, wait_until
from tests.e2e.servers import Served

TRAINING = """
import math, os, random, time, holter
tags = [tag for tag in os.environ.get("TAGS", "").split(";") if tag]
config = {"lr": float(os.environ.get("LR", "0.1")), "model": {"layers": 4}}
run = holter.init(project=os.environ.get("P", "vision"), name=os.environ.get("N"), config=config, tags=tags)
print("id", run.id, flush=True)
noise = random.Random(run.name)
for step in range(int(os.environ.get("STEPS", "200"))):
    loss = 0.4 + 3 * math.exp(-step * config["lr"] / 5) + noise.gauss(0, 0.03)
    row = {"train/loss": loss, "train/accuracy": 1 - loss / 4, "perf/images_per_s": 900 + noise.gauss(0, 20)}
    if step % 10 == 0:
        row["val/loss"] = loss + 0.1
    run.log(row)
    time.sleep(float(os.environ.get("PAUSE", "0")))
if os.environ.get("RAISE"):
    raise ValueError(os.environ["RAISE"])
if os.environ.get("FAULT"):
    import ctypes
    ctypes.string_at(0)
if os.environ.get("KILL"):
    os.kill(os.getpid(), 9)
"""


def record(server: Served, **environment: str) -> str:
    """Run a program to its end, wait until the server knows it; the id of its run."""
    found = run(TRAINING, **environment).stdout.split()[1]
    wait_until(lambda: _has_ended(server, found), within_s=60)
    return found


def begin(**environment: str) -> tuple[Program, str]:
    """A program that goes on until it is killed, and the id of its run."""
    program = start(TRAINING, **{"STEPS": "100000", "PAUSE": "0.05", **environment})
    assert program.stdout is not None
    return program, program.stdout.readline().split()[1]


def _has_ended(server: Served, found: str) -> bool:
    """Also why: that comes a moment later."""
    answer = server.http.get(f"/runs/{found}")
    if answer.status_code != 200:
        return False
    run: dict[str, Any] = answer.json()
    is_explained = run["state"] == "finished" or run["cause"] is not None
    return run["state"] != "running" and run["rows"] > 0 and is_explained
