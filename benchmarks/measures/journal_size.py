"""1,000,000 rows of 10 scalars: their size on the disk, and the time to read them.

The rows are recorded as any run is, sidecar included, and the whole directory of the run counts once everybody has
left it. Reading is `holter.journal.columns.read_tables` in a fresh process: all columns as numpy arrays, each
checksum verified, files in the page cache; CPU time without that of the imports.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from benchmarks.figures import Figure, Measured, median
from benchmarks.plan import Plan
from benchmarks.processes import await_departure
from benchmarks.reading import run_directories
from benchmarks.trials import environment

AT_MOST_BYTES = 110.0
AT_MOST_READ_S = 0.3

WRITE = """
import sys, time, holter
run = holter.init(project="size")
keys = [f"metric_{number:03d}" for number in range(10)]
start = time.perf_counter()
for step in range(int(sys.argv[1])):
    run.log(dict.fromkeys(keys, step * 0.5), step=step)
print(time.perf_counter() - start)
run.finish()
"""
READ = """
import json, sys, time
from holter.journal.columns import read_tables
from holter.journal.digest import read_opened
from holter.journal.rundir import list_segments
journals = list_segments(sys.argv[1]).values()
[paths] = [paths for paths in journals if read_opened(paths[0]).writer == "client"]
wall, cpu = time.perf_counter(), time.process_time()
tables = read_tables(paths)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
rows = sum(len(table.steps) for table in tables.tables) + len(tables.loose)
last = max(int(table.steps[-1]) for table in tables.tables)
print(json.dumps({"rows": rows, "last_step": last, "wall_s": wall, "cpu_s": cpu}))
"""


class Reading(msgspec.Struct, frozen=True):
    rows: int
    last_step: int
    wall_s: float
    cpu_s: float


def measure(plan: Plan) -> Measured:
    rows = plan.pick(1_000_000, 5_000)
    with tempfile.TemporaryDirectory(prefix="size-", dir=plan.scratch) as scratch:
        data = Path(scratch)
        logging_s = float(run_program(WRITE, str(rows), data=data))
        await_departure(data, within_s=10.0)
        [run] = run_directories(data)
        files = [path.stat() for path in run.iterdir()]
        used, allocated = sum(each.st_size for each in files), 512 * sum(each.st_blocks for each in files)
        readings = [
            msgspec.json.decode(run_program(READ, str(run), data=data), type=Reading) for _ in range(plan.pick(7, 1))
        ]
    assert {(each.rows, each.last_step) for each in readings} == {(rows, rows - 1)}
    cpu_s = median([each.cpu_s for each in readings])
    figures = [
        Figure(name="bytes a row of 10 scalars", measured=used / rows, unit="bytes", at_most=AT_MOST_BYTES),
        Figure(name="bytes a row in blocks of the disk", measured=allocated / rows, unit="bytes"),
        Figure(name="reading a million rows into numpy, CPU time", measured=cpu_s, unit="s", at_most=AT_MOST_READ_S),
        Figure(
            name="reading a million rows into numpy, wall time",
            measured=median([each.wall_s for each in readings]),
            unit="s",
        ),
        Figure(name="logging a row, with the loop around it", measured=1e6 * logging_s / rows, unit="µs"),
    ]
    return Measured(figures=figures, raw={"readings": [msgspec.structs.asdict(each) for each in readings]})


def run_program(source: str, *arguments: str, data: Path) -> str:
    command = [sys.executable, "-c", source, *arguments]
    return subprocess.run(command, cwd=data, env=environment(data), capture_output=True, text=True, check=True).stdout
