"""Output of programs that are killed.

Programs under `holter run` write numbered lines with `write(2)`, some back to back, some with pauses, into a pipe, onto
a terminal or into a file, and count what they wrote in memory that outlives them. They are killed with SIGKILL at a
random moment of the first 0.6 s. A byte is lost if it was written before the death and is not in the run's transcript;
it is invented if it is there and was not written.
"""

import contextlib
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from benchmarks.figures import Figure, Measured, Table, show
from benchmarks.plan import Plan
from benchmarks.processes import await_departure
from benchmarks.trials import environment
from holter.console.reading import ConsoleReader

KILLS, QUICK_KILLS = 100, 3
LIFE_S = 0.6
START_WITHIN_S = 20.0
LEAVE_WITHIN_S = 15.0
LINE_BYTES = 10
# Counts each line in the shared memory after write() has returned for it.
TARGET = """
import mmap, os, sys, time
count = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 8)
step, pause_s = 0, float(sys.argv[2])
while True:
    os.write(1, b"%09d\\n" % step)
    step += 1
    count[:] = step.to_bytes(8, "little")
    if pause_s: time.sleep(pause_s)
"""


class Struck(msgspec.Struct, frozen=True, kw_only=True):
    """What one kill left behind, in bytes."""

    where: str
    written: int
    lost: int
    invented: int


def measure(plan: Plan) -> Measured:
    wheres = [("pipe", "terminal", "file")[number % 3] for number in range(plan.pick(KILLS, QUICK_KILLS))]
    with ThreadPoolExecutor(2 * len(os.sched_getaffinity(0))) as pool:
        struck = list(pool.map(lambda where: strike(where, plan.scratch), wheres))
    figures = [
        Figure(name="bytes of console lost in kills of the program", measured=_sum(struck, "lost"), at_most=0),
        Figure(name="bytes of console invented", measured=_sum(struck, "invented"), at_most=0),
        Figure(name="kills", measured=len(struck)),
        Figure(name="bytes written", measured=_sum(struck, "written")),
    ]
    raw = {"kills": [msgspec.structs.asdict(each) for each in struck]}
    return Measured(figures=figures, tables=[_table(struck)], raw=raw)


def strike(where: str, scratch: Path) -> Struck:
    """Start a program, let it print, kill it, and compare what it wrote with what was kept."""
    place = Path(tempfile.mkdtemp(prefix="console-", dir=scratch))
    counter = place / "count"
    counter.write_bytes(bytes(8))
    pause_s = random.choice((0.0, 0.0001, 0.001))
    target = [sys.executable, "-c", TARGET, str(counter), str(pause_s)]
    command = [sys.executable, "-m", "holter", "run", "--", *target]
    ours, theirs = _open(where, place)
    try:
        launcher = subprocess.Popen(command, stdout=theirs, env=environment(place), cwd=place)
        os.close(theirs)
        reader = threading.Thread(target=_read, args=(ours,), daemon=True)
        reader.start()
        _await_lines(counter)
        time.sleep(random.uniform(0, LIFE_S))
        os.kill(_child_of(launcher.pid), signal.SIGKILL)
        assert launcher.wait(START_WITHIN_S) == 128 + signal.SIGKILL
        reader.join(START_WITHIN_S)
        await_departure(place, LEAVE_WITHIN_S)
        return _compare(where, _count(counter) * LINE_BYTES, place)
    finally:
        os.close(ours)
        shutil.rmtree(place, ignore_errors=True)


def _compare(where: str, written: int, place: Path) -> Struck:
    (directory,) = (place / "runs").iterdir()
    kept = b"".join(printed.data for printed in ConsoleReader(str(directory)).hear())
    # The line in flight may have been written and not counted.
    wanted = b"".join(b"%09d\n" % step for step in range(written // LINE_BYTES + 1))
    same = next(
        (at for at, (a, b) in enumerate(zip(kept, wanted, strict=False)) if a != b), min(len(kept), len(wanted))
    )
    return Struck(where=where, written=written, lost=max(0, written - same), invented=len(kept) - same)


def _open(where: str, place: Path) -> tuple[int, int]:
    """A descriptor to read from and one for the command."""
    if where == "file":
        path = place / "out.txt"
        theirs = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        return os.open(path, os.O_RDONLY), theirs
    return os.openpty() if where == "terminal" else os.pipe()


def _read(fd: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(fd, 65536):
            continue


def _await_lines(counter: Path) -> None:
    deadline = time.monotonic() + START_WITHIN_S
    while _count(counter) == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the program did not print within {START_WITHIN_S:g} s")
        time.sleep(0.01)


def _count(counter: Path) -> int:
    with counter.open("rb") as file, mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ) as memory:
        return int.from_bytes(memory[:], "little")


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _sum(struck: list[Struck], name: str) -> int:
    return sum(getattr(each, name) for each in struck)


def _table(struck: list[Struck]) -> Table:
    rows = []
    for where in sorted({each.where for each in struck}):
        of_where = [each for each in struck if each.where == where]
        rows.append(
            [where, *map(show, (len(of_where), *(_sum(of_where, name) for name in ("written", "lost", "invented"))))]
        )
    return Table("Killed while printing into a", ["", "kills", "bytes written", "lost", "invented"], rows)
