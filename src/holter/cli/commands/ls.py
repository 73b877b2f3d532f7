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
from holter.cli.figures import began, clean, duration, plural, values
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
    views = [
        view
        for view in catalog.views()
        if (args.project is None or view.project == args.project)
        and args.state in (None, view.state)
        and (view.kind == KERNEL) == args.kernels
    ]
    for place, reason in catalog.unreadable.items():
        print(f"holter: {place} can't be read: {reason}", file=sys.stderr)
    shown = views[: args.n] if args.n else views
    if args.json:
        print_json({"runs": [view.told() for view in shown]})
        return 0
    if not views:
        is_filtered = args.project is not None or args.state is not None or args.kernels
        print(_no_match(catalog.data) if is_filtered else _nothing(catalog.data))
        return 0
    seen = look()
    if args.n is None and seen.width != NO_WIDTH:
        shown = shown[:ON_A_TERMINAL]
    print("\n".join(_lines(shown, seen, time.time())))
    if len(shown) < len(views):
        print(seen.paint(f"{plural(len(views) - len(shown), 'older run')} not shown; -n 0 shows all", "dim"))
    return 0


def _lines(views: list[RunRow], seen: Look, now: float) -> list[str]:
    shown = [place for place in range(len(COLUMNS)) if place != CAUSE or any(view.cause for view in views)]
    rows = [_row(view, seen, now) for view in views]
    return render([COLUMNS[place] for place in shown], [[row[place] for place in shown] for row in rows], look=seen)


def _row(view: RunRow, seen: Look, now: float) -> list[Cell]:
    late = "?" if view.is_stale else ""
    return [
        Cell(f"{seen.mark(view.state)} {view.state}{late}", state_colour(view.state)),
        Cell(view.cause or "", state_colour(view.state)),
        Cell(clean(view.name)),
        Cell(view.id, "dim"),
        Cell(clean(view.project)),
        Cell(began(view.started_at, now)),
        Cell(duration(view.duration_s)),
        Cell(f"{view.steps:,}"),
        Cell(clean(view.trouble) or values(dict(itertools.islice(view.summary.items(), VALUES))), "dim"),
    ]


def _nothing(place: str) -> str:
    return (
        f"There are no runs in {place} yet.\n"
        "A program that calls holter.init() records one; HOLTER_DIR names another directory."
    )


def _no_match(place: str) -> str:
    return f"No run in {place} matches; `holter ls` without filters lists all."
