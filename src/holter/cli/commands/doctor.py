"""Tell what will bite a training on this machine, before it does.

Looks at versions that do not work together, GPUs and who is on them, limits of memory, files and processes, /dev/shm,
disks, the clock, mixed-up environments and notebook kernels, as a program that starts here and now would meet them.
Prints nothing on a healthy machine. --witnesses tells instead what holter can and can't learn about a death here.
"""

import argparse
import os
import textwrap

import msgspec

from holter.cli.examination import Witness, examine
from holter.cli.figures import clean
from holter.cli.parser import add_json
from holter.cli.stdout import NO_WIDTH, Look, look, print_json
from holter.doctor.finding import Finding, examine_machine
from holter.doctor.gather import gather
from holter.doctor.machine import Asked
from holter.errors import HolterError
from holter.recording.settings import read_settings

GROUP = "explain"

WIDEST = 100


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_json(parser)
    parser.add_argument("--witnesses", action="store_true", help="tell what holter can learn about a death here")
    parser.add_argument(
        "--checkpoints", metavar="DIR", action="append", default=[], help="where checkpoints go; left out, here"
    )


def run(args: argparse.Namespace) -> int:
    """Print what was found; 1 where something will bite, or, of witnesses, where runs can't be kept."""
    witnesses = examine() if args.json or args.witnesses else []
    found = [] if args.witnesses else examine_machine(gather(_asked(args.checkpoints)))
    has_place = all(each.is_there for each in witnesses if each.name == "runs")
    if args.json:
        print_json({"findings": found, "witnesses": [msgspec.to_builtins(each) for each in witnesses]})
    else:
        print("\n".join(line for each in witnesses for line in _witness(each, look())), end="\n" if witnesses else "")
        print("\n\n".join("\n".join(finding_lines(each, look())) for each in found), end="\n" if found else "")
    return 1 if found or not has_place else 0


def _asked(checkpoints: list[str]) -> Asked:
    try:
        runs = read_settings({}, os.environ).dir
    except HolterError:  # said by whoever records
        runs = ""
    pythonpath = os.environ.get("PYTHONPATH", "")
    return Asked(
        pid=os.getpid(),
        script_folder=os.getcwd(),
        checkpoints=tuple(checkpoints),
        runs=runs,
        variables={"PYTHONPATH": pythonpath} if pythonpath else {},
    )


def finding_lines(found: Finding, seen: Look) -> list[str]:
    """One finding for a terminal."""
    width = max((WIDEST if seen.width == NO_WIDTH else min(seen.width, WIDEST)) - 4, 30)

    def wrapped(text: str, first: str = "    ") -> list[str]:
        return textwrap.wrap(clean(text), width, initial_indent=first, subsequent_indent="    ", break_on_hyphens=False)

    head = wrapped(f"{seen.mark('failed')} {found.what}  [{found.id}]", "")
    return [seen.paint(head[0], "yellow"), *head[1:], *wrapped(found.why), *wrapped(f"-> {found.fix}")]


def _witness(found: Witness, seen: Look) -> list[str]:
    mark = seen.mark("finished" if found.is_there else "failed")
    painted = seen.paint(mark, "green" if found.is_there else "yellow")
    width = WIDEST if seen.width == NO_WIDTH else min(seen.width, WIDEST)
    text = textwrap.wrap(clean(found.text), max(width - 20, 30), break_on_hyphens=False)
    remedy = textwrap.wrap(f"-> {clean(found.remedy)}", max(width - 20, 30)) if found.remedy else []
    head, *rest = [*text, *remedy]
    return [f"{painted} {found.name:<16}  {head}", *(f"{'':20}{line}" for line in rest)]
