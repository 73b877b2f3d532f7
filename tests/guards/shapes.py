"""Programs whose memory moves as that of real trainings does: `python -m tests.guards.shapes SHAPE SEED SECONDS`.

Each logs its steps to holter, in a cgroup of a few hundred megabytes; `record.py` makes traces of them.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import holter

MIB = 1 << 20
PAUSES_S = (0.25, 0.5, 0.75, 1.0)
PAUSE_S = PAUSES_S[0]
held: list[object] = []


def take(mib: float) -> None:
    held.append(np.ones(int(mib * MIB), dtype=np.uint8))


def leak(draw: random.Random, step: int) -> None:
    if step == 0:
        take(draw.uniform(60, 120))
        held.append(draw.uniform(0.1, 0.4))
    take(float(held[1]))  # type: ignore[arg-type]  # drawn once, at the first step
    time.sleep(PAUSE_S)


def stairs(draw: random.Random, step: int) -> None:
    """A leak of one piece per epoch."""
    if step == 0:
        take(100)
    if step % 60 == 59:
        take(draw.uniform(4, 8))
    time.sleep(PAUSE_S)


def saw_leak(draw: random.Random, step: int) -> None:
    """Batches come and go, and a little of each stays."""
    if step == 0:
        take(80)
    batch = np.ones(int(draw.uniform(10, 40) * MIB), dtype=np.uint8)
    time.sleep(PAUSE_S)
    del batch
    take(0.12)


def late_leak(draw: random.Random, step: int) -> None:
    """All is well until something begins to hold on."""
    if step == 0:
        take(150)
    if step > 1500:
        take(0.2)
    time.sleep(PAUSE_S)


def warm_up(draw: random.Random, step: int) -> None:
    """The first steps build what all others use."""
    if step < 40:
        take(draw.uniform(3, 9))
    batch = np.ones(int(draw.uniform(5, 25) * MIB), dtype=np.uint8)
    time.sleep(PAUSE_S)
    del batch


def saw(draw: random.Random, step: int) -> None:
    """Epochs fill a buffer and let go of it."""
    if step == 0:
        take(60)
    if step % 120 == 119:
        del held[1:]
    take(1.6)
    time.sleep(PAUSE_S)


def plateau(draw: random.Random, step: int) -> None:
    """Nearly all of the limit from the first second on."""
    if step == 0:
        take(320)
    batch = np.ones(int(draw.uniform(1, 6) * MIB), dtype=np.uint8)
    time.sleep(PAUSE_S)
    del batch


def cache(draw: random.Random, step: int) -> None:
    """Reads a file that is larger than the limit, again and again: Linux keeps as much of it as it may."""
    if step == 0:
        take(80)
        file = tempfile.TemporaryFile(dir="/var/tmp")  # noqa: SIM115  open to the end
        for _ in range(600):
            file.write(draw.randbytes(MIB // 8) * 8)
        held.append(file)
    file = held[1]  # type: ignore[assignment]  # the file of the first step
    if not file.read(2 * MIB):
        file.seek(0)
    time.sleep(PAUSE_S)


def filling(draw: random.Random, step: int) -> None:
    """A cache of samples that grows ever slower."""
    if step == 0:
        take(60)
    if draw.random() < 0.985**step + 0.002 and len(held) < 120:
        take(2)
    time.sleep(PAUSE_S)


def caching(draw: random.Random, step: int) -> None:
    """The first epoch keeps what it reads, as evenly as a leak would; the others read that."""
    if step == 0:
        take(draw.uniform(50, 90))
        held.append(draw.uniform(0.15, 0.6))
        held.append(draw.uniform(100, 220) / float(held[1]))  # type: ignore[arg-type]  # drawn just now
    if step < float(held[2]):  # type: ignore[arg-type]
        take(float(held[1]))  # type: ignore[arg-type]
    time.sleep(PAUSE_S)


def bursts(draw: random.Random, step: int) -> None:
    if step == 0:
        take(90)
    size = draw.uniform(80, 180) if draw.random() < 0.02 else draw.uniform(2, 10)
    batch = np.ones(int(size * MIB), dtype=np.uint8)
    time.sleep(PAUSE_S)
    del batch


def phases(draw: random.Random, step: int) -> None:
    """Every two hundred steps a validation that logs nothing, and a checkpoint."""
    if step == 0:
        take(100)
    batch = np.ones(int(draw.uniform(10, 30) * MIB), dtype=np.uint8)
    if step % 200 == 199:
        pieces = []
        for _ in range(40):
            pieces.append(np.ones(3 * MIB, dtype=np.uint8))
            time.sleep(draw.uniform(0.3, 0.6))
        del pieces
    time.sleep(PAUSE_S)
    del batch


def stages(draw: random.Random, step: int) -> None:
    """Grows in stages that each stop: a dataset is loaded, then a model, then its optimizer."""
    if step < 100 or 400 < step < 460 or 1200 < step < 1230:
        take(draw.uniform(0.8, 1.4))
    time.sleep(PAUSE_S)


SHAPES: dict[str, tuple[Callable[[random.Random, int], None], int]] = {
    each.__name__.replace("_", "-"): (each, limit)
    for each, limit in (
        (leak, 400),
        (stairs, 340),
        (saw_leak, 400),
        (late_leak, 460),
        (warm_up, 500),
        (saw, 420),
        (plateau, 372),
        (cache, 360),
        (filling, 420),
        (caching, 460),
        (bursts, 420),
        (phases, 420),
        (stages, 460),
    )
}
"""Each with the limit of its cgroup in MiB."""


def main(shape: str, seed: int, seconds: float) -> None:
    global PAUSE_S
    draw, (move, _) = random.Random(seed), SHAPES[shape]
    PAUSE_S = PAUSES_S[seed % 4] if seed > 20 else PAUSES_S[0]
    run = holter.init(project="traces", name=f"{shape}-{seed}", id=f"{shape}-{seed}", mode="offline")
    until = time.monotonic() + seconds
    step = 0
    while time.monotonic() < until:
        move(draw, step)
        run.log({"loss": 1 / (step + 1)})
        step += 1


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
