"""One trial of one tracker, in a process of its own: `python -m benchmarks.worker TASK TRACKER RESULT ARGUMENTS`.

Standard library only, because this also runs in the environment of the peers. Rows are built outside the timed part.
"""

import json
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path

from benchmarks.trackers import TRACKERS, Tracker

WARM_UP_CALLS = 20
clock_ns = time.perf_counter_ns


def latency(tracker: Tracker, *, calls: int, bound_s: float, rate: float = 0.0) -> dict[str, float]:
    """`log()` of 10 scalars: back to back, or `rate` times a second. Stops early after `bound_s`."""
    tracker.load()
    tracker.open()
    keys = [f"metric_{number:03d}" for number in range(10)]
    for step in range(WARM_UP_CALLS):
        tracker.log(dict.fromkeys(keys, step * 0.5), step)
    taken = array("q")
    log, period_ns = tracker.log, int(1e9 / rate) if rate else 0
    start = clock_ns()
    for call in range(calls):
        row = dict.fromkeys(keys, call * 0.5)
        before = clock_ns()
        log(row, WARM_UP_CALLS + call)
        after = clock_ns()
        taken.append(after - before)
        if after - start > bound_s * 1e9:
            break
        if period_ns and (left_ns := start + (call + 1) * period_ns - after) > 0:
            time.sleep(left_ns / 1e9)
    tracker.finish()
    return quantiles_us(taken)


def quantiles_us(taken_ns: "array[int]") -> dict[str, float]:
    ordered = sorted(taken_ns)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] / 1000

    return {"calls": len(ordered), "p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "most": at(1.0)}


def loop(tracker: Tracker, *, iterations: int) -> dict[str, float]:
    """A training loop in small: some work, some waiting, two scalars."""
    import numpy as np

    own_s = -time.process_time()
    tracker.load()
    tracker.open()
    own_s += time.process_time()
    log, inside_ns = tracker.log, 0
    start = clock_ns()
    for step in range(iterations):
        data = np.random.rand(100_000)
        time.sleep(0.0001)
        row = {"iteration": step, "sum": float(data.sum())}
        before = clock_ns()
        log(row, step)
        inside_ns += clock_ns() - before
    loop_ns = clock_ns() - start
    own_s -= time.process_time()
    tracker.finish()
    own_s += time.process_time()
    return {
        "loop_s": loop_ns / 1e9,
        "inside_s": inside_ns / 1e9,
        "call_us": inside_ns / 1e3 / iterations,
        "start_and_end_cpu_s": own_s,
    }


def start(tracker: Tracker) -> dict[str, float]:
    """From the import to the end of a run of 1,000 rows."""
    times = [clock_ns()]

    def note() -> None:
        times.append(clock_ns())

    tracker.load()
    note()
    tracker.open()
    tracker.log({"loss": 0.5}, 0)
    note()
    for step in range(1, 1000):
        tracker.log({"loss": step * 0.5}, step)
    note()
    tracker.finish()
    note()
    names = ("import_ms", "first_log_ms", "rows_ms", "finish_ms")
    return {name: (after - before) / 1e6 for name, before, after in zip(names, times, times[1:], strict=False)}


TASKS: dict[str, Callable[..., dict[str, float]]] = {"latency": latency, "loop": loop, "start": start}


def main() -> None:
    task, tracker, result, arguments = sys.argv[1:]
    found = TASKS[task](TRACKERS[tracker](Path.cwd()), **json.loads(arguments))
    Path(result).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
