"""Finds the metrics that became NaN or infinite near the end of a run. Pure."""

import math
from collections.abc import Sequence

import msgspec

from holter.journal.decoding import LoggedRow
from holter.model.evidence import NonFinite

MOST_KEYS = 20


def find_non_finite(rows: Sequence[LoggedRow]) -> list[NonFinite]:
    """Of each metric the first value of its last bad stretch among a process's last rows; the still bad ones first."""
    found: dict[str, NonFinite] = {}
    finite: dict[str, tuple[float, int]] = {}
    for row in rows:
        for key, value in row.values.items():
            if not isinstance(value, float):
                continue
            if math.isfinite(value):
                finite[key] = (value, row.step)
                if key in found and found[key].is_last:
                    found[key] = msgspec.structs.replace(found[key], is_last=False)
            elif key not in found or not found[key].is_last:
                before, step = finite.get(key, (None, None))
                found[key] = NonFinite(
                    key=key,
                    value=_word(value),
                    step=row.step,
                    at_ns=row.at_ns,
                    last_finite=before,
                    last_finite_step=step,
                )
    ordered = sorted(found.values(), key=lambda each: (each.at_ns, each.key))
    still = [each for each in ordered if each.is_last]
    return [*still, *(each for each in ordered if not each.is_last)][:MOST_KEYS]


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
