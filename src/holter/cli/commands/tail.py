"""Print the end of what a run printed, and with -f all that comes until it ends.

It is shown as on a terminal: of a progress bar only the last state. With --rows, or where no output was kept, the rows
are printed instead: one line for each call of log(), with its time, step and values.
"""

import argparse
import time
from collections.abc import Iterable

from holter.catalog.catalog import Catalog
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.row_follower import Heard, RunFollower
from holter.cli.choice import open_catalog
from holter.cli.console_view import ConsoleTail, has_console
from holter.cli.figures import clock_time, values
from holter.cli.parser import add_run, whole_number
from holter.cli.report import headline
from holter.cli.stdout import flush, look
from holter.journal.decoding import LoggedRow
from holter.model.records import Exited, Finished
from holter.model.state import RUNNING

GROUP = "look"

POLL_S = 0.2
# How often the whole run is looked at: it may have fallen silent on a machine that can't be seen from here.
LOOK_S = 5.0
LOOK_AT_THE_DEAD_S = 1.0


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_run(parser)
    parser.add_argument("-n", metavar="N", type=whole_number, default=10, help="how many lines to begin with (10)")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the run ends; Ctrl-C leaves")
    parser.add_argument("--rows", action="store_true", help="rows instead of what was printed")


def run(args: argparse.Namespace) -> int:
    """Print the end of the console, or rows."""
    try:
        _tail(args)
    except KeyboardInterrupt:
        if not args.follow:
            raise
    return 0


def _tail(args: argparse.Namespace) -> None:
    catalog = open_catalog()
    chosen = catalog.find(args.run)
    directory = catalog.load(chosen).row.directory
    follower = RunFollower(directory)
    console = None if args.rows or not has_console(directory) else ConsoleTail(directory, look())
    rows = follower.last(args.n)
    if console is not None:
        console.print_last(args.n, is_followed=args.follow)
    else:
        _print(rows)
    if args.follow:
        print(headline(_follow(follower, catalog, chosen, console), look()))


def _follow(follower: RunFollower, catalog: Catalog, chosen: str, console: ConsoleTail | None) -> LoadedRun:
    """Print what comes; returns the run once it has ended and all of it is printed."""
    look_at = 0.0
    while True:
        heard = follower.hear()
        _print_new(console, heard)
        has_news = any(isinstance(record, Finished | Exited) for record in heard.records)
        if has_news or time.monotonic() >= look_at:
            loaded = catalog.load(chosen)
            if loaded.outcome.state != RUNNING:
                _print_new(console, follower.hear(is_final=True), is_last=True)
                return loaded
            look_at = time.monotonic() + LOOK_S
        if follower.has_dead_process():
            look_at = min(look_at, time.monotonic() + LOOK_AT_THE_DEAD_S)
        time.sleep(POLL_S)


def _print_new(console: ConsoleTail | None, heard: Heard, *, is_last: bool = False) -> None:
    if console is not None:
        console.print_new(is_last=is_last)
    else:
        _print(heard.rows)


def _print(rows: Iterable[LoggedRow]) -> None:
    now = time.time()
    for row in rows:
        print(f"{clock_time(row.at_ns / 1e9, now)}  step {row.step}  {values(row.values)}")
    flush()
