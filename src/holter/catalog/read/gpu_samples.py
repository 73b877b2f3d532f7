"""What the sidecar's samples say about the GPUs, for runs of whose GPUs nobody kept events."""

import re
from collections.abc import Sequence

from holter.catalog.read.samples import Samples, is_number
from holter.journal.decoding import LoggedRow
from holter.model.evidence import GpuEvents

# NVML: the clocks are low because software (0x20) or the chip itself (0x40) found it too hot.
THERMAL_REASONS = 0x60
_KEY = re.compile(r"system/gpu/(\d+)/(\w+)")


def gpu_events_of(samples: Samples) -> GpuEvents | None:
    """Lost GPUs, memory errors and heat; None where there was no GPU. Pure."""
    if not samples.last:
        return None
    row = samples.last[-1]
    gpus = sorted({int(match[1]) for key in row.values if (match := _KEY.fullmatch(key))})
    if not gpus:
        return None
    errors = [_grown(samples, f"system/gpu/{gpu}/ecc_uncorrected") for gpu in gpus]
    known = [value for value in errors if value is not None]
    heat = [value for gpu in gpus for value in _curve(samples.last, f"system/gpu/{gpu}/temperature_celsius")]
    reasons = [_curve(samples.last, f"system/gpu/{gpu}/clocks_event_reasons") for gpu in gpus]
    hot = [sum(1 for value in curve if int(value) & THERMAL_REASONS) for curve in reasons if curve]
    return GpuEvents(
        lost=tuple(gpu for gpu in gpus if row.values.get(f"system/gpu/{gpu}/is_lost") == 1),
        uncorrected_errors=int(sum(known)) if known else None,
        hottest_c=max(heat, default=None),
        thermal_slowdown_s=float(max(hot)) if hot else None,
    )


def _curve(rows: Sequence[LoggedRow], key: str) -> list[float]:
    values = (row.values.get(key) for row in rows)
    return [float(value) for value in values if is_number(value)]


def _grown(samples: Samples, key: str) -> float | None:
    first = _curve([samples.first], key) if samples.first else []
    last = _curve(samples.last, key)
    return last[-1] - first[0] if first and last else None
