"""Run a command and record it as a run: holter run [OPTIONS] -- COMMAND [ARGUMENTS].

No line of the program changes. Its output, exit status and use of the machine are recorded; Ctrl-C, Ctrl-Z, pipes
and redirections work as without holter, and the exit code is the command's own, 128+n for signal n. A program that
calls holter.init() records into the same run. With --retry it is started again after deaths that may pass, with
HOLTER_ATTEMPT and, where there is a whole checkpoint, HOLTER_RESUME_FROM set.
"""

import argparse
import os
from typing import Any

import msgspec

from holter.cli.figures import parse_duration
from holter.cli.parser import whole_number
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
    parser.add_argument("--as-wandb", action="store_true", help="answer the program's `import wandb` with holter")
    parser.add_argument(
        "--tensorboard", metavar="DIR", action="append", default=[], help="record what it writes for TensorBoard there"
    )
    parser.add_argument(
        "--config", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="the run's configuration"
    )
    parser.add_argument(
        "--retry", metavar="N", type=whole_number, default=0, help="start it again up to N times, see --on"
    )
    parser.add_argument(
        "--on", metavar="CAUSES", help="retry after these, separated by commas (default: those that pass)"
    )
    parser.add_argument("--wait", metavar="TIME", default="5s", help="before the first retry; doubled each time")
    parser.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER, help="what to run, after --")


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code is its own."""
    from holter.launcher.launching import launch  # not needed for --help
    from holter.recording.as_wandb import answer_as_wandb, be_known, is_asked_for, is_named

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("there is no command to run: write it after `--`, as in `holter run -- python train.py`")
    if args.retry:
        return _again(args, command)
    if args.on is not None:
        raise UsageError("--on names the causes to retry after, and needs --retry N")
    options = {name: getattr(args, name) for name in ("project", "name", "group", "notes") if getattr(args, name)}
    if args.allow_stop:
        options["allow_stop"] = True
    if args.as_wandb or is_asked_for(os.environ):
        answer_as_wandb(os.environ)
    elif is_named(command, os.environ):
        be_known(os.environ)
    if args.tags:
        options["tags"] = [tag for tags in args.tags for tag in tags.split(",") if tag]
    config = dict(_pair(text) for text in args.config)
    return launch(command, options, config, tensorboard=args.tensorboard)


def _again(args: argparse.Namespace, command: list[str]) -> int:
    """Each attempt is a `holter run` of its own, with the same options but these."""
    from holter.launcher.retrying import USUAL, Retry, causes_of, launch_again

    named = {"project": args.project, "name": args.name, "group": args.group, "notes": args.notes}
    options = [word for name, value in named.items() if value for word in (f"--{name}", value)]
    options += [word for tags in args.tags or () for word in ("--tags", tags)]
    options += [word for text in args.config for word in ("--config", text)]
    options += [word for folder in args.tensorboard for word in ("--tensorboard", folder)]
    options += ["--allow-stop"] * args.allow_stop + ["--as-wandb"] * args.as_wandb
    causes = USUAL if args.on is None else causes_of(args.on)
    retry = Retry(times=args.retry, causes=causes, wait_s=parse_duration(args.wait))
    for text in args.config:
        _pair(text)
    return launch_again([*options, "--", *command], retry)


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
