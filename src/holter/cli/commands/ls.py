"""List runs, the newest first.

CAUSE is why a run did not finish; `holter why` tells more. The values at the end of a line are the last ones of the
summary. On a terminal the newest 50 runs are shown, elsewhere all of them; -n changes that. Notebooks' kernels
that were recorded without a run, by `%load_ext holter` or the Jupyter server, are listed with --kernels only.
"""

import argparse
import itertools
import sys
import time

from holter.cli.choice import open_catalog
from holter.cli.figures import began, clean, duration, own_first, plural, values
from holter.cli.parser import add_json, whole_number
from holter.cli.stdout import NO_WIDTH, Look, look, print_json, state_colour
from holter.cli.table import Cell, Column, render
from holter.model.records import KERNEL
from holter.model.run_row import RunRow
from holter.model.state import STATES

GROUP = "look"

ON_A_TERMINAL = 50
VALUES = 6
CAUSE = 1
COLUMNS = (
    Column("STATE"),
    Column("CAUSE", least=10),
    Column("NAME", least=12),
    Column("ID", least=8),
    Column("PROJECT", least=8),
    Column("STARTED", is_right=True),
    Column("TOOK", is_right=True),
    Column("STEPS", is_right=True),
    Column("LAST VALUES", least=0),
)


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--project", metavar="P", help="only runs of this project")
    parser.add_argument("--state", metavar="S", choices=STATES, help=f"only runs in this state: {', '.join(STATES)}")
    parser.add_argument("--kernels", action="store_true", help="notebooks' kernels that were recorded without a run")
    parser.add_argument("-n", metavar="N", type=whole_number, help="at most N runs; 0 for all")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the runs."""
    catalog = open_catalog()
    runs = [
        row
        for row in catalog.rows()
        if (args.project is None or row.project == args.project)
        and args.state in (None, row.state)
        and (row.kind == KERNEL) == args.kernels
    ]
    for place, reason in catalog.unreadable.items():
        print(f"holter: {place} can't be read: {reason}", file=sys.stderr)
    shown = runs[: args.n] if args.n else runs
    if args.json:
        print_json({"runs": [row.listed() for row in shown]})
        return 0
    if not runs:
        is_filtered = args.project is not None or args.state is not None or args.kernels
        print(_no_match(catalog.data) if is_filtered else _nothing(catalog.data))
        return 0
    seen = look()
    if args.n is None and seen.width != NO_WIDTH:
        shown = shown[:ON_A_TERMINAL]
    print("\n".join(_lines(shown, seen, time.time())))
    if len(shown) < len(runs):
        print(seen.paint(f"{plural(len(runs) - len(shown), 'older run')} not shown; -n 0 shows all", "dim"))
    return 0


def _lines(runs: list[RunRow], seen: Look, now: float) -> list[str]:
    shown = [place for place in range(len(COLUMNS)) if place != CAUSE or any(row.cause for row in runs)]
    rows = [_row(row, seen, now) for row in runs]
    return render([COLUMNS[place] for place in shown], [[row[place] for place in shown] for row in rows], look=seen)


def _row(row: RunRow, seen: Look, now: float) -> list[Cell]:
    late = "?" if row.is_stale else ""
    return [
        Cell(f"{seen.mark(row.state)} {row.state}{late}", state_colour(row.state)),
        Cell(row.cause or "", state_colour(row.state)),
        Cell(clean(row.name)),
        Cell(row.id, "dim"),
        Cell(clean(row.project)),
        Cell(began(row.started_at, now)),
        Cell(duration(row.duration_s)),
        Cell(f"{row.steps:,}"),
        Cell(clean(row.trouble) or values(dict(itertools.islice(own_first(row.summary).items(), VALUES))), "dim"),
    ]


def _nothing(place: str) -> str:
    return (
        f"There are no runs in {place} yet.\n"
        "A program that calls holter.init() records one; HOLTER_DIR names another directory."
    )


def _no_match(place: str) -> str:
    return f"No run in {place} matches; `holter ls` without filters lists all."
