"""Kills logging programs at random moments and compares what they had been promised with what is there."""

import contextlib
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import IO

import msgspec

from benchmarks.kill_target import ABOUT_TO_START, REPORT, row_of
from benchmarks.processes import await_departure, await_sidecar, end, find_sidecar
from benchmarks.reading import read_rows, read_state, run_directories
from benchmarks.trials import environment
from holter.journal.decoding import LoggedRow

LIFE_S = 0.8
INFANCY_S = 0.2
START_WITHIN_S = 20.0
LEAVE_WITHIN_S = 10.0
LISTEN_EVERY_S = 0.005
MOST_UNBORN = 20


class Aim(StrEnum):
    """Who dies, and when."""

    PROCESS = "process"
    PROCESS_AND_SIDECAR = "process and sidecar at once"
    INFANT = "process within 200 ms of init()"
    SIDECAR_STOPPED = "process, sidecar stopped before"


class Struck(msgspec.Struct, frozen=True, kw_only=True):
    """What one kill left behind."""

    aim: Aim
    acknowledged: int
    found: int
    lost: int
    invented: int
    state: str
    """Empty where the program died inside `init()`, before there was a run: such a kill proves nothing."""
    sidecar_left: bool | None
    """The sidecar ended by itself; None where nobody looked."""
    unborn: int = 0
    """How many kills before this one came too early to leave a run."""


class Target:
    """A running program and its reports. Ended by whoever made it."""

    def __init__(self, data: Path, pause_s: float) -> None:
        command = [sys.executable, "-m", "benchmarks.kill_target", str(pause_s)]
        self._complaints = data / "stderr"
        with open(self._complaints, "wb") as stderr:
            self._process = subprocess.Popen(
                command, cwd=data, env=environment(data), stdout=subprocess.PIPE, stderr=stderr, bufsize=0
            )
        assert self._process.stdout is not None
        self._reports: IO[bytes] = self._process.stdout
        self._fd = self._reports.fileno()
        os.set_blocking(self._fd, False)
        self._bytes = b""

    def await_reports(self, count: int, within_s: float) -> None:
        """Return as soon as so many have come. Raises TimeoutError."""
        deadline = time.monotonic() + within_s
        while len(self._bytes) < count * REPORT.size:
            if not select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))[0] or not self._take():
                raise TimeoutError(f"the program did not start within {within_s:g} s")

    def listen(self, seconds: float) -> None:
        """Take what comes in this time. Not woken by each report, which would slow the program down."""
        deadline = time.monotonic() + seconds
        while (left_s := deadline - time.monotonic()) > 0:
            time.sleep(min(left_s, LISTEN_EVERY_S))
            with contextlib.suppress(BlockingIOError):
                self._take()

    def kill(self, *others: int) -> None:
        """At once, as near as two system calls can be. A program that is buried already is left alone."""
        blows: list[Callable[[], None]] = [self._process.kill, *(partial(end, pid) for pid in others)]
        random.shuffle(blows)
        for blow in blows:
            blow()

    def bury(self) -> int:
        """Reap it and take what it still had in the pipe; returns how many rows were acknowledged.

        Raises ChildProcessError where something else than the kill had ended it.
        """
        if (code := self._process.wait()) != -signal.SIGKILL:
            last = self._complaints.read_text().strip().rpartition("\n")[2]
            raise ChildProcessError(f"the program ended by itself with exit code {code}: {last}")
        # A child that was just being started may hold the pipe for a moment longer.
        while select.select([self._fd], [], [], LEAVE_WITHIN_S)[0] and self._take():
            pass
        self._reports.close()
        # A report is one write of 8 bytes, which a pipe takes whole or not at all.
        steps = [step for (step,) in REPORT.iter_unpack(self._bytes) if step != ABOUT_TO_START]
        assert steps == list(range(len(steps)))
        return len(steps)

    def _take(self) -> bool:
        data = os.read(self._fd, 1 << 20)
        self._bytes += data
        return bool(data)


