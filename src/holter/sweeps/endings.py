"""How the run of a trial ended, by the run's own verdict: what it reached, why it died, how much memory it took."""

import os
from collections.abc import Mapping

from holter.catalog.catalog import Catalog
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.samples import is_number, read_samples
from holter.diagnosis.facts import place
from holter.errors import HolterError
from holter.journal.rundir import list_segments
from holter.model.records import Raised
from holter.model.state import FINISHED, RUNNING, read_lateness
from holter.sweeps.words import Outcome

PATIENCE_S = 2.0
MOST_TRACEBACK = 4000


def outcome_of(data: str, run: str, *, metric: str, patience_s: float = PATIENCE_S) -> Outcome | None:
    """None for a run that lives, or that nobody recorded."""
    try:
        loaded = Catalog(data, read_lateness(os.environ)).load(run, patience_s)
    except (HolterError, OSError):
        return None
    if loaded.row.state == RUNNING:
        return None
    found = loaded.row.summary.get(metric) if metric else None
    value = float(found) if is_number(found) else None
    peak, limit = _memory(loaded)
    if loaded.row.state == FINISHED:
        if isinstance(found, float) and value is None:
            return Outcome(state="failed", cause="diverged", because=f"{metric} ended as {found}")
        because = "" if value is not None or not metric else f"it never logged {metric}"
        return Outcome(state=FINISHED, value=value, because=because, peak_bytes=peak, limit_bytes=limit)
    raised: list[Raised] = [each for each in loaded.said(Raised) if each.where in ("main", "cell", "child")]
    last = raised[-1] if raised else None
    told = loaded.diagnosis.title if loaded.diagnosis is not None else loaded.row.because
    return Outcome(
        state=loaded.row.state,
        value=value,
        cause=loaded.row.cause or "unknown",
        because=told[:MOST_TRACEBACK],
        place=f"{last.type} {place(last)}"[:MOST_TRACEBACK] if last is not None else "",
        traceback=last.traceback[-MOST_TRACEBACK:] if last is not None else "",
        peak_bytes=peak,
        limit_bytes=limit,
    )


def _memory(loaded: LoadedRun) -> tuple[int | None, int | None]:
    """The most of the memory that the program took, and how much there was: of its fullest GPU, or of its host."""
    row = loaded.row
    try:
        samples = read_samples(loaded.digests, list_segments(row.directory), host=row.host)
    except OSError:
        return None, None
    fullest: tuple[float, float] | None = None
    for sample in samples.last:
        for taken, limit in levels_of(sample.values):
            if fullest is None or taken / limit > fullest[0] / fullest[1]:
                fullest = (taken, limit)
    return (int(fullest[0]), int(fullest[1])) if fullest is not None else (None, None)


def levels_of(values: Mapping[str, float]) -> list[tuple[float, float]]:
    """What the program held in one sample, and how much there was: of each GPU it was on, else of its host. Pure."""
    found = []
    gpus = {key.split("/")[2] for key in values if key.startswith("system/gpu/")}
    for gpu in gpus:
        taken = values.get(f"system/gpu/{gpu}/tree_memory_bytes")
        found.append((taken, values.get(f"system/gpu/{gpu}/memory_total_bytes")))
    if not any(is_number(taken) and taken > 0 for taken, _ in found):
        limits = [
            value for key, value in values.items() if key.startswith("system/cgroup/") and key.endswith("/limit_bytes")
        ]
        limits = [
            each for each in (*limits, values.get("system/host/memory_total_bytes")) if is_number(each) and each > 0
        ]
        found.append((values.get("system/process/anon_bytes"), min(limits, default=None)))
    # A sample from after the end holds nothing: it measured no trial.
    return [(taken, limit) for taken, limit in found if is_number(taken) and is_number(limit) and taken > 0 < limit]
