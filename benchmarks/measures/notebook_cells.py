"""What a cell costs more with holter's hooks.

One IPython shell runs cells that do next to nothing, first as it is, then after `%load_ext holter`, which records the
kernel: their time, memory, source and output. In fresh processes; figures are medians of each process' median cell.
The last figure is that of cells that take 32 MB each, after which the namespace is looked at.
"""

import json
import subprocess
import sys

import msgspec

from benchmarks.figures import Figure, Measured, Table, median, show
from benchmarks.plan import Plan
from benchmarks.trials import environment

AT_MOST_MS = 1.0

PROGRAM = """
import json, sys, time
from IPython.core.interactiveshell import InteractiveShell

cells = int(sys.argv[1])
shell = InteractiveShell.instance()
shell.history_manager.enabled = False

def cell_ms(code):
    start = time.perf_counter()
    shell.run_cell(code, store_history=True)
    return 1000 * (time.perf_counter() - start)

def median(values):
    return sorted(values)[len(values) // 2]

shell.run_cell("import numpy")
large = "kept = numpy.ones(4_000_000) if len(globals().get('kept', '')) != 4_000_000 else None"
bare = median([cell_ms(f"x = {n}") for n in range(cells)])
bare_large = median([cell_ms(large) for n in range(cells // 5 + 2)])
shell.run_line_magic("load_ext", "holter")
cell_ms("y = 1")
hooked = median([cell_ms(f"x = {n}") for n in range(cells)])
hooked_large = median([cell_ms(large) for n in range(cells // 5 + 2)])
print()
print(json.dumps([bare, hooked, bare_large, hooked_large]))
"""


class Trial(msgspec.Struct, frozen=True, array_like=True):
    bare_ms: float
    hooked_ms: float
    bare_large_ms: float
    hooked_large_ms: float


def measure(plan: Plan) -> Measured:
    trials = [run(plan, cells=plan.pick(300, 10)) for _ in range(plan.pick(7, 1))]
    figures = [
        Figure(
            name="hooks, for each cell",
            measured=median([each.hooked_ms - each.bare_ms for each in trials]),
            unit="ms",
            at_most=AT_MOST_MS,
        ),
        Figure(
            name="hooks, for a cell that takes or gives back 32 MB",
            measured=median([each.hooked_large_ms - each.bare_large_ms for each in trials]),
            unit="ms",
        ),
    ]
    rows = [
        [
            "x = 1",
            show(median([each.bare_ms for each in trials]), "ms"),
            show(median([each.hooked_ms for each in trials]), "ms"),
        ],
        [
            "32 MB",
            show(median([each.bare_large_ms for each in trials]), "ms"),
            show(median([each.hooked_large_ms for each in trials]), "ms"),
        ],
    ]
    table = Table("A cell", ["", "bare", "with hooks"], rows)
    return Measured(figures=figures, tables=[table], raw={"trials": [msgspec.structs.asdict(each) for each in trials]})


def run(plan: Plan, *, cells: int) -> Trial:
    """One fresh process."""
    command = [sys.executable, "-c", PROGRAM, str(cells)]
    done = subprocess.run(
        command, cwd=plan.scratch, env=environment(plan.scratch), capture_output=True, text=True, check=True
    )
    return msgspec.convert(json.loads(done.stdout.splitlines()[-1]), Trial)
