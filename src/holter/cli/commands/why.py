"""Tell why a run ended, how sure that is, and what to do.

The cause in one sentence, the evidence with its sources and times, what was ruled out and by which number, and what
could not be seen. In the JSON `cause` is null for a run that finished or still runs, and `unknown` where
no cause can be named.

With --wrong, it prints instead what is needed to find out why holter was wrong: for each run of which somebody said so
with `holter mark RUN --cause CAUSE`, a line of JSON with the evidence, holter's verdict, and their cause and reason.
"""

import argparse
import time

from holter.catalog.judge.verdict import explain
from holter.catalog.present.explanation import as_json, with_marks
from holter.catalog.read import going_on
from holter.catalog.read.loaded_run import LoadedRun
from holter.cli.choice import load_explained
from holter.cli.figures import clean, duration, plural
from holter.cli.going_on_text import going_on_lines
from holter.cli.parser import add_json
from holter.cli.ranks_text import ranks_lines
from holter.cli.stdout import Look, look, print_json, state_colour
from holter.cli.verdict_text import plain, verdict_lines
from holter.errors import UsageError
from holter.model.records import Marked
from holter.model.state import FINISHED, RUNNING
from holter.model.verdicts import FatalCell

GROUP = "explain"

MOST_LINES = 8


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "runs", metavar="RUN", nargs="*", help="id, beginning of an id, or name; left out, the newest run"
    )
    add_json(parser)
    parser.add_argument(
        "--wrong", action="store_true", help="export the evidence of all runs, or of these, whose verdict is wrong"
    )


def run(args: argparse.Namespace) -> int:
    """Print the verdict."""
    if args.wrong:
        from holter.cli.wrong_export import export_wrong  # only for those who ask for it

        return export_wrong(args.runs)
    if len(args.runs) > 1:
        raise UsageError(f"one run at a time: `holter why {args.runs[0]}`; only --wrong takes several")
    loaded = load_explained(args.runs[0] if args.runs else None)
    if args.json:
        way = going_on.as_json(going_on.way_on(loaded))
        print_json(as_json(loaded) | ({"checkpoint": way} if way else {}))
    else:
        print("\n".join(as_lines(loaded, seen=look())))
    return 0


def as_lines(loaded: LoadedRun, *, seen: Look) -> list[str]:
    """The verdict for people."""
    now = time.time()
    told = explain(loaded)
    diagnosis = with_marks(told.diagnosis, loaded.said(Marked))
    lines = [_headline(loaded, seen), "", *verdict_lines(diagnosis, seen, now=now, mark=loaded.row.cause_mark)]
    way = going_on.way_on(loaded) if loaded.row.state not in (RUNNING, FINISHED) else None
    sections = {
        "Where to go on": going_on_lines(way),
        "Ranks": ranks_lines(told, now=now),
        **_cell(told.cell),
        told.stack.title: told.stack.lines,
    }
    for title, found in sections.items():
        if found:
            lines += ["", seen.paint(title, "bold"), *(f"  {clean(line)}" for line in found)]
    return [plain(line, seen) for line in lines]


def _headline(loaded: LoadedRun, seen: Look) -> str:
    row = loaded.row
    state = f"{row.state} (late)" if row.is_stale else row.state
    state = seen.paint(f"{seen.mark(row.state)} {state}", state_colour(row.state))
    took = f"for {duration(row.duration_s)}" if row.state == RUNNING else f"after {duration(row.duration_s)}"
    rows = f", {plural(row.rows, 'row')}, the last for step {row.last_step}" if row.rows else ""
    return f"{seen.paint(clean(row.name), 'bold')} ({row.id})  {state} {took}{rows}"


def _cell(cell: FatalCell | None) -> dict[str, list[str]]:
    """The first lines of the notebook's cell in which it ended."""
    if cell is None:
        return {}
    name = f"Cell In[{cell.number}]" if cell.number else "A cell"
    return {f"{name}, after {duration(cell.ran_s)}": cell.source.strip("\n").splitlines()[:MOST_LINES]}
