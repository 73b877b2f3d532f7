"""Ask a running run to stop.

It is interrupted as by Ctrl-C where its program allowed that (allow_stop=True, HOLTER_ALLOW_STOP=1); everywhere its
terminal says so, and `run.should_stop` becomes true for a loop that asks. With --after checkpoint that happens when
`run.checkpoint()` has kept the next one.
"""

import argparse

from holter.catalog.change.user_name import user_name
from holter.cli.choice import load_chosen
from holter.cli.figures import clean
from holter.errors import UsageError
from holter.journal.stop_request import StopRequest, write_stop_request
from holter.model.clock import Clock
from holter.model.state import RUNNING

GROUP = "record"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("run", metavar="RUN", help="id, beginning of an id, or name")
    parser.add_argument("--after", choices=["checkpoint"], default="", help="not before its next checkpoint is whole")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, for those who wonder later")


def run(args: argparse.Namespace) -> int:
    """Write the wish down; the run's sidecar passes it on within a second."""
    row = load_chosen(args.run).row
    if row.state != RUNNING:
        raise UsageError(f"run {row.id} is {row.state} already: there is nothing to stop")
    wish = StopRequest(
        by=user_name(), at_ns=Clock().now_ns(), reason=args.reason, attempt=row.attempt, after=args.after
    )
    write_stop_request(row.directory, wish)
    when = " after its next checkpoint" if args.after else ""
    print(f"asked {clean(row.name)} ({row.id}) to stop{when}")
    return 0
