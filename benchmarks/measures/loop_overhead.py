"""A training loop in small: `rand(100000); sleep(0.0001); log(2 scalars)`, 10,000 times.

The loop runs in a fresh process with each tracker and with none, in turn. Measured are the time inside `log()` as a
share of the loop's time, and the CPU time of all processes from the first instruction of the program to the last of
its helpers: interpreter, imports, `init()`, loop, `finish()`, sidecar. Linux adds it up
(`benchmarks/reaper.py`), so nothing escapes: a helper that the program waits for counts as the program's, one that it
leaves behind is counted apart. Ratios to the loop without tracker are medians of the ratios within a repetition. Next
to the difference stands the sum of holter's own parts: import, `init()` and `finish()`, the time inside `log()`, the
sidecar.
"""

import msgspec

from benchmarks.figures import Figure, Measured, Table, median, median_ratio, show
from benchmarks.plan import Plan
from benchmarks.trackers import LABELS
from benchmarks.trials import Usage, in_turn, run_trial, trackers_of

AT_MOST_INSIDE_PERCENT = 0.6
AT_MOST_CPU_PERCENT = 4.0


class Loop(msgspec.Struct, frozen=True):
    loop_s: float
    inside_s: float
    call_us: float
    start_and_end_cpu_s: float
    """For the import, `init()` and `finish()`, in this process."""


Trial = tuple[Loop, Usage]


def measure(plan: Plan) -> Measured:
    trackers = trackers_of(plan, "none", "limit", "holter")
    arguments = {"iterations": plan.pick(10_000, 300)}
    # All of them for comparison, the two that decide a bar more often.
    rounds = [trackers] * plan.pick(3, 1) + [["none", "holter"]] * plan.pick(6, 0)
    found: dict[str, list[Trial]] = {tracker: [] for tracker in trackers}
    for tracker in [each for some in rounds for each in in_turn(some, 1)]:
        found[tracker].append(run_trial(plan, "loop", tracker, Loop, arguments=arguments))
    inside = {tracker: median([100 * loop.inside_s / loop.loop_s for loop, _ in found[tracker]]) for tracker in found}
    helpers = median([usage.helper_cpu_s for _, usage in found["holter"]])
    figures = [
        Figure(
            name="time inside log(), of the loop", measured=inside["holter"], unit="%", at_most=AT_MOST_INSIDE_PERCENT
        ),
        Figure(name="time inside the limit's log(), of the loop", measured=inside["limit"], unit="%"),
        Figure(
            name="CPU of all processes, added by holter",
            measured=_added_cpu(found, "holter"),
            unit="%",
            at_most=AT_MOST_CPU_PERCENT,
        ),
        Figure(name="CPU of holter's own parts, of the program's", measured=_parts(found), unit="%"),
        Figure(name="CPU of the sidecar, from its start to its end", measured=1000 * helpers, unit="ms"),
        *(
            Figure(name=f"loop time, added by {LABELS[each]}", measured=_added_time(found, each), unit="%")
            for each in trackers[2:]
        ),
    ]
    raw = {
        tracker: [msgspec.structs.asdict(loop) | msgspec.structs.asdict(usage) for loop, usage in found[tracker]]
        for tracker in trackers
    }
    return Measured(figures=figures, tables=[_table(found)], raw=raw)


def _parts(found: dict[str, list[Trial]]) -> float:
    """What holter used by itself; steadier than the difference of two programs that use fifty times as much."""
    own = [loop.start_and_end_cpu_s + loop.inside_s + usage.helper_cpu_s for loop, usage in found["holter"]]
    return 100 * median(own) / median([usage.cpu_s for _, usage in found["none"]])


def _added_cpu(found: dict[str, list[Trial]], tracker: str) -> float:
    return _added([usage.cpu_s for _, usage in found[tracker]], [usage.cpu_s for _, usage in found["none"]])


def _added_time(found: dict[str, list[Trial]], tracker: str) -> float:
    return _added([loop.loop_s for loop, _ in found[tracker]], [loop.loop_s for loop, _ in found["none"]])


def _added(values: list[float], references: list[float]) -> float:
    return 100 * (median_ratio(values, references[: len(values)]) - 1)


def _table(found: dict[str, list[Trial]]) -> Table:
    rows = [
        [
            LABELS[tracker],
            show(median([loop.loop_s for loop, _ in trials]), "s"),
            f"{_added_time(found, tracker):+.1f} %",
            show(median([loop.call_us for loop, _ in trials]), "µs"),
            show(median([usage.main_cpu_s for _, usage in trials]), "s"),
            show(median([usage.helper_cpu_s for _, usage in trials]), "s"),
            f"{_added_cpu(found, tracker):+.1f} %",
            str(len(trials)),
        ]
        for tracker, trials in found.items()
    ]
    head = ["", "loop", "added", "inside log(), a call", "CPU, program", "CPU, left behind", "CPU added", "repetitions"]
    return Table("The loop", head, rows)
