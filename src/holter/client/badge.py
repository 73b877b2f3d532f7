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
            if isinstance(value, int | float) and (key in curves or len(curves) < MOST_METRICS):
                curves.setdefault(key, []).append(_as_float(value))
    return curves


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return math.copysign(math.inf, value)


def bundle(shown: Shown) -> dict[str, str]:
    """The badge for browsers and for terminals. Pure; everything is escaped."""
    return {"text/plain": _text(shown), "text/html": _html(shown)}


def _text(shown: Shown) -> str:
    lines = [f"holter run {shown.title} ({shown.run}), {shown.state}"]
    width = max((len(key) for key in shown.curves), default=0)
    lines += [f"  {key:<{width}}  {_bars(values)}  {_figure(values[-1])}" for key, values in shown.curves.items()]
    return "\n".join(lines)


def _html(shown: Shown) -> str:
    title = html.escape(shown.title)
    if shown.address:
        title = f'<a href="{html.escape(shown.address, quote=True)}" target="_blank" rel="noopener">{title}</a>'
    rows = "".join(
        f'<tr><td style="padding:0 10px 0 0;text-align:left">{html.escape(key)}</td><td>{_picture(values)}</td>'
        f'<td style="padding:0 0 0 10px;text-align:right{_colour(values[-1])}">{_figure(values[-1])}</td></tr>'
        for key, values in shown.curves.items()
    )
    table = f'<table style="margin-top:4px;border:0">{rows}</table>' if rows else ""
    command = f"<code>holter show {html.escape(shown.run)}</code>"
    state = f'<span style="opacity:.75">{html.escape(shown.state)}; {command}</span>'
    return f'<div class="holter-run" style="{_BOX}"><b>{title}</b> {state}{table}</div>'


def _figure(value: float) -> str:
    return f"{value:.6g}".replace("nan", "NaN").replace("inf", "Inf")


def _colour(value: float) -> str:
    return "" if math.isfinite(value) else ";color:#c48000"


def _thinned(values: Sequence[float], most: int) -> list[float]:
    stride = max(1, -(-len(values) // most))
    return [*values[: len(values) - 1 : stride], values[-1]]


def _scaled(values: Sequence[float]) -> list[float | None]:
    """From 0 to 1; None for what can't be drawn."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    scaled = [(value - low) / (high - low) if high > low else 0.5 for value in values]
    return [each if math.isfinite(value) else None for value, each in zip(values, scaled, strict=True)]


def _bars(values: Sequence[float]) -> str:
    scaled = _scaled(_thinned(values, 24))
    return "".join("!" if each is None else BARS[min(len(BARS) - 1, int(each * len(BARS)))] for each in scaled)


def _picture(values: Sequence[float]) -> str:
    scaled = _scaled(_thinned(values, MOST_POINTS))
    stride = 120 / max(1, len(scaled) - 1)
    lines = [""]
    for at, each in enumerate(scaled):
        if each is None:
            lines.append("")
        else:
            lines[-1] += f"{at * stride:.1f},{19 - 18 * each:.1f} "
    drawn = "".join(
        f'<polyline points="{line.strip()}" fill="none" stroke="#228be6" stroke-width="1.5"/>' for line in lines if line
    )
    return f'<svg width="120" height="20" role="img">{drawn}</svg>'
