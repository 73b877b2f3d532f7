"""Several programs on one GPU: a neighbour, what a dead run left over, contention, and JAX, which takes all."""

import os
import signal
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.gpu.machine import open_nvml, short
from tests.gpu.scene import begin, finish, play, result

HOLD = """
import torch, time
free, total = torch.cuda.mem_get_info()
kept = torch.ones({take}, dtype=torch.uint8, device="cuda")
print("holds", flush=True)
time.sleep(60)
"""
LEFT = """
import os, time, holter
run = holter.init(project="gpu", name="dead")
run.log({"step": 0})
if os.fork() == 0:
    import torch
    kept = torch.ones(20 << 30, dtype=torch.uint8, device="cuda")
    print("holds", os.getpid(), flush=True)
    time.sleep(90)
    os._exit(0)
time.sleep(90)
"""


def neighbour() -> dict[str, Any]:
    """A process of somebody else takes most of the GPU, and a worker of a dead run the rest."""
    nvml = open_nvml()
    home = Path(tempfile.mkdtemp(prefix="left-"))
    dead = begin(LEFT, home)
    assert dead.stdout is not None
    left = int(dead.stdout.readline().split()[1])
    dead.kill()
    dead.wait()
    other_home = Path(tempfile.mkdtemp(prefix="other-"))
    other = begin(HOLD.format(take="free - (8 << 30)"), other_home)
    assert other.stdout is not None
    other.stdout.readline()
    holders = short(nvml)["holders"]
    taken = play(
        """
import time, holter
run = holter.init(project="gpu", name="second")
import torch
for step in range(7):
    run.log({"step": step})
    time.sleep(1)
torch.empty(16 << 30, dtype=torch.uint8, device="cuda")
""",
        within_s=40,
    )
    other.kill()
    killed = time.monotonic()
    while short(nvml)["used"] > (60 << 30) and time.monotonic() - killed < 10:
        time.sleep(0.05)
    freed_s = time.monotonic() - killed
    os.kill(left, signal.SIGKILL)
    said = [text for text in taken.warnings if "taken already" in text]
    return result(
        {
            "said at the start": bool(said),
            "the neighbour is named": any(f"process {other.pid}" in text for text in said),
            "what is left over is named": any("left over from" in text for text in said),
            "the cause is named": taken.why.get("cause") == "gpu-out-of-memory",
            "the neighbour is in the verdict": str(other.pid) in str(taken.why),
        },
        **taken.told(),
        holders=holders,
        left=left,
        other=other.pid,
        freed_s=round(freed_s, 2),
    )


STEPS = """
import time, holter, torch
run = holter.init(project="gpu", name="{name}")
a = torch.randn(6144, 6144, device="cuda", dtype=torch.bfloat16)
kept = torch.empty({take}, dtype=torch.uint8, device="cuda")
print("ready", flush=True)
until = time.monotonic() + {seconds}
step = 0
while time.monotonic() < until:
    began = time.perf_counter()
    for _ in range(40):
        a = a @ a / 80
    torch.cuda.synchronize()
    run.log({{"step_ms": 1000 * (time.perf_counter() - began)}})
    step += 1
"""


def contention() -> dict[str, Any]:
    """Steps alone, then beside a second run on the same GPU."""
    nvml = open_nvml()
    home = Path(tempfile.mkdtemp(prefix="first-"))
    began = time.monotonic()
    first = begin(STEPS.format(name="first", take="1 << 30", seconds=38), home)
    assert first.stdout is not None
    first.stdout.readline()
    time.sleep(6)
    second_home = Path(tempfile.mkdtemp(prefix="second-"))
    at_s = time.monotonic()
    second = begin(STEPS.format(name="second", take="20 << 30", seconds=27), second_home)
    curve = []
    for _ in range(20):
        curve.append(short(nvml))
        time.sleep(1)
    theirs = finish(second, second_home, within_s=30, began=at_s)
    ours = finish(first, home, within_s=30, began=began)
    steps = column(home, "step_ms")
    wall = [(at, value) for at, value in steps]
    alone = [value for at, value in wall if at - wall[0][0] < 5]
    beside = [value for at, value in wall if 14 < at - wall[0][0] < 30]
    return result(
        {
            "the second is told of the first": any(
                "taken already" in text and "run" in text for text in theirs.warnings
            ),
            "the first is told that it is shared": any("is shared" in text for text in ours.warnings),
            "steps take longer": statistics.median(beside) > 1.3 * statistics.median(alone),
        },
        first=ours.told(),
        second=theirs.told(),
        alone_ms=statistics.median(alone),
        beside_ms=statistics.median(beside),
        curve=curve,
    )


def column(home: Path, key: str) -> list[tuple[float, float]]:
    """A metric of the only run, with the times of its rows."""
    from holter.journal.decoding import Decoder
    from holter.journal.place import Place
    from holter.journal.rundir import list_segments

    directory = next((home / "holter" / "runs").iterdir())
    found = []
    for paths in list_segments(str(directory)).values():
        place, decoder = Place(), Decoder()
        for piece in place.pieces(paths, is_final=True):
            found += [(row.at_ns / 1e9, row.values[key]) for _, row in decoder.tell(piece).rows() if key in row.values]
    return sorted(found)


def jax_takes_all() -> dict[str, Any]:
    """JAX as it is takes three quarters of the GPU when it begins; then it is asked for more than there is."""
    done = play(
        """
import time, holter
import jax.numpy as jnp
run = holter.init(project="gpu", name="jax")
x = jnp.ones((8, 8))
for step in range(8):
    run.log({"step": step})
    time.sleep(1)
jnp.ones((1 << 38,), dtype=jnp.float32).block_until_ready()
""",
        within_s=38,
    )
    return result(
        {
            "its preallocation is recognised": any("JAX has taken" in text for text in done.warnings),
            "the cause is named": done.why.get("cause") == "gpu-out-of-memory",
        },
        **done.told(),
    )
