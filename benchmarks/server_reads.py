"""Charts from the index: one long series, and one series of many runs.

`holter ui` is asked over HTTP what its page asks for a chart. What counts is the CPU time of the server for one answer,
warm: the median of five rounds, each of as many answers as cost 0.3 s.
"""

import contextlib
from typing import Any

import numpy as np

from benchmarks.asked_server import Question
from benchmarks.figures import Figure, Measured
from benchmarks.plan import Plan
from benchmarks.recorded_runs import API
from benchmarks.server_questions import cost_ms, open_index, serve
from holter.storage.opening import Storage
from holter.storage.series import Rows, SeriesBatch
from holter.wire.binary_columns import decode_tables

BATCH = 50_000


def measure(plan: Plan) -> Measured:
    long, runs = plan.pick(5_000_000, 50_000), plan.pick(100, 3)
    home = plan.scratch / "reads"
    storage = open_index(home)
    _fill(storage, "long", long, seed=0)
    for number in range(runs):
        _fill(storage, f"run{number}", 10_000, seed=number + 1)
    many = [f"run{number}" for number in range(runs)]
    part = {"from": long // 2, "to": long // 2 + long // 100}
    asked = {
        "5 M points in 2,000 buckets": (_chart(["long"], 2000), long, 20),
        "the same along time": (_chart(["long"], 2000, x="time"), long, None),
        "1 % of it": (_chart(["long"], 2000, **part), long // 100 + 1, None),
        "100 runs × 10 k points in 1,000 buckets": (_chart(many, 1000), runs * 10_000, 80),
    }
    figures = []
    with contextlib.closing(serve(home, storage)) as server:
        for name, (chart, points, bar) in asked.items():
            question = Question(path=f"{API}/series", body=chart)
            _check(name, server.ask(question), points=points, buckets=chart["buckets"])
            measured = cost_ms(server, question, plan=plan)
            figures.append(Figure(name=name, measured=measured, unit="ms", at_most=bar))
    return Measured(figures=figures)


def _chart(runs: list[str], buckets: int, **more: Any) -> dict[str, Any]:
    return {"runs": runs, "keys": ["loss"], "buckets": buckets, **more}


def _check(name: str, answer: bytes, *, points: int, buckets: int) -> None:
    """Raises RuntimeError for an answer that has not every point, or more buckets than were asked for."""
    tables = decode_tables(answer)
    counted = sum(int(columns["count"].sum()) for _, columns in tables)
    widest = max(len(columns["count"]) for _, columns in tables)
    if counted != points or widest > buckets:
        raise RuntimeError(f"{name}: {counted:,} of {points:,} points in up to {widest:,} buckets")


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
