"""The sidecar at one sample a second.

A program logs 10 scalars 20 times a second; its sidecar is read from /proc for a minute (`--long`: ten). CPU is that
of everything after the first 5 s, in which it loads its probes and collects the facts of the host once. Growth is
from the first sample after the first minute (without `--long`: the first quarter) to the last; a mapped journal adds
its own new pages to it, which are not memory that anybody has to keep.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.figures import Figure, Measured, Table, show
from benchmarks.plan import Plan
from benchmarks.processes import Snapshot, await_departure, await_sidecar, snapshot
from benchmarks.trials import environment

AT_MOST_MB = 45.0
AT_MOST_CPU_PERCENT = 1.0
AT_MOST_GROWTH_MB = 1.0
SETTLING_S = 5.0

PROGRAM = """
import time, holter
run = holter.init(project="sidecar")
for step in range(20 * 3600):
    run.log({f"metric_{number:03d}": step * 0.5 for number in range(10)}, step=step)
    time.sleep(0.05)
"""


def measure(plan: Plan) -> Measured:
    seconds = 600.0 if plan.is_long else plan.pick(70.0, 1.5)
    settling_s = plan.pick(SETTLING_S, 0.5)
    with recorded_program(plan) as sidecar:
        start = time.monotonic()
        taken: list[Snapshot] = []
        while time.monotonic() - start < settling_s + seconds:
            taken.append(snapshot(sidecar))
            time.sleep(plan.pick(1.0, 0.1))
    settled = [each for each in taken if each.at_s - start >= settling_s]
    first, last = settled[0], settled[-1]
    ripe_s = 60.0 if plan.is_long else seconds / 4
    ripe = next(each for each in settled if each.at_s - start >= ripe_s)
    figures = [
        Figure(name="sidecar, most RSS", measured=last.peak_mb, unit="MB", at_most=AT_MOST_MB),
        Figure(
            name="sidecar, CPU of a core",
            measured=100 * (last.cpu_s - first.cpu_s) / (last.at_s - first.at_s),
            unit="%",
            at_most=AT_MOST_CPU_PERCENT,
        ),
        Figure(name="sidecar, growth of RSS", measured=last.rss_mb - ripe.rss_mb, unit="MB", at_most=AT_MOST_GROWTH_MB),
        Figure(name="sidecar, growth of open files", measured=last.descriptors - ripe.descriptors, at_most=0),
        Figure(name="sidecar, growth of anonymous memory", measured=last.anonymous_mb - ripe.anonymous_mb, unit="MB"),
        Figure(name="sidecar, CPU of its first 5 s", measured=1000 * first.cpu_s, unit="ms"),
        Figure(name="watched for", measured=last.at_s - start, unit="s"),
    ]
    raw = {"samples": [msgspec.structs.asdict(each) for each in taken]}
    return Measured(figures=figures, tables=[_table(start, first, ripe, last)], raw=raw)


@contextlib.contextmanager
def recorded_program(plan: Plan) -> Iterator[int]:
    """The pid of the sidecar of a program that runs as long as this."""
    data = Path(tempfile.mkdtemp(prefix="sidecar-", dir=plan.scratch))
    with subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=data, env=environment(data)) as program:
        try:
            yield await_sidecar(data)
        finally:
            program.kill()
    await_departure(data, within_s=10.0)
    shutil.rmtree(data, ignore_errors=True)


def _table(start: float, *snapshots: Snapshot) -> Table:
    rows = [
        [
            show(each.at_s - start, "s"),
            show(each.rss_mb, "MB"),
            show(each.anonymous_mb, "MB"),
            str(each.descriptors),
            str(each.threads),
            show(each.cpu_s, "s"),
        ]
        for each in snapshots
    ]
    return Table(
        "The sidecar over time", ["after", "RSS", "of it anonymous", "open files", "threads", "CPU so far"], rows
    )
