"""Show who is told of your runs, or send each of them a test.

Whom to tell stands in `alerts.toml` in the directory of your runs: chats, mail, ntfy, or a command. Addresses and
passwords are not shown.
"""

import argparse
import os
import time

from holter.alerts.file import FILE, read_file
from holter.alerts.message import TEST, Message
from holter.alerts.outbox import send_one
from holter.alerts.post import Post
from holter.alerts.target import Target
from holter.cli.figures import clean
from holter.cli.parser import add_json
from holter.cli.stdout import look, print_json
from holter.cli.table import Cell, Column, render
from holter.errors import Undelivered
from holter.recording.settings import read_settings

GROUP = "record"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_json(parser)
    parser.add_argument("--test", action="store_true", help="send each of them a test, and say who took it")


def run(args: argparse.Namespace) -> int:
    """Print them; 1 where a test was not taken. Raises UsageError for a file that can't be read."""
    directory = read_settings({}, os.environ).dir
    targets = read_file(directory).target
    answers = [_test(each) if args.test else "" for each in targets]
    if args.json:
        print_json({"targets": [_as_json(each, answer) for each, answer in zip(targets, answers, strict=True)]})
    elif not targets:
        print(f"nobody is told: there is no target in {os.path.join(directory, FILE)}; docs/alerts.md shows one")
    else:
        columns = [Column("NAME"), Column("KIND"), Column("ON"), Column("TEST" if args.test else "")]
        rows = [
            [Cell(clean(each.label)), Cell(each.kind), Cell(", ".join(each.on)), Cell(answer or _taken(args))]
            for each, answer in zip(targets, answers, strict=True)
        ]
        print("\n".join(render(columns, rows, look=look())))
    return 1 if any(answers) else 0


def _taken(args: argparse.Namespace) -> str:
    return "taken" if args.test else ""


def _test(target: Target) -> str:
    """Empty where it was taken."""
    title = "a test of holter's alerts"
    try:
        send_one(target, Message(kind=TEST, title=title, text="It works.", at_s=time.time()), post=Post())
    except Undelivered as error:
        return str(error)
    return ""


def _as_json(target: Target, answer: str) -> dict[str, object]:
    known = {"name": target.label, "kind": target.kind, "on": target.on, "projects": target.projects}
    return {**known, "trouble": answer or None}
