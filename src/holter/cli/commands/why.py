"""Tell why a run ended, how sure that is, and what to do.

The cause in one sentence, the evidence with its sources and times, what was ruled out and by which number, and what
could not be seen. In the JSON `cause` is null for a run that finished or still runs, and `unknown` where
no cause can be named.
"""

import argparse
import time

from holter.catalog.judge.verdict import explain
from holter.catalog.present.explanation import as_json, with_marks
from holter.catalog.read.run_view import LoadedRun
from holter.cli.choice import load_explained
from holter.cli.figures import clean, duration, plural
from holter.cli.parser import add_json, add_run
from holter.cli.ranks_text import ranks_lines
from holter.cli.stdout import Look, look, print_json, state_colour
from holter.cli.verdict_text import plain, verdict_lines
from holter.model.records import Marked
from holter.model.state import RUNNING
from holter.model.verdicts import FatalCell

GROUP = "explain"

MOST_LINES = 8


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the verdict."""
    loaded = load_explained(args.run)
    if args.json:
        print_json(as_json(loaded))
    else:
        print("\n".join(as_lines(loaded, seen=look())))
    return 0


def as_lines(loaded: LoadedRun, *, seen: Look) -> list[str]:
    """The verdict for people."""
    now = time.time()
    told = explain(loaded)
    diagnosis = with_marks(told.diagnosis, loaded.said(Marked))
    lines = [_headline(loaded, seen), "", *verdict_lines(diagnosis, seen, now=now)]
    sections = {"Ranks": ranks_lines(told, now=now), **_cell(told.cell), told.stack.title: told.stack.lines}
    for title, found in sections.items():
        if found:
            lines += ["", seen.paint(title, "bold"), *(f"  {clean(line)}" for line in found)]
    return [plain(line, seen) for line in lines]


def _headline(loaded: LoadedRun, seen: Look) -> str:
    view = loaded.view
    state = f"{view.state} (late)" if view.is_stale else view.state
    state = seen.paint(f"{seen.mark(view.state)} {state}", state_colour(view.state))
    took = f"for {duration(view.duration_s)}" if view.state == RUNNING else f"after {duration(view.duration_s)}"
    rows = f", {plural(view.rows, 'row')}, the last for step {view.last_step}" if view.rows else ""
    return f"{seen.paint(clean(view.name), 'bold')} ({view.id})  {state} {took}{rows}"


def _cell(cell: FatalCell | None) -> dict[str, list[str]]:
    """The first lines of the notebook's cell in which it ended."""
    if cell is None:
        return {}
    name = f"Cell In[{cell.number}]" if cell.number else "A cell"
    return {f"{name}, after {duration(cell.ran_s)}": cell.source.strip("\n").splitlines()[:MOST_LINES]}
