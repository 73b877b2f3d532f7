"""Taking in journals: 100 runs × 20 keys, each range on disk before it is acknowledged, and all of it in the index."""

import time

from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.server_data import write_journal
from holter.model.clock import Clock
from holter.server.ingest.ingest import Ingest
from holter.storage.opening import open_storage

RUNS, KEYS = 100, 20
ROWS_AT_ONCE = 50
"""So many rows a sidecar sends at once: what a program logs at 10 Hz in five seconds."""
ROW_BYTES = 28 + 8 * KEYS


def measure(plan: Plan) -> Measured:
    rows = plan.pick(10_000, 300)
    runs = plan.pick(RUNS, 5)
    scratch = plan.scratch / "ingest"
    made = [
        (f"run{number}", *write_journal(scratch, f"run{number}", rows=rows, keys=KEYS, seed=number))
        for number in range(runs)
    ]
    storage = open_storage(f"sqlite:{scratch / 'index'}")
    ingest = Ingest(str(scratch / "data"), storage, clock=Clock())
    have = dict.fromkeys([run for run, _, _ in made], 0)
    worst_s = worst_cpu_s = accept_s = 0.0
    began = time.process_time()
    while any(have[run] < len(data) for run, _, data in made):
        start = time.process_time()
        for run, journal, data in made:
            piece = data[have[run] : have[run] + ROWS_AT_ONCE * ROW_BYTES]
            have[run] = ingest.accept(journal, run, offset=have[run], data=piece) if piece else have[run]
        accept_s += time.process_time() - start
        wall, cpu = time.perf_counter(), time.process_time()
        ingest.tick()
        worst_s = max(worst_s, time.perf_counter() - wall)
        worst_cpu_s = max(worst_cpu_s, time.process_time() - cpu)
    ingest.catch_up()
    took_s = time.process_time() - began
    ingest.close()
    storage.close()
    points = runs * rows * KEYS
    size = sum(path.stat().st_size for path in (scratch / "index").rglob("*") if path.is_file())
    return Measured(
        figures=[
            Figure(
                name="CPU seconds to take in a million points", measured=took_s / points * 1e6, unit="s", at_most=1.0
            ),
            Figure(name="of which receiving and syncing", measured=accept_s / points * 1e6, unit="s"),
            Figure(name="worst batch", measured=worst_s * 1e3, unit="ms", at_most=300),
            Figure(name="worst batch, CPU", measured=worst_cpu_s * 1e3, unit="ms"),
            Figure(name="bytes per point beside the journal", measured=size / points, unit="B", at_most=7),
        ],
        notes=[f"{points:,} points in ranges of {ROWS_AT_ONCE} rows; a batch is one range of each of {runs} runs."],
    )
