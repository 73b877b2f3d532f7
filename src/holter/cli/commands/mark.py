"""Say that holter is wrong about the end of a run: how it ended (STATE), what it died of (--cause), or both.

It is recorded as your word, with the reason, your name and the time; holter's own verdict stays visible. `holter rules`
lists the causes; `other` stands for one that is not there, `none` for a normal end. --undo takes all of it back.
`holter why --wrong` exports what people said of causes, so that holter can learn from it.
"""

import argparse

from holter.catalog.change.marking import DEAD, mark, mark_cause, unmark
from holter.catalog.change.user_name import user_name
from holter.cli.choice import load_chosen
from holter.cli.figures import clean
from holter.errors import UsageError

GROUP = "explain"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("run", metavar="RUN", help="id, beginning of an id, or name")
    parser.add_argument("state", metavar="STATE", nargs="?", choices=DEAD, help=f"one of {', '.join(DEAD)}")
    parser.add_argument("--cause", metavar="CAUSE", help="what it died of: one of `holter rules`, `other` or `none`")
    parser.add_argument("--reason", metavar="TEXT", help="why, for those who wonder later")
    parser.add_argument("--undo", action="store_true", help="let holter's own verdict stand alone again")


def run(args: argparse.Namespace) -> int:
    """Write it down."""
    if args.undo == (args.state is not None or args.cause is not None):
        raise UsageError("write `holter mark RUN [STATE] [--cause CAUSE] --reason TEXT`, or `holter mark RUN --undo`")
    if not args.undo and not args.reason:
        raise UsageError("a mark needs a reason, for those who wonder later: add --reason TEXT")
    loaded = load_chosen(args.run)
    if args.undo:
        unmark(loaded, by=user_name())
    if args.cause is not None:
        mark_cause(loaded, args.cause, reason=args.reason, by=user_name())
    if args.state is not None:
        mark(loaded, args.state, reason=args.reason, by=user_name())
    loaded = load_chosen(loaded.row.id)
    row = loaded.row
    print(f"{clean(row.name)} ({row.id}) is {row.state}: {clean(loaded.outcome.because)}")
    if row.cause_mark is not None:
        print(f"{clean(row.cause_mark.words)} (holter's own verdict: {row.cause or 'no cause'})")
    return 0
