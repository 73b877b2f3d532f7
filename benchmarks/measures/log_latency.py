"""`log()` of 10 scalars, back to back.

Every tracker logs 20,000 rows of 10 floats in a fresh process, one call after the other, and each call is timed
inside the calling thread. Rows are built outside of the timed part. The trackers take turns; figures are medians over
the repetitions, ratios are medians of the ratios within a repetition. The limit is the least that a call can do whose
row survives its process: encode with msgpack, checksum, copy into a reserved mapped file (`benchmarks/limits.py`).
Peers run as they come, without network.
"""

import msgspec

from benchmarks.figures import Figure, Measured, Table, median, median_ratio, show
from benchmarks.plan import Plan
from benchmarks.trackers import LABELS
from benchmarks.trials import in_turn, run_trial, trackers_of

AT_MOST_LIMITS = 2.5
AT_MOST_WANDB = 1 / 30
AT_MOST_TRACKIO = 1 / 6
AT_MOST_P999_US = 100.0


class Latency(msgspec.Struct, frozen=True):
    """Quantiles in µs."""

    calls: int
    p50: float
    p99: float
    p999: float
    most: float


def measure(plan: Plan) -> Measured:
    trackers = trackers_of(plan, "limit", "holter")
    arguments = {"calls": plan.pick(20_000, 500), "bound_s": plan.pick(10.0, 1.0)}
    found: dict[str, list[Latency]] = {tracker: [] for tracker in trackers}
    for tracker in in_turn(trackers, plan.pick(7, 1)):
        latency, _ = run_trial(plan, "latency", tracker, Latency, arguments=arguments)
        found[tracker].append(latency)
    p50 = {tracker: [latency.p50 for latency in found[tracker]] for tracker in trackers}

    def against(tracker: str) -> float | None:
        return median_ratio(p50["holter"], p50[tracker]) if tracker in p50 else None

    holter = found["holter"]
    figures = [
        Figure(name="log() p50", measured=median(p50["holter"]), unit="µs"),
        Figure(name="log() p50 / limit", measured=against("limit"), unit="×", at_most=AT_MOST_LIMITS),
        Figure(name="log() p50 / wandb offline", measured=against("wandb"), unit="×", at_most=AT_MOST_WANDB),
        Figure(name="log() p50 / trackio", measured=against("trackio"), unit="×", at_most=AT_MOST_TRACKIO),
        Figure(name="log() p99", measured=median([each.p99 for each in holter]), unit="µs"),
        Figure(name="log() p99.9", measured=median([each.p999 for each in holter]), unit="µs", at_most=AT_MOST_P999_US),
    ]
    raw = {tracker: [msgspec.structs.asdict(each) for each in found[tracker]] for tracker in trackers}
    return Measured(figures=figures, tables=[latency_table("Back to back", found)], raw=raw)


def latency_table(title: str, found: dict[str, list[Latency]]) -> Table:
    """One line for each tracker, medians over its repetitions."""
    rows = []
    for tracker, latencies in found.items():
        quantiles = zip(*[(each.p50, each.p99, each.p999, each.most) for each in latencies], strict=True)
        cells = [show(median(values), "µs") for values in quantiles]
        calls = f"{latencies[0].calls:,} × {len(latencies)}"
        rows.append([LABELS.get(tracker, tracker), *cells, calls])
    return Table(title, ["", "p50", "p99", "p99.9", "most", "calls"], rows)
