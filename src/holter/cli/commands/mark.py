"""Correct how a run ended: from crashed to failed, from failed to finished, and so on.

It is recorded as your word, with the reason, your name and the time; holter's own verdict stays visible. --undo takes
it back.
"""

import argparse

from holter.catalog.change.marking import DEAD, mark
from holter.catalog.change.user_name import user_name
from holter.cli.choice import load_chosen
from holter.cli.figures import clean
from holter.errors import UsageError

GROUP = "explain"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("run", metavar="RUN", help="id, beginning of an id, or name")
    parser.add_argument("state", metavar="STATE", nargs="?", choices=DEAD, help=f"one of {', '.join(DEAD)}")
    parser.add_argument("--reason", metavar="TEXT", help="why, for those who wonder later")
    parser.add_argument("--undo", action="store_true", help="let holter's own verdict hold again")


def run(args: argparse.Namespace) -> int:
    """Write it down."""
    if args.undo == (args.state is not None):
        raise UsageError("write `holter mark RUN STATE --reason TEXT`, or `holter mark RUN --undo`")
    if not args.undo and not args.reason:
        raise UsageError("a mark needs a reason, for those who wonder later: add --reason TEXT")
    loaded = load_chosen(args.run)
    mark(loaded, args.state or "", reason=args.reason or "taken back", by=user_name())
    loaded = load_chosen(loaded.view.id)
    print(f"{clean(loaded.view.name)} ({loaded.view.id}) is {loaded.view.state}: {clean(loaded.outcome.because)}")
    return 0
