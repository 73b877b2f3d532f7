"""Raw points as CSV: one row for each step, one column for each series. Read in parts, whatever their number."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from holter.storage.series import Ints, Line, Points

Read = Callable[[Line, int | None, int], Points]
"""The points of a line from a step on, at most so many."""
PART = 20_000


def csv_of(lines: Sequence[Line], names: Sequence[str], *, read: Read, part: int = PART) -> Iterator[bytes]:
    """The whole table in pieces, its head first; a cell is empty where a series has nothing at that step."""
    yield ",".join(_cell(name) for name in ("step", *names)).encode() + b"\n"
    first: int | None = None
    rest = list(range(len(lines)))
    while rest:
        most = max(100, part // len(rest))
        found = {at: read(lines[at], first, most) for at in rest}
        full = [int(points.steps[-1]) for points in found.values() if len(points.steps) == most]
        # A series that has more goes on behind its last step: up to the first of these all are known.
        last = min(full, default=None)
        if data := _rows(found, last, len(lines)):
            yield data
        if last is None:
            return
        rest = [
            at for at in rest if len(found[at].steps) == most or (len(found[at].steps) and found[at].steps[-1] > last)
        ]
        first = last + 1


def _rows(found: dict[int, Points], last: int | None, many: int, /) -> bytes:
    kept = {
        at: len(points.steps) if last is None else int(np.searchsorted(points.steps, last, "right"))
        for at, points in found.items()
    }
    parts = [points.steps[: kept[at]] for at, points in found.items() if kept[at]]
    if not parts:
        return b""
    steps: Ints = np.unique(np.concatenate(parts))
    cells = [[""] * many for _ in steps]
    for at, points in found.items():
        places = np.searchsorted(steps, points.steps[: kept[at]])
        for place, value in zip(places.tolist(), points.values[: kept[at]].tolist(), strict=True):
            cells[place][at] = _number(value)
    rows = (f"{step},{','.join(row)}\n" for step, row in zip(steps.tolist(), cells, strict=True))
    return "".join(rows).encode()


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _cell(text: str) -> str:
    """Text that a spreadsheet would take for a formula is made text."""
    inert = f"'{text}" if text[:1] in "=+-@\t\r" and text else text
    return f'"{inert.replace(chr(34), chr(34) * 2)}"' if any(sign in inert for sign in ',"\n\r') else inert


def column_names(runs: Sequence[tuple[str, str]], keys: Sequence[str]) -> list[str]:
    """A name for each key of each run (id and name): with its id where two have one name, and its key."""
    names = [name or run for run, name in runs]
    told = [name if names.count(name) == 1 else f"{name} ({run})" for (run, _), name in zip(runs, names, strict=True)]
    return [name if len(keys) == 1 else f"{name} {key}" for name in told for key in keys]
