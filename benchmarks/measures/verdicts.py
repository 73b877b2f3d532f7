"""How soon after a death `holter why` tells its cause.

Programs begin, log and die one after the other: of SIGKILL, SIGTERM, a segmentation fault, `abort()`, an exception, an
exit code. `holter why` is started in the moment of the death, and the clock stops when it has printed the cause. Before
it can, the sidecar has to see the death and to ask everybody about it; how long that took stands beside. p95 over all.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.figures import Figure, Measured, Table, median, show
from benchmarks.plan import Plan
from benchmarks.reading import run_directories
from benchmarks.trials import TrialFailed, environment
from holter.journal.digest import digest
from holter.journal.rundir import list_segments
from holter.model.evidence import ALL_ASKED
from holter.model.records import Looked

AT_MOST_S = 1.2
REPETITIONS = 5
LIVES_S = 1.2
ASKED_WITHIN_S = 10.0

PROGRAM = """
import ctypes, os, sys, time, holter
holter.init().log({"loss": 1.0})
print(flush=True)
sys.stdin.readline()
LAST = {"segfault": lambda: ctypes.string_at(0), "abort": os.abort, "raise": lambda: 1 / 0, "exit": lambda: sys.exit(3)}
LAST[sys.argv[1]]()
"""
CAUSES = {
    "kill": "killed",
    "terminate": "terminated",
    "segfault": "segmentation-fault",
    "abort": "aborted",
    "raise": "uncaught-exception",
    "exit": "nonzero-exit",
}
SIGNALS = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM}


class Delay(msgspec.Struct, frozen=True):
    """Seconds after the death."""

    asked_s: float
    told_s: float


def measure(plan: Plan) -> Measured:
    endings = [ending for _ in range(plan.pick(REPETITIONS, 1)) for ending in plan.pick([*CAUSES], ["kill"])]
    found: dict[str, list[Delay]] = {}
    for ending in endings:
        found.setdefault(ending, []).append(die(ending, plan.scratch))
    told, asked = ([getattr(each, name) for some in found.values() for each in some] for name in ("told_s", "asked_s"))
    figures = [
        Figure(name="death until `holter why` tells its cause, p95", measured=_p95(told), unit="s", at_most=AT_MOST_S),
        Figure(name="the same, median", measured=median(told), unit="s"),
        Figure(name="death until everybody was asked, p95", measured=_p95(asked), unit="s"),
    ]
    rows = [
        [
            CAUSES[ending],
            show(median([each.asked_s for each in some]), "s"),
            show(median([each.told_s for each in some]), "s"),
            str(len(some)),
        ]
        for ending, some in found.items()
    ]
    table = Table("Deaths", ["", "everybody asked", "told", "deaths"], rows)
    raw = {ending: [msgspec.structs.asdict(each) for each in some] for ending, some in found.items()}
    return Measured(figures=figures, tables=[table], raw=raw)


def die(ending: str, scratch: Path) -> Delay:
    """One death. Raises TrialFailed where its cause is told wrong."""
    home = Path(tempfile.mkdtemp(prefix="verdict-", dir=scratch))
    environ = environment(home)
    command = [sys.executable, "-c", PROGRAM, ending]
    with subprocess.Popen(
        command, env=environ, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdout.readline()
        time.sleep(LIVES_S)
        death = os.pidfd_open(program.pid)
        if ending in SIGNALS:
            program.send_signal(SIGNALS[ending])
        else:
            program.stdin.write(b"\n")
            program.stdin.flush()
        select.select([death], [], [])
        died_at = time.monotonic()
        os.close(death)
        program.wait()
    why = [sys.executable, "-m", "holter", "why", "--json"]
    with subprocess.Popen(why, env=environ, cwd=home, stdout=subprocess.PIPE) as asking:
        answer, _ = asking.communicate()
        told_s = time.monotonic() - died_at
    if (cause := json.loads(answer)["cause"]) != CAUSES[ending]:
        raise TrialFailed(f"the cause of {ending} was told as {cause}")
    return Delay(asked_s=_asked_s(home, died_at), told_s=told_s)


def _asked_s(home: Path, died_at: float) -> float:
    """When the sidecar wrote down that it had asked everybody, by its own clock."""
    death_ns = time.time_ns() - round(1e9 * (time.monotonic() - died_at))
    deadline = time.monotonic() + ASKED_WITHIN_S
    while time.monotonic() < deadline:
        for directory in run_directories(home):
            for journal, paths in list_segments(str(directory)).items():
                for record in getattr(digest(journal, paths), "said", ()):
                    if isinstance(record, Looked) and record.source == ALL_ASKED:
                        return max(0.0, (record.at_ns - death_ns) / 1e9)
        time.sleep(0.01)
    raise TrialFailed("the sidecar asked nobody about the death")


def _p95(delays_s: list[float]) -> float:
    return float(np.percentile(delays_s, 95))
