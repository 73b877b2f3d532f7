"""How a run shows itself where its cell ends with it: a few lines, and a curve for each of its first metrics."""

import html
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from holter.errors import JournalError
from holter.journal.rundir import list_segments
from holter.journal.tail import last_rows

MOST_METRICS = 4
MOST_BYTES = 256 << 10
MOST_POINTS = 60
BARS = "▁▂▃▄▅▆▇█"
_BOX = (
    "display:inline-block;border:1px solid rgba(128,128,128,.35);border-left:4px solid #228be6;border-radius:6px;"
    "padding:8px 12px;font-family:system-ui,sans-serif;font-size:13px;line-height:1.5"
)


class Shown(NamedTuple):
    """A run as its badge has it."""

    title: str
    state: str
    run: str
    address: str
    """Its page on a server; empty where there is none that is known."""
    curves: Mapping[str, Sequence[float]]


def read_curves(directory: str, journal: str) -> dict[str, list[float]]:
    """The last values of the first few metrics that a journal has; empty where it can't be read."""
    if not directory:
        return {}
    curves: dict[str, list[float]] = {}
    try:
        rows = last_rows(list_segments(directory).get(journal, []), most_bytes=MOST_BYTES)
    except (OSError, JournalError):
        return {}
    for row in rows:
        for key, value in row.values.items():
            is_number = isinstance(value, int | float) and math.isfinite(value)
            if is_number and (key in curves or len(curves) < MOST_METRICS):
                curves.setdefault(key, []).append(float(value))
    return curves


def bundle(shown: Shown) -> dict[str, str]:
    """The badge for browsers and for terminals. Pure; everything is escaped."""
    return {"text/plain": _text(shown), "text/html": _html(shown)}


def _text(shown: Shown) -> str:
    lines = [f"holter run {shown.title} ({shown.run}), {shown.state}"]
    width = max((len(key) for key in shown.curves), default=0)
    lines += [f"  {key:<{width}}  {_bars(values)}  {values[-1]:.6g}" for key, values in shown.curves.items()]
    return "\n".join(lines)


def _html(shown: Shown) -> str:
    title = html.escape(shown.title)
    if shown.address:
        title = f'<a href="{html.escape(shown.address, quote=True)}" target="_blank" rel="noopener">{title}</a>'
    rows = "".join(
        f'<tr><td style="padding:0 10px 0 0;text-align:left">{html.escape(key)}</td><td>{_picture(values)}</td>'
        f'<td style="padding:0 0 0 10px;text-align:right">{values[-1]:.6g}</td></tr>'
        for key, values in shown.curves.items()
    )
    table = f'<table style="margin-top:4px;border:0">{rows}</table>' if rows else ""
    command = f"<code>holter show {html.escape(shown.run)}</code>"
    state = f'<span style="opacity:.75">{html.escape(shown.state)}; {command}</span>'
    return f'<div class="holter-run" style="{_BOX}"><b>{title}</b> {state}{table}</div>'


def _thinned(values: Sequence[float], most: int) -> list[float]:
    stride = max(1, -(-len(values) // most))
    return [*values[: len(values) - 1 : stride], values[-1]]


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


def _bars(values: Sequence[float]) -> str:
    return "".join(BARS[min(len(BARS) - 1, int(each * len(BARS)))] for each in _scaled(_thinned(values, 24)))


def _picture(values: Sequence[float]) -> str:
    scaled = _scaled(_thinned(values, MOST_POINTS))
    stride = 120 / max(1, len(scaled) - 1)
    points = " ".join(f"{at * stride:.1f},{19 - 18 * each:.1f}" for at, each in enumerate(scaled))
    return (
        f'<svg width="120" height="20" role="img"><polyline points="{points}" fill="none" stroke="#228be6"'
        ' stroke-width="1.5"/></svg>'
    )
