"""Run a command and record it as a run: holter run [OPTIONS] -- COMMAND [ARGUMENTS].

No line of the program changes. Its output, exit status and use of the machine are recorded; Ctrl-C, Ctrl-Z, pipes
and redirections work as without holter, and the exit code is the command's own, 128+n for signal n. A program that
calls holter.init() records into the same run.
"""

import argparse
from typing import Any

import msgspec

from holter.errors import UsageError

GROUP = "record"
_WORDS = {"true": True, "false": False, "none": None, "null": None}


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.usage = "holter run [OPTIONS] -- COMMAND [ARGUMENTS]"
    parser.add_argument("--project", metavar="P", help="which project the run belongs to")
    parser.add_argument("--name", metavar="N", help="what people call the run")
    parser.add_argument("--tags", metavar="T", action="append", help="words to find it by, separated by commas")
    parser.add_argument("--group", metavar="G", help="runs that belong together")
    parser.add_argument("--notes", metavar="TEXT", help="a longer text about the run")
    parser.add_argument("--allow-stop", action="store_true", help="let people stop it from the web page, as by Ctrl-C")
    parser.add_argument(
        "--config", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="the run's configuration"
    )
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER, help="what to run, after --")


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code is its own."""
    from holter.launcher.launching import launch  # not needed for --help

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("there is no command to run: write it after `--`, as in `holter run -- python train.py`")
    options = {name: getattr(args, name) for name in ("project", "name", "group", "notes") if getattr(args, name)}
    if args.allow_stop:
        options["allow_stop"] = True
    if args.tags:
        options["tags"] = [tag for tags in args.tags for tag in tags.split(",") if tag]
    return launch(command, options, dict(_pair(text) for text in args.config))


def _pair(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(
            f"--config takes KEY=VALUE, got {text!r}; if that is the command, write `--` before it, "
            "as in `holter run --config lr=3e-4 -- python train.py`"
        )
    return key, parse_value(value)


def parse_value(text: str) -> object:
    """`3e-4`, `64`, `true`, `[1, 2]` as what they mean, anything else as text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        pass
    try:
        return float(text)  # nan and inf, and `.5`, which JSON does not know
    except ValueError:
        return text
