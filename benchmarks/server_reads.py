"""Charts from the index: one long series, and one series of many runs; as the bytes that a browser gets."""

import time
from collections.abc import Callable

import numpy as np

from benchmarks.figures import Figure, Measured, median
from benchmarks.plan import Plan
from holter.server.query.charts import Chart, draw
from holter.storage.opening import Storage, open_storage
from holter.storage.series import Buckets, Rows, SeriesBatch
from holter.wire.binary_columns import encode_tables

BATCH = 50_000
REPEATS = 9


def measure(plan: Plan) -> Measured:
    long, runs = plan.pick(5_000_000, 50_000), plan.pick(100, 3)
    storage = open_storage(f"sqlite:{plan.scratch / 'reads'}")
    _fill(storage, "long", long, seed=0)
    for number in range(runs):
        _fill(storage, f"run{number}", 10_000, seed=number + 1)
    one = (("long", "loss"),)
    many = tuple((f"run{number}", "loss") for number in range(runs))
    figures = [
        _figure(storage, "5 M points in 2,000 buckets", Chart(lines=one, buckets=2000), at_most=20),
        _figure(storage, "the same along time", Chart(lines=one, x="time", buckets=2000)),
        _figure(storage, "1 % of it", Chart(lines=one, buckets=2000, first=long // 2, last=long // 2 + long // 100)),
        _figure(storage, "100 runs × 10 k points in 1,000 buckets", Chart(lines=many, buckets=1000), at_most=80),
    ]
    storage.close()
    return Measured(figures=figures, notes=[f"CPU time, median of {REPEATS}, warm; without HTTP."])


def cpu_ms(work: Callable[[], object]) -> float:
    """The median of the CPU time that it takes when all is warm."""
    work()
    found = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        found.append((time.process_time() - start) * 1e3)
    return median(found)


def _figure(storage: Storage, name: str, chart: Chart, *, at_most: float | None = None) -> Figure:
    def answer() -> bytes:
        lines = zip(chart.lines, draw(storage, chart), strict=True)
        return encode_tables([({"run": run, "key": key}, _columns(buckets)) for (run, key), buckets in lines])

    return Figure(name=name, measured=cpu_ms(answer), unit="ms", at_most=at_most)


def _columns(buckets: Buckets) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    return {name: getattr(buckets, name) for name in Buckets.__struct_fields__}


def _fill(storage: Storage, run: str, points: int, *, seed: int) -> None:
    rng = np.random.default_rng(seed)
    at_ns = np.int64(1_700_000_000_000_000_000)
    for start in range(0, points, BATCH):
        steps = np.arange(start, min(start + BATCH, points))
        values = (np.exp(-steps / points * 3) + rng.normal(0, 0.05, (1, len(steps)))).astype(np.float32).astype(float)
        times = at_ns + np.cumsum(rng.normal(1e8, 2e6, len(steps))).astype(np.int64)
        rows = Rows(("loss",), steps, times, steps * 36, values)
        storage.series.append(SeriesBatch(run, f"{seed:032x}", start * 36, (start + len(steps)) * 36, (rows,)))
        at_ns = times[-1]
