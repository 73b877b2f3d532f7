"""The cells of a notebook as a table."""

import time
from collections.abc import Sequence

from holter.catalog.read.cells import RanCell
from holter.cli.figures import age, clean, duration, size
from holter.cli.stdout import look, print_json
from holter.cli.table import Cell, Column, render

COLUMNS = (
    Column("CELL", is_right=True),
    Column("STARTED", is_right=True),
    Column("TOOK", is_right=True),
    Column("GREW BY", is_right=True),
    Column("PEAK", is_right=True),
    Column("SOURCE", least=20),
    Column("ERROR", least=0),
)


def print_cells(cells: Sequence[RanCell], *, as_json: bool) -> None:
    """Print them, in the order in which they ran."""
    if as_json:
        print_json({"cells": cells})
        return
    if not cells:
        print("No cell of a notebook is known of this run.")
        return
    now = time.time()
    print("\n".join(render(COLUMNS, [_row(each, now) for each in cells], look=look())))


def _row(cell: RanCell, now: float) -> list[Cell]:
    first = next((line for line in cell.source.splitlines() if line.strip()), "")
    grown = cell.grown_bytes
    return [
        Cell(f"[{cell.number}]" if cell.number else ""),
        Cell(age(now - cell.started_at)),
        Cell(duration(cell.took_s) if cell.took_s is not None else "not over"),
        Cell("" if grown is None else f"-{size(-grown)}" if grown < 0 else size(grown)),
        Cell("" if cell.peak_bytes is None else size(cell.peak_bytes)),
        Cell(clean(first)),
        Cell(clean(cell.error.splitlines()[0] if cell.error else ""), "red"),
    ]
