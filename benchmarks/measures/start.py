"""Starting: `import holter`, then `init()` until the first `log()` returned.

The import is measured in CPU time inside fresh interpreters, in turn with `import msgspec`, because msgspec is the one
thing holter must load. What counts is the import together with a first look at `holter.init`, so that nothing that is
loaded later is left out. `init()` until the first `log()` returned, and `finish()` after 1,000 rows, are wall time in a
fresh process right after a plain `import holter`, in turn with the peers.
"""

import subprocess
import sys

import msgspec

from benchmarks.figures import Figure, Measured, Table, median, median_ratio, show
from benchmarks.plan import Plan
from benchmarks.trackers import LABELS
from benchmarks.trials import environment, in_turn, run_trial, trackers_of

AT_MOST_IMPORTS = 2.5
AT_MOST_FIRST_LOG_MS = 40.0

IMPORT = "import time; start = time.process_time(); {}; print(1000 * (time.process_time() - start))"
IMPORTS = {"plain": "import holter", "usable": "import holter; holter.init", "msgspec": "import msgspec"}


class Start(msgspec.Struct, frozen=True):
    import_ms: float
    first_log_ms: float
    rows_ms: float
    finish_ms: float


def measure(plan: Plan) -> Measured:
    imports: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for statement in IMPORTS.values():
        import_cpu_ms(plan, statement)  # whoever comes first pays for compiling
    for name in in_turn(list(IMPORTS), plan.pick(60, 3)):
        imports[name].append(import_cpu_ms(plan, IMPORTS[name]))
    trackers = trackers_of(plan, "holter")
    rounds = [trackers] * plan.pick(5, 1) + [["holter"]] * plan.pick(20, 2)
    found: dict[str, list[Start]] = {tracker: [] for tracker in trackers}
    for tracker in [each for some in rounds for each in in_turn(some, 1)]:
        start, _ = run_trial(plan, "start", tracker, Start)
        found[tracker].append(start)
    first = [each.first_log_ms for each in found["holter"]]
    ratio = median_ratio(imports["usable"], imports["msgspec"])
    figures = [
        Figure(name="import holter, ready for init(), CPU time", measured=median(imports["usable"]), unit="ms"),
        Figure(
            name="import holter, ready for init() / import msgspec, CPU time",
            measured=ratio,
            unit="×",
            at_most=AT_MOST_IMPORTS,
        ),
        Figure(name="import holter alone, CPU time", measured=median(imports["plain"]), unit="ms"),
        Figure(
            name="init() until the first log() returned",
            measured=median(first),
            unit="ms",
            at_most=AT_MOST_FIRST_LOG_MS,
        ),
        Figure(name="the slowest of these starts", measured=max(first), unit="ms"),
        Figure(name="finish()", measured=median([each.finish_ms for each in found["holter"]]), unit="ms"),
    ]
    raw = {"imports": imports} | {
        tracker: [msgspec.structs.asdict(each) for each in starts] for tracker, starts in found.items()
    }
    return Measured(figures=figures, tables=[_table(found)], raw=raw)


def import_cpu_ms(plan: Plan, statement: str) -> float:
    command = [sys.executable, "-c", IMPORT.format(statement)]
    done = subprocess.run(
        command, cwd=plan.scratch, env=environment(plan.scratch), capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _table(found: dict[str, list[Start]]) -> Table:
    fields = ("import_ms", "first_log_ms", "finish_ms")
    rows = [
        [LABELS[tracker], *(show(median([getattr(each, name) for each in starts]), "ms") for name in fields)]
        for tracker, starts in found.items()
    ]
    return Table("Starting and ending, wall time", ["", "import", "init() to first log()", "finish()"], rows)