def strike(aim: Aim, scratch: Path) -> Struck:
    """One kill that left a run; one that came too early for that is made again, with another program.

    Where it can't be judged, the reason stands in place of the state, and the other kills go on.
    """
    try:
        for unborn in range(MOST_UNBORN):
            struck = start_and_kill(aim, scratch)
            # Where a row was acknowledged there must be a run: that one is judged, and found wanting.
            if struck.state or struck.acknowledged:
                return msgspec.structs.replace(struck, unborn=unborn)
        raise TimeoutError(f"{MOST_UNBORN} programs in a row had no run yet when they were killed")
    except (OSError, AssertionError) as error:
        reason = f"not judged: {error!r}"
        return Struck(aim=aim, acknowledged=0, found=0, lost=0, invented=0, state=reason, sidecar_left=None)


def start_and_kill(aim: Aim, scratch: Path) -> Struck:
    """Start a program, let it log, kill it, ask for its state at once, look at what is left."""
    data = Path(tempfile.mkdtemp(prefix="kill-", dir=scratch))
    target = Target(data, pause_s=random.choice((0.0, 0.0001, 0.001)))
    try:
        kill_at_random(target, aim, data)
        acknowledged = target.bury()
        runs = run_directories(data)
        # A directory in which nothing was ever written is no run yet.
        is_born = any(path.read_bytes().strip(b"\0") for run in runs for path in run.glob("*.seg"))
        state = read_state(data, runs[0].name) if is_born else ""
        resume(data)
        sidecar_left = await_departure(data, LEAVE_WITHIN_S)
        # After everybody who may still have had something to do with the files.
        rows = [row for run in runs for row in read_rows(run)]
        lost, invented = compare(rows, acknowledged)
        return Struck(
            aim=aim,
            acknowledged=acknowledged,
            found=len(rows),
            lost=lost,
            invented=invented,
            state=state,
            sidecar_left=sidecar_left,
        )
    finally:
        target.kill()
        _clear(data)


def kill_at_random(target: Target, aim: Aim, data: Path) -> None:
    """Raises TimeoutError where the program or its sidecar does not get going."""
    is_infant = aim is Aim.INFANT
    target.await_reports(1 if is_infant else 2, START_WITHIN_S)
    others = []
    if aim in (Aim.PROCESS_AND_SIDECAR, Aim.SIDECAR_STOPPED):
        others = [await_sidecar(data, START_WITHIN_S)]
    if aim is Aim.SIDECAR_STOPPED:
        target.listen(random.uniform(0, LIFE_S))
        os.kill(others.pop(), signal.SIGSTOP)
    target.listen(random.uniform(0, INFANCY_S if is_infant else LIFE_S))
    target.kill(*others)


def resume(data: Path) -> None:
    """Let a stopped sidecar go on."""
    if (sidecar := find_sidecar(data)) is not None:
        os.kill(sidecar, signal.SIGCONT)


def compare(rows: Sequence[LoggedRow], acknowledged: int) -> tuple[int, int]:
    """How many acknowledged rows are missing, and how many rows nobody logged.

    The row behind the last acknowledged one may be there: it was in flight, or its report was.
    """
    seen = Counter(row.step for row in rows)
    lost = sum(step not in seen for step in range(acknowledged))
    unasked = [row for row in rows if row.step > acknowledged or row.values != row_of(row.step)]
    repeated = sum(count - 1 for count in seen.values())
    return lost, len(unasked) + repeated


def strike_all(counts: dict[Aim, int], scratch: Path, *, lanes: int) -> list[Struck]:
    """All kills, so many at a time, in mixed order."""
    aims = [aim for aim, count in counts.items() for _ in range(count)]
    random.shuffle(aims)
    # Processes and not threads, because reading rows back keeps a core busy; spawned, for a fork would copy our pipes.
    with ProcessPoolExecutor(lanes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(strike, aims, [scratch] * len(aims)))


def _clear(data: Path) -> None:
    while (sidecar := find_sidecar(data)) is not None:
        end(sidecar)
        time.sleep(0.01)
    shutil.rmtree(data, ignore_errors=True)
