"""Memory line by line: `@holter.profile_memory` beside memory_profiler's `@profile`.

A numpy function of 100 lines, three of which take 2 MB each, in fresh processes under one of the two, in turn. Each
process calls the bare and the profiled function alternately; the overhead is the CPU time of the fastest profiled call
less that of the fastest bare one, the median of the processes. Lines are blamed that took more than 1 MB in the first
call.
"""

import json
import subprocess
import sys
from pathlib import Path

import msgspec

from benchmarks.figures import Figure, Measured, Table, median, show
from benchmarks.plan import Plan
from benchmarks.trials import environment, in_turn

# "At least five times less": of memory_profiler's overhead, at most a fifth.
AT_MOST_OF_MEMORY_PROFILER = 0.2
LINES = 100
LARGE = dict.fromkeys((20, 50, 80), 250_000)
KINDS = (
    "a = numpy.ones(2_000)",
    "b = a * 2.0",
    "c = numpy.cumsum(b)",
    "d = numpy.sqrt(c)",
    "e = float((a * d).sum())",
)

PROGRAM = """
import json, sys, time
from line_target import work
way, calls = sys.argv[1], int(sys.argv[2])
if way == "holter":
    import holter
    profiled = holter.profile_memory(show=False)(work)
    profiled()
    blamed = [line for line, each in profiled.memory_profile.lines.items() if each.increment_bytes > 1e6]
else:
    import memory_profiler
    profiler = memory_profiler.LineProfiler()
    profiled = profiler(work)
    profiled()
    [(_, lines)] = profiler.code_map.items()
    blamed = [line for line, each in lines if each and each[0] > 1 and line > 3]

def took_ms(function):
    start = time.thread_time()
    function()
    return 1000 * (time.thread_time() - start)

pairs = [(took_ms(work), took_ms(profiled)) for _ in range(calls)]
bare_ms, profiled_ms = (min(times) for times in zip(*pairs))
print(json.dumps({"bare_ms": bare_ms, "profiled_ms": profiled_ms, "blamed": sorted(blamed)}))
"""


class Trial(msgspec.Struct, frozen=True):
    bare_ms: float
    profiled_ms: float
    blamed: list[int]

    @property
    def overhead_ms(self) -> float:
        return self.profiled_ms - self.bare_ms


def measure(plan: Plan) -> Measured:
    (plan.scratch / "line_target.py").write_text(source())
    found: dict[str, list[Trial]] = {"holter": [], "memory_profiler": []}
    for way in in_turn(list(found), plan.pick(7, 1)):
        found[way].append(run(plan.scratch, way, calls=plan.pick(150, 2)))
    ours, theirs = (median([trial.overhead_ms for trial in trials]) for trials in found.values())
    blamed = {way: {line for trial in trials for line in trial.blamed} for way, trials in found.items()}
    figures = [
        Figure(
            name="profile_memory, overhead / that of memory_profiler",
            measured=ours / theirs,
            unit="×",
            at_most=AT_MOST_OF_MEMORY_PROFILER,
        ),
        Figure(
            name="lines that only one of the two blames",
            measured=len(blamed["holter"] ^ blamed["memory_profiler"]),
            at_most=0,
        ),
        Figure(name="lines that both blame", measured=len(blamed["holter"] & blamed["memory_profiler"])),
        Figure(name="profile_memory, for each line", measured=1000 * ours / LINES, unit="µs"),
        Figure(name="memory_profiler, for each line", measured=1000 * theirs / LINES, unit="µs"),
    ]
    rows = [
        [
            way,
            show(median([trial.bare_ms for trial in trials]), "ms"),
            show(median([trial.profiled_ms for trial in trials]), "ms"),
            ", ".join(map(str, sorted(blamed[way]))),
        ]
        for way, trials in found.items()
    ]
    table = Table("A call of 100 lines, CPU time", ["", "bare", "profiled", "lines that it blames"], rows)
    raw = {way: [msgspec.structs.asdict(trial) for trial in trials] for way, trials in found.items()}
    return Measured(figures=figures, tables=[table], raw=raw)


def source() -> str:
    """A function of so many lines; those that are to be blamed take new memory each."""
    lines = [f"kept_{at} = numpy.ones({LARGE[at]})" if at in LARGE else KINDS[at % 5] for at in range(LINES)]
    return "import numpy\n\ndef work():\n" + "".join(f"    {line}\n" for line in lines)


def run(directory: Path, way: str, *, calls: int) -> Trial:
    """One fresh process."""
    environ = environment(directory) | {"PYTHONDONTWRITEBYTECODE": "1"}
    environ["PYTHONPATH"] += f":{directory}"
    command = [sys.executable, "-c", PROGRAM, way, str(calls)]
    done = subprocess.run(command, cwd=directory, env=environ, capture_output=True, text=True, check=True)
    return msgspec.convert(json.loads(done.stdout.splitlines()[-1]), Trial)
