"""Record a process that is already running: holter watch PID.

Attaches a sidecar to a process of yours and returns at once; nothing in the process changes. From now on the use of
the machine is recorded, and at the end the exit status. The run's id is printed alone, for scripts.
"""

import argparse
import os
import sys

from holter.cli.figures import clean
from holter.cli.parser import add_json
from holter.cli.stdout import print_json
from holter.errors import UsageError
from holter.recording.attaching import attach
from holter.recording.settings import read_settings

GROUP = "record"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("pid", metavar="PID", help="the number of the process, as `ps` shows it")
    parser.add_argument("--project", metavar="P", help="which project the run belongs to")
    parser.add_argument("--name", metavar="N", help="what people call the run; left out, the name of the program")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Attach the sidecar."""
    if not args.pid.isdecimal() or not 0 < int(args.pid) < 1 << 31:
        raise UsageError(f"a process id is a number, got {args.pid!r}: `ps` or `pgrep -f train.py` tells it")
    settings = read_settings({"project": args.project, "name": args.name}, os.environ)
    if settings.mode == "disabled":
        raise UsageError("HOLTER_MODE is disabled, so nothing is recorded: unset it to watch a process")
    attached = attach(int(args.pid), settings)
    if args.json:
        print_json(attached)
        return 0
    print(attached.run)
    if not settings.quiet and not settings.silent:
        what = clean(f"{attached.project}/{attached.name}")
        print(f"holter: recording process {attached.pid} as {what}; `holter show {attached.run}`", file=sys.stderr)
    return 0
